"""NVIDIA's own retired client, in an environment of its own, made once per machine.

The environment lies beside the servers' in the testbed's cache folder (``.testbed/``, or what
``TESTBED_CACHE`` names). tritonclient-shim never enters it: both own the name tensorrtserver.
The client links against OpenSSL 1.1, which today's systems lack; it is taken from a wheel that
bundles it, and is put on ``LD_LIBRARY_PATH``.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import zipfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Iterator, Sequence

from testbed.cache import cache_folder
from testbed.interpreters import Interpreter, find
from testbed.progress import run, say

REQUIREMENTS = (
    "tensorrtserver==1.11.0",
    "protobuf<3.21",
    "numpy<1.24",
    "setuptools<70",
    "future",
    "grpcio",
)
OPENSSL = "psycopg2-binary==2.9.5"  # its wheel for Python 3.11 bundles OpenSSL 1.1
PYTHONS = ("3.8", "3.7", "3.11", "3.6")  # seen to run the client, in order of preference
LAYOUT = "2"  # raise it when the code below builds a folder that differs


class NoOracle(RuntimeError):
    """The genuine client cannot run on this machine; the text says why."""


@dataclass(frozen=True)
class OracleEnvironment:
    """A finished environment of the genuine client."""

    python: str
    openssl: str

    def variables(self) -> dict[str, str]:
        """The process environment for :attr:`python`; ours is not on its import path."""
        foreign = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if name not in foreign}
        return {**kept, "LD_LIBRARY_PATH": self.openssl, "PYTHONNOUSERSITE": "1"}

    def run(
        self, script: str | Path, *arguments: str, timeout: float = 120, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a script to its end, its output captured as text.

        It must not lie beside a folder ``tensorrtserver``, which would be imported instead.
        """
        return subprocess.run(
            [self.python, str(script), *arguments],
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **options,
        )


def prepare() -> OracleEnvironment:
    """The environment, made now if it is not there; NoOracle where it cannot be."""
    interpreter = choose(tuple(find()))
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    (cache / ".gitignore").write_text("*\n", encoding="utf-8")
    folder = cache / _key(interpreter)
    with _locked(cache / f"{folder.name}.lock"):
        return _finished(folder) or _make(folder, interpreter)


def choose(interpreters: Sequence[Interpreter]) -> Interpreter:
    """The interpreters present → the one for the genuine client; NoOracle without one."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise NoOracle("the genuine client is compiled for Linux on x86-64")
    usable = [one for one in interpreters if one.version in PYTHONS and one.has_venv]
    if not usable:
        found = ", ".join(sorted({one.version for one in interpreters})) or "none"
        raise NoOracle(
            f"the genuine client needs Python {', '.join(PYTHONS)} with venv; found: {found}"
        )
    return min(usable, key=lambda one: PYTHONS.index(one.version))


def _key(interpreter: Interpreter) -> str:
    wanted = "\n".join((LAYOUT, OPENSSL, interpreter.version, *REQUIREMENTS))
    return f"oracle-{hashlib.sha256(wanted.encode()).hexdigest()[:10]}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process prepares the genuine client's environment; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _finished(folder: Path) -> OracleEnvironment | None:
    mark = folder / "complete.json"
    if not mark.exists():
        return None
    found = OracleEnvironment(**json.loads(mark.read_text(encoding="utf-8")))
    # a copied checkout still names its original, and an interpreter may have been removed
    here = Path(found.python).parents[1] == folder
    return found if here and os.path.exists(found.python) else None


def _make(folder: Path, interpreter: Interpreter) -> OracleEnvironment:
    shutil.rmtree(folder, ignore_errors=True)
    say(f"making the genuine client's environment in {folder} with {interpreter.path}")
    run([interpreter.path, "-m", "venv", str(folder)], "the virtual environment")
    made = OracleEnvironment(str(folder / "bin" / "python"), str(folder / "openssl"))
    # -I: no PYTHONPATH, on which pip would find our own package
    pip = [made.python, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    run([*pip, "install", "--prefer-binary", *REQUIREMENTS], "the genuine client")
    _add_openssl(pip, folder)
    _add_protobuf_bytes(folder)
    partial = folder / "complete.partial"
    partial.write_text(json.dumps(asdict(made)), encoding="utf-8")
    os.replace(partial, folder / "complete.json")
    return made


def _add_protobuf_bytes(folder: Path) -> None:
    """Have every Python of the environment import ``oracle_protobuf``."""
    (packages,) = folder.glob("lib/python3.*/site-packages")
    shutil.copy(Path(__file__).with_name("oracle_protobuf.py"), packages)
    (packages / "oracle_protobuf.pth").write_text("import oracle_protobuf\n", "utf-8")


def _add_openssl(pip: Sequence[str], folder: Path) -> None:
    """Take libssl and libcrypto out of the wheel; links have the names the client asks for."""
    target = folder / "openssl"
    target.mkdir()
    place = ["--platform", "manylinux2014_x86_64", "--python-version", "311"]
    kind = ["--implementation", "cp", "--abi", "cp311", "--only-binary", ":all:", "--no-deps"]
    run([*pip, "download", "-d", str(target), *place, *kind, OPENSSL], "OpenSSL 1.1")
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            own_name = os.path.basename(name)  # libssl-<hash>.so.1.1, and libssl needs libcrypto so
            library = own_name.partition("-")[0]
            if library in ("libssl", "libcrypto"):
                (target / own_name).write_bytes(files.read(name))
                (target / f"{library}.so.1.1").symlink_to(own_name)
    wheel.unlink()

"""NVIDIA's own retired client, in an environment of its own, made once per machine.

The environment lies beside the servers' in the testbed's cache folder (``.testbed/``, or what
``TESTBED_CACHE`` names). tritonclient-shim never enters it: both own the name tensorrtserver.
The client links against OpenSSL 1.1, which today's systems lack. A wheel bundles this library; its
copy is put on ``LD_LIBRARY_PATH``.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

from testbed.made_once import (
    VirtualEnvironment,
    folder_name,
    made_once,
    pip_install,
    virtual_environment,
)
from testbed.progress import run, say
from testbed.pythons import Interpreter, choose_of, interpreters

REQUIREMENTS = (
    "tensorrtserver==1.11.0",
    "protobuf<3.21",
    "numpy<1.24",
    "setuptools<70",
    "future",
    "grpcio",
)
OPENSSL = "psycopg2-binary==2.9.5"  # its wheel for Python 3.11 bundles OpenSSL 1.1
PYTHONS = ("3.8", "3.7", "3.11", "3.6")  # these run the client; in order of preference


class NoOracle(RuntimeError):
    """The genuine client cannot run on this machine; the text says why."""


class OracleEnvironment(VirtualEnvironment):
    """A finished environment of the genuine client; ours is not on its import path."""

    def run(
        self, script: str | Path, *arguments: str, timeout: float = 120, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a script to its end, and capture its output as text.

        A folder ``tensorrtserver`` beside the script would be imported in place of the client.
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
    """Return the environment, made now if it is missing. Raise NoOracle if it cannot be made."""
    interpreter = _choose()
    name = folder_name("oracle", OPENSSL, interpreter.version, *REQUIREMENTS)
    return OracleEnvironment(made_once(name, lambda folder: _make(folder, interpreter)))


def _choose() -> Interpreter:
    """Return the interpreter for the genuine client. Raise NoOracle without one."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise NoOracle("the genuine client is compiled for Linux on x86-64")
    chosen = choose_of(PYTHONS)
    if chosen is None:
        present = ", ".join(sorted({python.version for python in interpreters()})) or "none"
        raise NoOracle(
            f"the genuine client needs Python {', '.join(PYTHONS)} with venv; found: {present}"
        )
    return chosen


def _make(folder: Path, interpreter: Interpreter) -> None:
    say(f"making the genuine client's environment in {folder} with {interpreter.path}")
    virtual_environment(interpreter.path, folder)
    pip_install(folder, "the genuine client", "--prefer-binary", *REQUIREMENTS)
    _add_openssl(folder)
    _add_protobuf_bytes(folder)


def _add_protobuf_bytes(folder: Path) -> None:
    """Let every Python of the environment import ``oracle_protobuf``."""
    (packages,) = folder.glob("lib/python3.*/site-packages")
    shutil.copy(Path(__file__).with_name("oracle_protobuf.py"), packages)
    (packages / "oracle_protobuf.pth").write_text("import oracle_protobuf\n", "utf-8")


def _add_openssl(folder: Path) -> None:
    """Copy libssl and libcrypto from the wheel, with links named as the client loads them."""
    target = folder / "library"
    target.mkdir()
    place = ["--platform", "manylinux2014_x86_64", "--python-version", "311"]
    kind = ["--implementation", "cp", "--abi", "cp311", "--only-binary", ":all:", "--no-deps"]
    python = VirtualEnvironment(folder).python
    pip = [python, "-I", "-m", "pip", "download", "--disable-pip-version-check", "--no-input"]
    run([*pip, "-d", str(target), *place, *kind, OPENSSL], "OpenSSL 1.1")
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            own_name = os.path.basename(name)  # libssl-<hash>.so.1.1, and libssl needs libcrypto so
            library = own_name.partition("-")[0]
            if library in ("libssl", "libcrypto"):
                (target / own_name).write_bytes(files.read(name))
                (target / f"{library}.so.1.1").symlink_to(own_name)
    wheel.unlink()

"""The wheels that the tests in this folder install: ours, NVIDIA's and the dependencies'."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

from testbed.made_once import cache_folder

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("tensorrtserver", "tritonclient_shim")
FILES = (
    *("tensorrtserver.py", "migration_guide.md", "docs/settings.md", "README.md", "LICENSE"),
    *("MANIFEST.in", "setup.cfg", "pyproject.toml", "build_backend.py"),
)
_NOT_PACKED = ("INSTALLER", "REQUESTED", "direct_url.json")


def checkout(folder: Path) -> Path:
    """Return a copy of the sources of the distribution. Links stay links."""
    folder.mkdir(parents=True)
    for name in PARTS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    (folder / "docs").mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


def nvidias() -> Path:
    """Return NVIDIA's last wheel. pip fetches it once per machine, and runs no code of it."""
    folder = cache_folder() / "nvidia-wheel"
    result = list(folder.glob("tensorrtserver-*.whl"))
    if not result:
        _pip("download", "--quiet", "--no-deps", "--dest", str(folder), "tensorrtserver==1.11.0")
        result = list(folder.glob("tensorrtserver-*.whl"))
    return result[0]


def repacked(name: str, folder: Path) -> Path:
    """Return a wheel made from the files of an installed distribution."""
    folder.mkdir(exist_ok=True)
    result = metadata.distribution(name)
    lines = str(result.read_text("WHEEL")).splitlines()
    tags = [line.partition(":")[2].strip().split("-") for line in lines if line.startswith("Tag:")]
    tag = "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags))
    label = str(result.metadata["Name"]).replace("-", "_")
    path = folder / f"{label}-{result.version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in result.files or ():
            place = Path(str(file.locate()))
            if ".." not in file.parts and file.suffix != ".pyc" and file.name not in _NOT_PACKED:
                archive.write(place, file.as_posix())
    return path


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def wheel_under_test(folder: Path) -> Path:
    """Return the wheel that tox built, or one wheel from a copy of the checkout."""
    folder_of_tox = os.environ.get("SHIM_WHEEL_DIR")
    if folder_of_tox:
        (wheel,) = Path(folder_of_tox).glob("tritonclient_shim-*.whl")
        return wheel
    source = checkout(folder / "source")
    _pip("wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source))
    (wheel,) = folder.glob("tritonclient_shim-*.whl")
    return wheel

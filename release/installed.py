"""The distributions as a stranger meets them: installed where nothing is, tested from the sdist."""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

from release.commands import Refused, run

#: What the tests of the subset need beside the package.
FOR_TESTS = ("pytest>=8,<9", "hypothesis", "rich", "trustme", "tomli; python_version < '3.11'")
#: Tests that need no server: of what a release writes and of the documents, and of the rest.
OF_FILES = ("tests/architecture/test_newsfragments.py", "tests/architecture/test_citations.py")
OF_THE_WHEEL = ("tests/architecture", "tests/unit")


class Empty:
    """A virtual environment in which nothing is installed, not even pip."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
        run("making an empty environment", command, folder.parent)
        self.python = str(folder / "bin" / "python")

    def install(self, what: str, *arguments: str) -> None:
        """Install with this program's pip."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python]
        run(what, [*pip, "install", "--quiet", *arguments], self._folder)

    def says(self, what: str, *command: str) -> str:
        """What a program prints that is installed here."""
        return run(what, [str(self._folder / "bin" / command[0]), *command[1:]], self._folder)


def alone(wheel: Path, version: str, folder: Path) -> None:
    """The wheel installs where nothing is, and its command tells its version."""
    empty = Empty(folder)
    empty.install(f"installing {wheel.name} there", "--no-deps", "--no-index", str(wheel))
    said = empty.says("asking it for its version", "tritonclient-shim", "--version").strip()
    if said != f"tritonclient-shim {version}":
        raise Refused(f"the installed tritonclient-shim --version says {said!r}, not {version}")


def unpack(sdist: Path, folder: Path) -> Path:
    """The folder of an unpacked source distribution."""
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # the later patch releases have it
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    return folder / sdist.name[: -len(".tar.gz")]


def tests_of_files(sources: Path) -> None:
    """The tests of what a release writes pass in the unpacked source distribution."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest"]
    run("running the tests of news and documents from the sdist", [*words, *OF_FILES], sources)


def complete(wheel: Path, sources: Path, folder: Path) -> None:
    """With all that it asks for: the doctor is content, and the sdist's tests of the wheel pass."""
    empty = Empty(folder)
    empty.install(f"installing {wheel.name} with all that it asks for", str(wheel))
    empty.says("importing the facade", "python", "-I", "-c", "import tensorrtserver.api")
    empty.says("asking its doctor", "tritonclient-shim", "doctor")
    empty.install("installing what the tests need", "pip", "setuptools", *FOR_TESTS)
    # Both packages are imported before pytest puts the sources on the import path, as in tox.ini.
    code = "import sys, tensorrtserver, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    words = [empty.python, "-I", "-c", code, "-q", "-p", "no:cacheprovider"]
    tested = {"SHIM_WHEEL_DIR": str(wheel.parent)}
    run(
        f"running {' '.join(OF_THE_WHEEL)} from the sdist", [*words, *OF_THE_WHEEL], sources, tested
    )

"""A machine without a fitting Python fetches one, or is told what can be typed on it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from testbed import distribution, interpreters, own_python
from testbed.distribution import Distribution, remedies
from testbed.interpreters import Interpreter
from testbed.missing import MissingPrerequisite

BOOKWORM = Distribution("debian", "12", "Debian GNU/Linux 12 (bookworm)")
TRIXIE = Distribution("debian", "13", "Debian GNU/Linux 13 (trixie)")
SID = Distribution("debian", "", "Debian GNU/Linux forky/sid")
JAMMY = Distribution("ubuntu", "22.04", "Ubuntu 22.04 LTS")
NOBLE = Distribution("ubuntu", "24.04", "Ubuntu 24.04 LTS")
QUESTING = Distribution("ubuntu", "25.10", "Ubuntu 25.10")
FEDORA = Distribution("fedora", "42", "Fedora Linux 42")
# The versions of Python that have packages of their own there.
PACKAGED = {BOOKWORM: "3.11", TRIXIE: "3.13", SID: "3.14", JAMMY: "3.10", NOBLE: "3.12"}
PACKAGED.update({QUESTING: "3.13", FEDORA: ""})


@pytest.mark.parametrize("system", PACKAGED, ids=lambda system: system.name)
def test_advice_can_be_followed(system: Distribution) -> None:
    """apt-get is told only of a Python that the distribution has and the server can use."""
    text = "\n".join(remedies(system, "3.11"))
    there = PACKAGED[system]
    usable = there in interpreters.PYTHONS
    wanted = [f"python{there}", f"python{there}-venv"] if usable else []
    assert re.findall(r"python3\.\d+\S*", " ".join(re.findall("apt-get.*", text))) == wanted
    assert "UV_PYTHON_INSTALL_MIRROR" in text
    assert "github.com" in text
    assert "PYENV_ROOT" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('PRETTY_NAME="Debian 12"\nID=debian\nVERSION_ID="12"\n', ("debian", "12", "Debian 12")),
        ('PRETTY_NAME="Debian sid"\nID=debian\n', ("debian", "", "Debian sid")),
        ("", ("", "", "this system")),
    ],
)
def test_distribution_is_read(tmp_path: Path, text: str, expected: tuple[str, str, str]) -> None:
    """/etc/os-release as Debian, its unstable release and a system without names write it."""
    (tmp_path / "os-release").write_text(text, "utf-8")
    assert distribution.read(str(tmp_path / "os-release")) == Distribution(*expected)
    assert distribution.read(str(tmp_path / "none")) == Distribution("", "", "this system")


def archive(folder: Path) -> str:
    """A list of downloads for uv: one archive, whose Python is the one that runs this test."""
    program = folder / "python" / "bin" / f"python{own_python.VERSION}"
    program.parent.mkdir(parents=True)
    library = folder / "python" / "lib" / f"python{own_python.VERSION}"
    library.mkdir(parents=True)  # uv writes into it, and adapts this file to the place
    data = library / "_sysconfigdata__linux_x86_64-linux-gnu.py"
    first = "# system configuration generated and used by the sysconfig module"
    data.write_text(f"{first}\nbuild_time_vars = {{}}\n", "utf-8")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', "utf-8")
    program.chmod(0o755)
    with tarfile.open(folder / "python.tar.gz", "w:gz") as made:
        made.add(folder / "python", "python")
    one = {
        "name": "cpython",
        "arch": {"family": "x86_64", "variant": None},
        "os": "linux",
        "libc": "gnu",
        "major": 3,
        "minor": 11,
        "patch": 9,
        "prerelease": "",
        "variant": None,
        "url": (folder / "python.tar.gz").as_uri(),
        "sha256": None,
        "build": "20240814",
    }
    (folder / "downloads.json").write_text(
        json.dumps({"cpython-3.11.9-linux-x86_64-gnu": one}), "utf-8"
    )
    return (folder / "downloads.json").as_uri()


def test_uv_downloads_from_the_users_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With uv's variable set uv is asked first, on Debian too; it leaves only the interpreter."""
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS_JSON_URL", archive(tmp_path / "mirror"))
    monkeypatch.setattr(own_python, "describe", lambda path: Interpreter(path, "3.11", "/lib"))
    found = own_python.fetch(tmp_path / "cache", TRIXIE)
    assert os.path.realpath(found.path).startswith(str(tmp_path / "cache" / "python" / "uv"))
    told = subprocess.run([found.path, "-c", "print('it runs')"], capture_output=True, text=True)
    assert told.stdout == "it runs\n"
    assert [one.name for one in (tmp_path / "cache" / "python").iterdir()] == ["uv"]


@pytest.mark.skipif(
    distribution.read().id != "debian", reason="takes packages from Debian's mirror"
)
def test_debian_unpacks_packages_of_debian_12(tmp_path: Path) -> None:
    """The interpreter lies in the folder, has its library, makes environments with pip."""
    found = own_python.fetch(tmp_path, TRIXIE)
    assert found.path == str(tmp_path / "python" / "debian" / "usr" / "bin" / "python3.11")
    assert (found.version, found.has_venv, found.from_packages) == ("3.11", True, False)
    assert (found.libpython_dir or "").startswith(str(tmp_path))
    subprocess.run([found.path, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [str(tmp_path / "venv" / "bin" / "python"), "-m", "pip", "--version"]
    told = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    assert str(tmp_path / "venv") in told


def test_fetched_interpreter_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter in the cache folder is one of those of the machine."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    program = tmp_path / "python" / "uv" / "cpython-3.11.9" / "bin" / "python3.11"
    program.parent.mkdir(parents=True)
    answer: dict[str, Any] = {"path": "/own/python3.11", "prefix": "/own", "version": "3.11"}
    answer.update(has_venv=True, multiarch=None, libdir=None)
    program.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n".replace("True", "true"), "utf-8")
    program.chmod(0o755)
    assert "/own/python3.11" in [one.path for one in interpreters.find()]


def refused(folder: Path) -> str:
    """A route that cannot download."""
    raise MissingPrerequisite("the network is unreachable")


def test_next_route_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Debian's packages cannot be had, uv is asked."""
    for name in own_python.UV_SOURCES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(own_python, "from_debian", refused)
    monkeypatch.setattr(own_python, "with_uv", lambda folder: str(folder))
    monkeypatch.setattr(own_python, "describe", lambda path: Interpreter(path, "3.11", "/lib"))
    assert own_python.fetch(tmp_path, SID).path == str(tmp_path / "python" / "uv")


@pytest.mark.parametrize("system", [TRIXIE, FEDORA], ids=lambda system: system.id)
def test_failure_says_what_to_do(
    system: Distribution,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """When nothing can be downloaded: the reasons, and the ways out that this system has."""
    monkeypatch.setattr(own_python, "from_debian", refused)
    monkeypatch.setattr(own_python, "with_uv", refused)
    with pytest.raises(MissingPrerequisite) as caught:
        own_python.fetch(tmp_path, system)
    assert all(one in str(caught.value) for one in (system.name, *remedies(system, "3.11")))
    assert capfd.readouterr().err.count("the network is unreachable") == (
        2 if system.id == "debian" else 1
    )


def test_interpreter_that_cannot_run_here_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was fetched is tried; without its library it is as good as nothing."""
    monkeypatch.setattr(own_python, "with_uv", lambda folder: str(folder / "none"))
    with pytest.raises(MissingPrerequisite, match="could not be fetched"):
        own_python.fetch(tmp_path, FEDORA)

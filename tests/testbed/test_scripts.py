"""The shell scripts at the door: what they find, what they leave out, what they say."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOX = configparser.ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini", encoding="utf-8")
STUB = """#!/bin/sh
case "$*" in *--notest*) exit ;; esac
echo "server: ${TESTBED_WITHOUT_SERVER:-there}"
echo "7 passed in 0.1s"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts with a tox that only says what it was told, and no server."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / "testbed", tmp_path / "testbed")
    (tmp_path / "testbed" / "__main__.py").write_text("raise SystemExit('no Python fits')", "utf-8")
    programs = tmp_path / ".venv-tox" / "bin"
    programs.mkdir(parents=True)
    pinned = re.findall(r'"(\w+==[\d.]+)"', (ROOT / "scripts" / "lib.sh").read_text("utf-8"))
    (tmp_path / ".venv-tox" / "complete").write_text(" ".join(pinned), "utf-8")
    for name, text in {"tox": STUB, "python": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text, "utf-8")
        (programs / name).chmod(0o755)
    return tmp_path


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the checkout, with the interpreter of this test first on PATH."""
    own = os.path.dirname(sys.executable)
    variables = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    variables.pop("TESTBED_WITHOUT_SERVER", None)
    return subprocess.run(
        ["bash", *command],
        cwd=checkout,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def test_every_environment_is_known() -> None:
    """scripts/test offers the environments of tox.ini, Python 3.14 among them."""
    wanted = TOX["tox"]["env_list"].split()
    text = (ROOT / "scripts" / "test").read_text("utf-8")
    known = " ".join(
        re.findall(r'^(?:environments|older_servers|any_interpreter)="(.*)"', text, re.M)
    ).split()
    assert sorted(known) == sorted(name for name in wanted if name != "check")
    assert "G-py314-tc273" in known


def test_tox_passes_on_where_interpreters_are() -> None:
    """pyenv elsewhere, and the user's own source of downloads, are known within tox."""
    passed = TOX["testenv"]["pass_env"].split()
    assert {"PYENV_ROOT", "UV_*", "TESTBED_*", "PIP_*"} <= set(passed)


def test_no_python_says_which_is_there(checkout: Path) -> None:
    """Where no version fits, the one that is there is named, and what to install."""
    ended = run(checkout, "-c", ". scripts/lib.sh; best_python 9.9")
    assert ended.returncode == 1
    assert "no usable Python among 9.9" in ended.stdout
    assert "python3 here is: Python 3." in ended.stdout
    assert "apt-get install python3-venv" in ended.stdout


def test_newest_python_is_enough(checkout: Path) -> None:
    """A machine whose only Python is 3.14 can run what lies around the suite."""
    fake = checkout / "python3.14"
    fake.write_text("#!/bin/sh\necho /found/python3.14\n", "utf-8")
    fake.chmod(0o755)
    text = f". scripts/lib.sh; PATH={checkout}:/usr/bin:/bin; best_python 3.14; type any_python"
    ended = run(checkout, "-c", text)
    assert ended.stdout.startswith("/found/python3.14\n")
    assert "3.14" in ended.stdout.partition("any_python")[2]


def test_without_server_is_left_out_and_said(checkout: Path) -> None:
    """Where no server can run, the rest is tested, the gap is named, and the status is 1."""
    ended = run(checkout, "scripts/test", "--env", "equivalence")
    assert ended.returncode == 1, ended.stdout
    assert ended.stdout.index("no Python fits") < ended.stdout.index("server: 1")
    assert "left out (skipped): the tests that need a server" in ended.stdout
    assert "--without-server" in ended.stdout
    assert "failed: server" in ended.stdout
    assert ended.stdout.endswith("7 passed in 0.1s\n")


def test_without_server_on_purpose(checkout: Path) -> None:
    """--without-server asks for no server at all, and its absence is no failure."""
    ended = run(checkout, "scripts/test", "--without-server", "--env", "equivalence")
    assert ended.returncode == 0, ended.stdout
    assert "no Python fits" not in ended.stdout
    assert "server: 1" in ended.stdout
    assert "left out (skipped): the tests that need a server" in ended.stdout


@pytest.mark.parametrize(
    ("name", "installed"),
    [
        ("open-servers", ["newest --server mlserver", "newest --server kserve"]),
        ("equivalence", []),
    ],
)
def test_other_servers_are_installed_first(checkout: Path, name: str, installed: list[str]) -> None:
    """What an environment starts besides the newest Triton is there before its tests run."""
    text = "import os, sys; print('installed', os.environ.get('TESTBED_TRITON', 'newest'), "
    (checkout / "testbed" / "__main__.py").write_text(f"{text}*sys.argv[2:])", "utf-8")
    ended = run(checkout, "scripts/test", "--env", name)
    assert ended.returncode == 0, ended.stdout
    lines = [line for line in ended.stdout.splitlines() if line.startswith("installed")]
    assert lines[1:] == [f"installed {one}" for one in installed]
    assert ended.stdout.index(lines[-1]) < ended.stdout.index("7 passed")


def test_a_server_that_cannot_be_installed_fails_its_environment(checkout: Path) -> None:
    """The reason is there, the environment is named, and its tests are not said to have passed."""
    text = "import sys; sys.exit('no such package' if '--server' in sys.argv else 0)"
    (checkout / "testbed" / "__main__.py").write_text(text, "utf-8")
    ended = run(checkout, "scripts/test", "--env", "open-servers")
    assert ended.returncode == 1
    assert "no such package" in ended.stdout
    assert "failed: open-servers" in ended.stdout
    assert "passed" not in ended.stdout


def test_with_server_nothing_is_left_out(checkout: Path) -> None:
    """Where the server can run, nothing is said of gaps."""
    (checkout / "testbed" / "__main__.py").write_text("", "utf-8")
    ended = run(checkout, "scripts/test", "--env", "equivalence")
    assert ended.returncode == 0, ended.stdout
    assert "server: there" in ended.stdout
    assert "left out" not in ended.stdout


def test_demo_checks_before_it_installs(checkout: Path) -> None:
    """scripts/demo ends with what the server lacks before its own environment is begun."""
    ended = run(checkout, "scripts/demo")
    assert ended.returncode == 1
    assert "no Python fits" in ended.stdout
    assert not (checkout / ".venv-demo").exists()


def test_a_release_needs_a_repository(checkout: Path) -> None:
    """In an unpacked source distribution scripts/release says what is missing; nothing is made."""
    ended = run(checkout, "scripts/release", "0.1.0", "--dry-run")
    assert ended.returncode == 1
    assert f"a release is made in a git repository, and {checkout} is none" in ended.stdout
    assert not (checkout / ".venv-release").exists()


def test_watched_commands_are_never_silent(tmp_path: Path) -> None:
    """A silent command is reported while it lasts, and one that fails with its last words."""
    program = "import sys; from testbed import progress; progress.HEARTBEAT = 0.1; "
    command = [sys.executable, "-m", "testbed.watched", "the work"]
    quiet = [sys.executable, "-c", program + "progress.run(['sleep', '1'], 'the work')"]
    for line, status, says in (
        (quiet, 0, "the work: still working"),
        ([*command, "sh", "-c", "echo why; exit 3"], 1, "the work failed (exit 3)"),
    ):
        ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (ended.returncode, says in ended.stderr) == (status, True), ended.stderr

"""Other modules named ``tensorrtserver`` on the import path are reported with a remedy."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tensorrtserver
from tests.installation.environments import commands

OURS = Path(str(tensorrtserver.__file__)).parents[1]
SCRIPT = "import tensorrtserver.api as api\nprint(hasattr(api, 'InferContext'))\n"


def run(folder: Path, *arguments: str, path: str = "", console: bool = False) -> Any:
    """Run ``python -m tritonclient_shim``, or the console script without the folder on its path."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON_SHIM_", "PYTHON"))}
    code = "import sys; sys.path.pop(0); from tritonclient_shim.cli import main; sys.exit(main())"
    start = ["-c", code] if console else ["-m", "tritonclient_shim"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=str(folder),
        env={**kept, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(OURS)]))},
        capture_output=True,
        text=True,
        timeout=120,
    )


def own_module(folder: Path, kind: str) -> Path:
    """Write a user's module or package with our name, and return its path."""
    if kind == "module":
        path = folder / "tensorrtserver.py"
        path.write_text("VALUE = 1\n", "utf-8")
        return path
    (folder / "tensorrtserver").mkdir()
    (folder / "tensorrtserver" / "__init__.py").write_text("VALUE = 1\n", "utf-8")
    (folder / "tensorrtserver" / "api.py").write_text("VALUE = 1\n", "utf-8")
    return folder / "tensorrtserver"


@pytest.mark.parametrize("kind", ["module", "package"])
@pytest.mark.parametrize("console", [True, False], ids=["console script", "python -m"])
@pytest.mark.parametrize("where", ["here", "PYTHONPATH"])
def test_the_doctor_names_it(tmp_path: Path, kind: str, console: bool, where: str) -> None:
    """The doctor prints the path of a module that hides ours, and a command that renames it."""
    place = tmp_path / "a folder"
    place.mkdir()
    result = own_module(place, kind)
    here, path = (place, "") if where == "here" else (tmp_path, str(place))
    done = run(here, "doctor", path=path, console=console)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"WRONG  {result} is imported as 'tensorrtserver', in place of" in done.stdout
    (command,) = commands(done.stdout)
    subprocess.run(shlex.split(command), check=True)
    healed = run(here, "doctor", path=path, console=console)
    assert healed.returncode == 0, healed.stdout


@pytest.mark.parametrize("kind", ["module", "package"])
def test_run_names_it(tmp_path: Path, kind: str) -> None:
    """`run` reports on stderr a module beside the script that hides ours, then runs the script."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "old.py").write_text(SCRIPT, "utf-8")
    result = own_module(tmp_path / "scripts", kind)
    done = run(tmp_path, "run", "scripts/old.py")
    assert done.stdout in ("", "False\n")
    assert f"tritonclient-shim run: {result} is imported as 'tensorrtserver'" in done.stderr
    warning = done.stderr.partition("Traceback")[0]
    (command,) = commands(warning)
    subprocess.run(shlex.split(command), check=True)
    assert run(tmp_path, "run", "scripts/old.py").stdout == "True\n"


@pytest.mark.parametrize("kind", ["module", "package"])
def test_the_faq_has_the_error_that_plain_python_gives(tmp_path: Path, kind: str) -> None:
    """The FAQ has Python's error for a script that runs without `run`."""
    own_module(tmp_path, kind)
    (tmp_path / "old.py").write_text("from tensorrtserver.api import InferContext\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "old.py"], cwd=str(tmp_path), capture_output=True, text=True, timeout=60
    )
    message = done.stderr.splitlines()[-1]
    guide = (Path(__file__).resolve().parents[2] / "migration_guide.md").read_text("utf-8")
    titles = re.findall(r"^### `ModuleNotFoundError: No.*", guide, re.MULTILINE)
    (title,) = [title for title in titles if "tensorrtserver.api" in title]
    texts = title.split("`")[1::2]
    assert any(text in message for text in texts), message


def test_run_names_the_script_itself(tmp_path: Path) -> None:
    """`run` reports that a script named tensorrtserver.py imports itself."""
    (tmp_path / "tensorrtserver.py").write_text(SCRIPT, "utf-8")
    done = run(tmp_path, "run", "tensorrtserver.py")
    assert f"{tmp_path / 'tensorrtserver.py'} is imported as 'tensorrtserver'" in done.stderr


def test_a_folder_of_that_name_is_nobodys(tmp_path: Path) -> None:
    """A folder without __init__.py beside the script hides nothing."""
    (tmp_path / "tensorrtserver").mkdir()
    (tmp_path / "old.py").write_text(SCRIPT, "utf-8")
    done = run(tmp_path, "run", "old.py")
    assert done.stdout == "True\n"
    assert "in place of" not in done.stderr
    assert run(tmp_path, "doctor").returncode == 0


@pytest.mark.parametrize("first", [True, False], ids=["before ours", "after ours"])
def test_nvidias_elsewhere_is_named(tmp_path: Path, first: bool) -> None:
    """NVIDIA's package before ours on the path is reported with the command that removes it."""
    place = tmp_path / "nvidia"
    (place / "tensorrtserver" / "api").mkdir(parents=True)
    (place / "tensorrtserver" / "__init__.py").touch()
    (place / "tensorrtserver" / "api" / "librequest.so").touch()
    metadata = place / "tensorrtserver-1.11.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: tensorrtserver\nVersion: 1.11.0\n", "utf-8")
    path = [str(place), str(OURS)] if first else [str(OURS), str(place)]
    done = run(tmp_path, "doctor", path=os.pathsep.join(path))
    assert (done.returncode, done.stderr) == (int(first), "")
    assert (f"is installed in {place}, and is imported in place of" in done.stdout) is first
    for command in commands(done.stdout):
        subprocess.run(shlex.split(command), check=True)
    assert run(tmp_path, "doctor", path=str(OURS)).returncode == 0

"""The deprecation headline, as the author of a script sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deprecation import DeprecatedWarning

import tensorrtserver
from tritonclient_shim.notice.categories import TensorRTServerDeprecationWarning

ROOT = Path(str(tensorrtserver.__file__)).parents[1]
CATEGORY = "TensorRTServerDeprecationWarning: "

SCRIPT = """\
from tensorrtserver.api import *
def make():
    return ServerHealthContext("localhost:1", 0)
make()
make()
ServerStatusContext("localhost:1", 1)
print("done")
"""


def run(folder: Path, text: str, *options: str, **variables: str) -> Any:
    """Run a script of its own in an interpreter of its own, with nothing of ours in its setting."""
    (folder / "script.py").write_text(text)
    dropped = ("TRITON_SHIM_", "PYTHONWARNINGS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, *options, "script.py"],
        cwd=str(folder),
        env={**kept, "PYTHONPATH": os.pathsep.join(paths), **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_category() -> None:
    """A category of its own, built on the deprecation package's."""
    assert issubclass(TensorRTServerDeprecationWarning, DeprecatedWarning)
    assert issubclass(TensorRTServerDeprecationWarning, DeprecationWarning)


@pytest.mark.smoke
def test_once_at_the_users_line(tmp_path: Path) -> None:
    """One headline per process, at the user's line, under default filters."""
    done = run(tmp_path, SCRIPT)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count(CATEGORY) == 1
    place, _, rest = done.stderr.partition(" ")
    assert place.endswith("script.py:3:")
    assert rest.startswith(CATEGORY + "Your program works. ")
    assert len(rest.splitlines()[0]) - len(CATEGORY) <= 200
    assert 'return ServerHealthContext("localhost:1", 0)' in done.stderr


def test_in_a_module_of_the_users(tmp_path: Path) -> None:
    """Visible by default outside the main program too, at its own line."""
    (tmp_path / "helper.py").write_text(SCRIPT.replace("make()\nmake()", "\n\nmake()\n"))
    done = run(tmp_path, "import helper\n")
    assert "helper.py:3: " + CATEGORY in done.stderr
    assert done.stderr.count(CATEGORY) == 1


def test_in_a_subclass(tmp_path: Path) -> None:
    """For a subclass the user's line is the one that calls the constructor."""
    text = (
        "import tensorrtserver.api as trtis\n"
        "class Mine(trtis.ServerHealthContext):\n"
        "    def __init__(self):\n"
        "        super().__init__('localhost:1', 0)\n"
        "Mine()\n"
    )
    assert "script.py:4: " + CATEGORY in run(tmp_path, text).stderr


def test_import_alone_is_silent(tmp_path: Path) -> None:
    """Importing says nothing, not even where warnings are errors."""
    text = "from tensorrtserver.api import *\nimport tensorrtserver.shared_memory\n"
    done = run(tmp_path, text, "-W", "error:tensorrtserver")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "how",
    [
        (("-W", "ignore::DeprecationWarning"), {}),
        (("-W", "ignore"), {}),
        ((), {"PYTHONWARNINGS": "ignore::DeprecationWarning"}),
        ((), {"TRITON_SHIM_WARNINGS": "off"}),
    ],
)
@pytest.mark.smoke
def test_silenced(tmp_path: Path, how: Any) -> None:
    """Silenced by -W, PYTHONWARNINGS, and the one variable."""
    options, variables = how
    done = run(tmp_path, SCRIPT, *options, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(
    "how", [(("-W", "error::DeprecationWarning"), {}), ((), {"TRITON_SHIM_WARNINGS": "error"})]
)
def test_escalated(tmp_path: Path, how: Any) -> None:
    """Escalated by -W and by the one variable; every use is then an error."""
    options, variables = how
    text = SCRIPT.replace(
        "make()\nmake()", "try:\n    make()\nexcept DeprecationWarning:\n    make()"
    )
    done = run(tmp_path, text, *options, **variables)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("During handling of the above exception") == 1


@pytest.mark.parametrize("action", ["ignore", "error"])
def test_filtered_in_the_script(tmp_path: Path, action: str) -> None:
    """A filter that the script itself sets for the category is obeyed."""
    text = (
        "import warnings\n"
        "from tritonclient_shim.notice.categories import TensorRTServerDeprecationWarning as W\n"
        f"warnings.simplefilter({action!r}, W)\n" + SCRIPT
    )
    done = run(tmp_path, text)
    assert (done.returncode, done.stdout) == ((0, "done\n") if action == "ignore" else (1, ""))
    assert (done.stderr == "") is (action == "ignore")

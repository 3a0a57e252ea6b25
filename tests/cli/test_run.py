"""``tritonclient-shim run``: an unchanged script of 2019, and the report at its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.cli_scripts import python, shim
from tritonclient_shim.cli._runner import NUMPY_NAMES
from tritonclient_shim.registry.patterns import REMOVED_FROM_NUMPY

OLD = """\
import argparse
from future.utils import iteritems
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument("-a", "--async", action="store_true")
FLAGS = parser.parse_args()
print(FLAGS.async, np.object is object, np.int is int, np.float is float, np.str is str)
print(np.sctypes["float"][0].__name__, np.zeros(1, np.bool).dtype, sorted(iteritems({1: 2})))
ProtocolType.from_str("grpc")
"""


@pytest.mark.smoke
def test_a_script_of_2019_runs(tmp_path: Path) -> None:
    """Names that NumPy and Python removed work. stderr lists the uses, then the restored names."""
    (tmp_path / "old.py").write_text(OLD)
    done = shim(tmp_path, "run", "old.py", "--async")
    assert done.stdout == "True True True True True\nfloat16 bool [(1, 2)]\n"
    assert done.returncode == 0
    for part in ("TS011", "old.py:10", "tritonclient-shim guide connections"):
        assert part in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Put back for this run: async as a name in old.py, np.object, np.int, ")
    assert "`tritonclient-shim guide what-python-and-numpy-removed` shows what" in last


def test_file_of_a_script_is_absolute(tmp_path: Path) -> None:
    """``__file__`` is absolute, as under Python: a script may change its working folder."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "old.py").write_text(
        "import os\nos.chdir('/')\nprint(os.path.exists(__file__), __file__)\n"
    )
    done = shim(tmp_path, "run", "lib/old.py")
    assert done.stdout == f"True {tmp_path}/lib/old.py\n"


@pytest.mark.parametrize("name", ["object", "no_such_thing"])
def test_python_alone_points_to_run(tmp_path: Path, name: str) -> None:
    """If NumPy lacks a name of 2019, the error advises `run`, which runs the script."""
    (tmp_path / "old.py").write_text(
        "from tensorrtserver.api import *\nimport numpy\nProtocolType.from_str('grpc')\n"
        f"print(numpy.{name})\n"
    )
    done = python(tmp_path, "old.py")
    assert done.returncode == 1
    advised = "`tritonclient-shim run old.py` puts it back"
    assert (advised in done.stderr) is (name == "object")
    if name == "object":
        assert shim(tmp_path, *advised.split("`")[1].split()[1:]).stdout == "<class 'object'>\n"


def test_report_to_a_file(tmp_path: Path) -> None:
    """TRITON_SHIM_REPORT gets the uses in the format of its ending, and stderr no report."""
    (tmp_path / "old.py").write_text(OLD)
    done = shim(
        tmp_path, "run", "old.py", TRITON_SHIM_REPORT="usage.json", TRITON_SHIM_WARNINGS="off"
    )
    assert done.stderr == ""
    (use,) = json.loads((tmp_path / "usage.json").read_text())["uses"]
    assert (use["id"], use["file"], use["line"], use["count"]) == ("TS011", "old.py", 10, 1)


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    """A report in an unknown format is an error before the script runs."""
    (tmp_path / "old.py").write_text("print('it runs')\n")
    done = shim(tmp_path, "run", "old.py", TRITON_SHIM_REPORT="usage.pdf")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no report is written as .pdf; expected .txt, .json or no ending" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("show.py", "-m", "a b", "--help", "x"), "show.py|-m|a b|--help|x"),
        (("-m", "show", "--flag", "-c"), "show|--flag|-c"),
    ],
)
def test_arguments_are_the_scripts(tmp_path: Path, command: tuple[str, ...], says: str) -> None:
    """sys.argv is as without the runner, options included."""
    (tmp_path / "show.py").write_text(
        "import sys\nprint('|'.join([sys.argv[0].rpartition('/')[2].replace('.py', '') if "
        "'-m' not in sys.argv[1:2] else sys.argv[0], *sys.argv[1:]]))\n"
    )
    done = shim(tmp_path, "run", *command)
    assert (done.returncode, done.stdout) == (0, says + "\n")


@pytest.mark.parametrize(
    ("end", "status", "error"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('stop')", 1, "stop\n"),
        ("raise KeyError('x')", 1, "KeyError: 'x'\n"),
        ("pass", 0, ""),
    ],
)
def test_exit_status_is_the_scripts(tmp_path: Path, end: str, status: int, error: str) -> None:
    """sys.exit and exceptions end the script as without the runner."""
    (tmp_path / "script.py").write_text(end)
    done = shim(tmp_path, "run", "script.py")
    assert done.returncode == status
    assert done.stderr.endswith(error)
    assert bool(done.stderr) is bool(error)


def test_report_in_spite_of_an_exception(tmp_path: Path) -> None:
    """The report comes after the traceback."""
    (tmp_path / "old.py").write_text(OLD + "raise RuntimeError('x')\n")
    done = shim(tmp_path, "run", "old.py")
    assert done.returncode == 1
    assert done.stderr.index("RuntimeError: x") < done.stderr.index("Legacy API in use")


def test_no_report_for_a_modern_script(tmp_path: Path) -> None:
    """A script that does not use the old API gets no report."""
    (tmp_path / "new.py").write_text("print('new')\n")
    done = shim(tmp_path, "run", "new.py")
    assert (done.stdout, done.stderr) == ("new\n", "")


def test_main_is_the_script(tmp_path: Path) -> None:
    """__main__ is the script's module, with its file. The script's folder is on the import path."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "beside.py").write_text("value = 5\n")
    (tmp_path / "sub" / "script.py").write_text(
        "import pickle, sys, beside\n"
        "class Thing: pass\n"
        "main = sys.modules['__main__']\n"
        "print(__name__, __file__, main.Thing is Thing, beside.value)\n"
        "print(type(pickle.loads(pickle.dumps(Thing()))) is Thing)\n"
    )
    done = shim(tmp_path, "run", "sub/script.py")
    assert done.stdout == f"__main__ {tmp_path}/sub/script.py True 5\nTrue\n"


def test_modules_of_2019_beside_the_script(tmp_path: Path) -> None:
    """Modules that the script imports may use an attribute named async too."""
    (tmp_path / "helper.py").write_text("def f(flags):\n    return flags.async\n")
    (tmp_path / "script.py").write_text(
        "from argparse import Namespace\nfrom helper import f\n"
        "print(f(Namespace(**{'async': 7})))\n"
    )
    assert shim(tmp_path, "run", "script.py").stdout == "7\n"


def test_traceback_shows_the_script_as_it_is(tmp_path: Path) -> None:
    """A traceback shows the unchanged lines of a script with async names."""
    (tmp_path / "script.py").write_text("class F: pass\nprint(1)\nF().async\n")
    done = shim(tmp_path, "run", "script.py")
    assert 'script.py", line 3' in done.stderr
    assert "    F().async\n" in done.stderr
    assert "\nAttributeError: 'F' object has no attribute 'async'\n" in done.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("run",), "name a script"),
        (("run", "nowhere.py"), "there is no script 'nowhere.py' in "),
    ],
)
def test_refused(tmp_path: Path, command: tuple[str, ...], says: str) -> None:
    """A missing script is an error that says what was expected."""
    done = shim(tmp_path, *command)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


ERRORS = {
    "syntax": "x = 1 1\n",
    "syntax in a text": "eval(\"print 'a'\")\n",
    "in a function": "def f():\n    raise KeyError('x')\nf()\n",
    "with a cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise OSError from e\n",
    "in a thread": "import threading\nthreading.Thread(target=lambda: 1 / 0, name='T').start()\n",
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_look_like_pythons(tmp_path: Path, name: str) -> None:
    """An uncaught error is shown as without the runner, from the script's line on."""
    (tmp_path / "script.py").write_text(ERRORS[name])
    done = shim(tmp_path, "run", "script.py")
    expected = python(tmp_path, "script.py")
    assert done.returncode == expected.returncode
    assert done.stderr.replace(f'"{tmp_path}/', '"') == expected.stderr.replace(
        f'"{tmp_path}/', '"'
    )


def test_a_folder_with_a_main_module(tmp_path: Path) -> None:
    """``run FOLDER`` runs its __main__.py with the arguments, as ``python FOLDER`` does."""
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "beside.py").write_text("value = 5\n")
    (tmp_path / "tool" / "__main__.py").write_text(
        "import sys\nfrom beside import value\nprint(__name__, sys.argv[1:], value)\n"
    )
    done = shim(tmp_path, "run", "tool", "--flag")
    assert (done.returncode, done.stdout) == (0, "__main__ ['--flag'] 5\n")


def test_the_names_of_numpy_are_those_that_scan_reports() -> None:
    """`run` restores the names that TS201 reports."""
    assert set(NUMPY_NAMES) == REMOVED_FROM_NUMPY


def test_numpy_names_that_exist_stay(tmp_path: Path) -> None:
    """A name that this NumPy has keeps its meaning, so libraries see no change."""
    code = (
        "import numpy as np\nbefore = dict(vars(np))\n"
        "from tritonclient_shim.cli import _runner as restore\n"
        "restore.numpy_names()\n"
        "print([name for name in set(before) - {'__getattr__'}\n"
        "       if vars(np)[name] is not before[name]])\n"
    )
    assert python(tmp_path, "-c", code).stdout == "[]\n"

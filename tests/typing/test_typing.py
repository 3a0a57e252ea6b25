"""Type checkers on programs of the old API: no false alarm, and types other than ``Any``.

mypy and pyright are in the environment ``check`` of tox, which runs this file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Callable

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

if find_spec("mypy") is None or find_spec("pyright") is None:
    pytest.skip("only the environment check has mypy and pyright", allow_module_level=True)


def mypy(program: Path) -> dict[int, str]:
    """Run mypy with its defaults, including functions without annotations."""
    options = ["--check-untyped-defs", "--follow-imports=silent", "--ignore-missing-imports"]
    done = run("mypy", "--config-file=", *options, program.name, folder=program.parent)
    result = re.findall(rf"^{program.name}:(\d+): error: (.*)$", done.stdout, re.M)
    assert "Found" in done.stdout or "Success" in done.stdout, done.stdout + done.stderr
    return {int(line): text for line, text in result}


def pyright(program: Path) -> dict[int, str]:
    """Run pyright with its defaults, as in an editor."""
    config = {"include": [program.name], "extraPaths": [str(ROOT)]}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(config), "utf-8")
    done = run("pyright", "--outputjson", "--pythonpath", sys.executable, folder=program.parent)
    result = json.loads(done.stdout)
    assert result["summary"]["filesAnalyzed"] == 1
    return {
        item["range"]["start"]["line"] + 1: item["message"]
        for item in result["generalDiagnostics"]
        if item["severity"] == "error"
    }


def run(module: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``python -m module`` in a folder, with the checkout's packages."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=str(folder),
        env={**os.environ, "MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )


def program(name: str, folder: Path) -> Path:
    """Return a copy of a program under the name of a Python file."""
    copy = folder / f"{name}.py"
    copy.write_text((HERE / f"{name}.txt").read_text("utf-8"), "utf-8")
    return copy


@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda item: item.__name__)
def test_no_false_alarm(checker: Callable[[Path], dict[int, str]], tmp_path: Path) -> None:
    """Type checkers accept every form of a call that v1 accepted."""
    assert checker(program("legacy_forms", tmp_path)) == {}


@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda item: item.__name__)
def test_what_is_known(checker: Callable[[Path], dict[int, str]], tmp_path: Path) -> None:
    """Results, ids and message fields have their types. Wrong argument types are errors."""
    source = program("known_types", tmp_path)
    lines = source.read_text("utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    result = checker(source)
    assert set(result) == wrong, result
    assert len(wrong) > 5

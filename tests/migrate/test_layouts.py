"""Migrated programs run as they did, wherever their files are and however they are started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed import TritonServer
from tritonclient_shim.cli import main

_ASK = """import sys

import numpy as np
from tensorrtserver.api import InferContext, ProtocolType


def ask(url):
    ctx = InferContext(url, ProtocolType.GRPC, "simple")
    row = np.arange(16, dtype=np.int32)
    inputs = {"INPUT0": [row], "INPUT1": [row]}
    result = ctx.run(inputs, {"OUTPUT0": InferContext.ResultFormat.RAW})
    return result["OUTPUT0"][0].sum()
"""
_MAIN = '\n\nif __name__ == "__main__":\n    print(ask(sys.argv[1]))\n'
_IMPORTING = "import sys\n\nfrom {} import ask\n\nprint(ask(sys.argv[1]))\n"


class Layout(NamedTuple):
    """The files of a program, and how it is started."""

    files: dict[str, str]
    command: tuple[str, ...]
    variables: dict[str, str] = {}


LAYOUTS = {
    "script": Layout({"main.py": _ASK + _MAIN}, ("main.py",)),
    "two files": Layout({"ask.py": _ASK, "main.py": _IMPORTING.format("ask")}, ("main.py",)),
    "package": Layout(
        {"app/__init__.py": "", "app/ask.py": _ASK, "main.py": _IMPORTING.format("app.ask")},
        ("main.py",),
    ),
    "namespace package": Layout(
        {"app/part/ask.py": _ASK, "main.py": _IMPORTING.format("app.part.ask")}, ("main.py",)
    ),
    "script in a package": Layout(
        {"app/__init__.py": "", "app/main.py": _ASK + _MAIN}, ("app/main.py",)
    ),
    "module of a package": Layout(
        {"app/__init__.py": "", "app/main.py": _ASK + _MAIN}, ("-m", "app.main")
    ),
    "package with __main__": Layout(
        {"app/__init__.py": "", "app/__main__.py": _ASK + _MAIN}, ("-m", "app")
    ),
    "safe path": Layout({"main.py": _ASK + _MAIN}, ("main.py",), {"PYTHONSAFEPATH": "1"}),
    "two folders": Layout(
        {"lib/ask.py": _ASK, "bin/main.py": _IMPORTING.format("ask")},
        ("bin/main.py",),
        {"PYTHONPATH": "lib"},
    ),
    "helpers of the user": Layout(
        {"triton_helpers.py": "MINE = 1\n", "main.py": f"{_ASK}import triton_helpers\n{_MAIN}"},
        ("main.py",),
    ),
}


def run(layout: Layout, url: str, folder: Path) -> str:
    """Run a program in its folder, and return what it printed."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", *layout.command, url],
        cwd=str(folder),
        env={**os.environ, "TRITON_SHIM_WARNINGS": "off", **layout.variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout(name: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program prints the same after safe migration, in each layout. It needs no other file."""
    layout = LAYOUTS[name]
    for file, text in layout.files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, "utf-8")
    before = run(layout, triton.grpc, tmp_path)
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    assert run(layout, triton.grpc, tmp_path) == before
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py")}
    assert names == set(layout.files)


def test_link_to_a_script(triton: TritonServer, tmp_path: Path) -> None:
    """A script that is started by a link in another folder prints the same afterwards."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "app").mkdir()
    script = tmp_path / "app" / "main.py"
    script.write_text(_ASK + _MAIN, "utf-8")
    (tmp_path / "bin" / "ask.py").symlink_to(script)
    layout = Layout({}, ("bin/ask.py",))
    before = run(layout, triton.grpc, tmp_path)
    assert main(["migrate", "--write", str(tmp_path / "app")]) == 0
    assert run(layout, triton.grpc, tmp_path) == before


def test_module_that_is_installed_alone(triton: TritonServer, tmp_path: Path) -> None:
    """A module that is copied elsewhere without the files beside it works."""
    (tmp_path / "app").mkdir()
    (tmp_path / "site").mkdir()
    source = tmp_path / "app" / "ask.py"
    source.write_text(_ASK, "utf-8")
    assert main(["migrate", "--write", str(source)]) == 0
    shutil.copy(source, tmp_path / "site")
    (tmp_path / "main.py").write_text(_IMPORTING.format("ask"), "utf-8")
    assert run(Layout({}, ("main.py",), {"PYTHONPATH": "site"}), triton.grpc, tmp_path)

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

ASK = """import sys

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
    "script": Layout({"main.py": ASK + _MAIN}, ("main.py",)),
    "two files": Layout({"ask.py": ASK, "main.py": _IMPORTING.format("ask")}, ("main.py",)),
    "package": Layout(
        {"app/__init__.py": "", "app/ask.py": ASK, "main.py": _IMPORTING.format("app.ask")},
        ("main.py",),
    ),
    "namespace package": Layout(
        {"app/part/ask.py": ASK, "main.py": _IMPORTING.format("app.part.ask")}, ("main.py",)
    ),
    "script in a package": Layout(
        {"app/__init__.py": "", "app/main.py": ASK + _MAIN}, ("app/main.py",)
    ),
    "module of a package": Layout(
        {"app/__init__.py": "", "app/main.py": ASK + _MAIN}, ("-m", "app.main")
    ),
    "package with __main__": Layout(
        {"app/__init__.py": "", "app/__main__.py": ASK + _MAIN}, ("-m", "app")
    ),
    "safe path": Layout({"main.py": ASK + _MAIN}, ("main.py",), {"PYTHONSAFEPATH": "1"}),
    "two folders": Layout(
        {"lib/ask.py": ASK, "bin/main.py": _IMPORTING.format("ask")},
        ("bin/main.py",),
        {"PYTHONPATH": "lib"},
    ),
    "helpers of the user": Layout(
        {"triton_helpers.py": "MINE = 1\n", "main.py": f"{ASK}import triton_helpers\n{_MAIN}"},
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
    script.write_text(ASK + _MAIN, "utf-8")
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
    source.write_text(ASK, "utf-8")
    assert main(["migrate", "--write", str(source)]) == 0
    shutil.copy(source, tmp_path / "site")
    (tmp_path / "main.py").write_text(_IMPORTING.format("ask"), "utf-8")
    assert run(Layout({}, ("main.py",), {"PYTHONPATH": "site"}), triton.grpc, tmp_path)


_FIXTURES = """import os

import pytest
from tensorrtserver.api import InferContext, ProtocolType


@pytest.fixture(params=[ProtocolType.HTTP])
def server(request):
    return os.environ["URL"], request.param


@pytest.fixture
def make(server):
    return lambda model: InferContext(server[0], server[1], model)
"""
_TESTS = """import numpy as np
from client import Client
from tensorrtserver.api import InferContext

ROW = np.arange(16, dtype=np.int32)


def test_request(make):
    inputs = {"INPUT0": [ROW], "INPUT1": [ROW]}
    result = make("simple").run(inputs, {"OUTPUT0": InferContext.ResultFormat.RAW})
    assert result["OUTPUT0"][0].sum() == 240


def test_client(server):
    assert Client(*server).context.correlation_id() == 0
"""
_CLIENT = """from tensorrtserver.api import InferContext, ProtocolType


class Client:
    def __init__(self, url, protocol=ProtocolType.HTTP, **options):
        self.context = InferContext(url, protocol, "simple", **options)
"""


@pytest.mark.parametrize("place", ["tests/conftest.py", "tests/own_fixtures.py"])
@pytest.mark.parametrize("unsafe", [(), ("--unsafe",)], ids=["safe", "unsafe"])
def test_fixtures(
    unsafe: tuple[str, ...], place: str, triton: TritonServer, tmp_path: Path
) -> None:
    """Tests pass after migration, with contexts and protocols that fixtures hand to them."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "client.py").write_text(_CLIENT, "utf-8")
    (tmp_path / "tests" / "conftest.py").write_text("pytest_plugins = ['own_fixtures']\n", "utf-8")
    (tmp_path / place).write_text(_FIXTURES, "utf-8")
    (tmp_path / "tests" / "test_request.py").write_text(_TESTS, "utf-8")
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    layout = Layout({}, command, {"URL": triton.http, "PYTHONPATH": "tests"})
    run(layout, "tests", tmp_path)
    main(["migrate", "--write", *unsafe, str(tmp_path)])
    run(layout, "tests", tmp_path)

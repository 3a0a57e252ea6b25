"""``migrate --helpers MODULE``: one module with the functions that all migrated files call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import CONTEXT, STAR
from tests.migrate.test_layouts import ASK
from tritonclient_shim.cli import main

ASK_OVER_HTTP = """import tensorrtserver.api as api
import numpy as np


def ask_over_http(url):
    ctx = api.InferContext(url, api.ProtocolType.HTTP, "simple")
    row = np.ones(16, np.int32)
    inputs = {"INPUT0": [row], "INPUT1": [row]}
    result = ctx.run(inputs, {"OUTPUT0": (api.InferContext.ResultFormat.RAW)})
    return result["OUTPUT0"][0].sum()
"""
MAIN = """import sys

from app.grpc_client import ask
from app.http_client import ask_over_http

print(ask(sys.argv[1]), ask_over_http(sys.argv[2]))
"""


def printed(folder: Path, *command: str) -> str:
    """Return what a program prints that runs in a folder."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        cwd=str(folder),
        env={**os.environ, "TRITON_SHIM_WARNINGS": "off"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a package of two clients, and a script that calls them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("", "utf-8")
    (tmp_path / "app" / "grpc_client.py").write_text(ASK, "utf-8")
    (tmp_path / "app" / "http_client.py").write_text(ASK_OVER_HTTP, "utf-8")
    (tmp_path / "main.py").write_text(MAIN, "utf-8")
    return tmp_path


def test_program_with_one_module(folder: Path, triton: TritonServer) -> None:
    """Files import the functions of one module of their package, and print what they printed."""
    command = ("main.py", triton.grpc, triton.http)
    before = printed(folder, *command)
    assert main(["migrate", "--write", "--helpers", "app.triton_helpers", "."]) == 0
    for name in ("grpc_client.py", "http_client.py"):
        text = (folder / "app" / name).read_text("utf-8")
        assert "from app.triton_helpers import " in text
        assert text.count("def ") == 1 and "tensorrtserver" not in text
    module = (folder / "app" / "triton_helpers.py").read_text("utf-8")
    assert module.count("def infer(") == 1
    assert printed(folder, *command) == before != ""


def test_proof_with_a_new_module(
    folder: Path, triton: TritonServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command proves files that import the new module, and all are written together."""
    command = f"{sys.executable} main.py {triton.grpc} {triton.http}"
    options = ["--helpers", "app.triton_helpers", "--prove", command]
    assert main(["migrate", "--write", *options, "."]) == 0
    assert "app/triton_helpers.py is new. Before and after" in capsys.readouterr().out
    assert (folder / "app" / "triton_helpers.py").exists()


def test_script_beside_its_module(folder: Path, triton: TritonServer) -> None:
    """A module without a package is written beside the files, which are in one folder."""
    script = folder / "script.py"
    script.write_text(f"{ASK}\n\nprint(ask(sys.argv[1]))\n", "utf-8")
    before = printed(folder, "script.py", triton.grpc)
    assert main(["migrate", "--write", "--helpers", "mine", "script.py"]) == 0
    assert "from mine import RAW" in script.read_text("utf-8")
    assert printed(folder, "script.py", triton.grpc) == before


def test_section_of_the_module(tmp_path: Path) -> None:
    """The import of the module is in a section of its own, as isort sorts the program's modules."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n\nimport numpy as np\nfrom tensorrtserver.api import *\n\n"
        "try:\n"
        "    ctx = InferContext(os.environ['URL'], ProtocolType.GRPC, 'm')\n"
        "    ctx.run({'A': [np.zeros(1)]}, {'B': InferContext.ResultFormat.RAW})\n"
        "except InferenceServerException:\n    pass\n"
    )
    main(["migrate", "--write", "--helpers", "for_requests", str(script)])
    assert script.read_text().startswith(
        "import os\n\nimport numpy as np\nimport tritonclient.grpc as grpcclient\n"
        "from tritonclient.utils import InferenceServerException\n\nfrom for_requests import "
    )


def test_name_of_the_file_stays(folder: Path) -> None:
    """A name that a file has for something else stays; the import gets another name."""
    source = f"{STAR}{CONTEXT}infer = 1\nr = ctx.run(i, o)\n"
    (folder / "named.py").write_text(source, "utf-8")
    main(["migrate", "--write", "--helpers", "mine", "named.py"])
    text = (folder / "named.py").read_text("utf-8")
    assert "from mine import infer as infer_\n" in text
    assert "infer = 1\nr = infer_(ctx" in text


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("def infer(self, i, o):\n        return ctx.run(i, o)", "infer"),
        ("infer = None\n    r = ctx.run(i, o)", "infer_"),
        ("def infer(self, r=ctx.run(i, o)):\n        pass", "infer_"),
        ("def infer(self):\n        global infer\n        infer = ctx.run(i, o)", "infer_"),
    ],
)
def test_name_of_a_method(folder: Path, method: str, name: str) -> None:
    """The name of a method is free, unless new text comes into the body of a class."""
    (folder / "named.py").write_text(f"{STAR}{CONTEXT}class Own:\n    {method}\n", "utf-8")
    main(["migrate", "--write", "--helpers", "mine", "named.py"])
    assert f"{name}(ctx, " in (folder / "named.py").read_text("utf-8")


def test_diff_of_a_new_module(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --write the module is a new file of the diff, which git applies."""
    assert main(["migrate", "--helpers", "app.mine", "."]) == 1
    diff = capsys.readouterr().out
    assert not (folder / "app" / "mine.py").exists()
    end = diff.index("app/grpc_client.py:")  # the report
    apply = ["git", "apply", "-p0", "-"]
    subprocess.run(apply, input=diff[:end], text=True, check=True, capture_output=True)
    assert (folder / "app" / "mine.py").read_text("utf-8").startswith('"""Requests to Triton')
    assert main(["migrate", "--helpers", "app.mine", "."]) == 0


def test_nothing_to_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that call no functions get no module."""
    (folder / "app" / "none.py").write_text("from tensorrtserver.api import *\n", "utf-8")
    main(["migrate", "--write", "--format", "json", "--helpers", "app.mine", "app/none.py"])
    assert json.loads(capsys.readouterr().out)["files"]["changed"] == ["app/none.py"]
    assert not (folder / "app" / "mine.py").exists()


def test_module_with_the_functions_is_kept(folder: Path) -> None:
    """A module that has what more files call stays as it is."""
    options = ["--write", "--helpers", "app.mine"]
    assert main(["migrate", *options, "app/grpc_client.py"]) == 0
    module = folder / "app" / "mine.py"
    before = module.read_bytes()
    again = folder / "app" / "grpc_client.py"
    again.write_text(f"{ASK}\n\ndef more(url):\n    return ask(url)\n", "utf-8")
    assert main(["migrate", *options, "app/grpc_client.py"]) == 0
    assert module.read_bytes() == before
    assert "from app.mine import" in again.read_text("utf-8")


@pytest.mark.parametrize(
    "name, message, remedy",
    [
        ("app.__init__", "app/__init__.py exists, and RAW, ", "app.mine"),
        ("app.http_client.py", "no folder above the files can be the package", "app.mine"),
        ("app.2", "'app.2' is no name of a module", "app.mine"),
        ("mine", "the files are in 2 folders", "app.mine"),
    ],
)
def test_refused_module(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, message: str, remedy: str
) -> None:
    """A module whose place is not certain, or that exists, is refused; nothing is written."""
    before = {path: path.read_bytes() for path in folder.rglob("*.py")}
    assert main(["migrate", "--write", "--helpers", name, "."]) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*.py")} == before
    assert main(["migrate", "--write", "--helpers", remedy, "."]) == 0


def test_package_without_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A module in a package is named with the package; the message says how."""
    assert main(["migrate", "--helpers", "mine", "app"]) == 2
    err = capsys.readouterr().err
    assert "app is a package" in err and err.endswith("as the files import it: app.mine\n")
    assert main(["migrate", "--helpers", "app.mine", "app"]) == 1


@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("from scoring.clients import base", "scoring.clients"),
        ("from . import base", "clients"),
        ("import scoring.clients.base as b", "scoring.clients"),
    ],
)
def test_package_without_init(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, package: str
) -> None:
    """Files that import each other with a package are modules of it, also without __init__.py."""
    clients = folder / "scoring" / "clients"
    clients.mkdir(parents=True)
    (clients / "base.py").write_text(ASK, "utf-8")
    (clients / "ask.py").write_text(f"{line}\n{ASK}", "utf-8")
    assert main(["migrate", "--helpers", "mine", "scoring"]) == 2
    assert f"as the files import it: {package}.mine\n" in capsys.readouterr().err
    assert main(["migrate", "--helpers", "scoring.clients.mine", "scoring"]) == 1
    (clients / "ask.py").write_text(f"import base\n{ASK}", "utf-8")
    assert main(["migrate", "--helpers", "mine", "scoring"]) == 1


def test_two_packages_of_a_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A package that two folders above the files have is refused."""
    (folder / "other" / "app").mkdir(parents=True)
    (folder / "other" / "script.py").write_text(ASK, "utf-8")
    assert main(["migrate", "--helpers", "app.mine", "."]) == 2
    assert "app, other/app above the files can be the package app" in capsys.readouterr().err
    (folder / "shared").mkdir()
    assert main(["migrate", "--helpers", "shared.mine", "."]) == 1


def test_file_that_appears(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is made meanwhile at the place of the module is not overwritten."""
    from tritonclient_shim.migrate import writing

    real = writing.write_files
    module = folder / "app" / "mine.py"

    def make_then_write(files: list[object]) -> None:
        module.write_text("mine = 1\n", "utf-8")
        real(files)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "write_files", make_then_write)
    assert main(["migrate", "--write", "--helpers", "app.mine", "."]) == 3
    assert module.read_text("utf-8") == "mine = 1\n"
    assert (folder / "app" / "grpc_client.py").read_text("utf-8") == ASK


def test_module_of_pyproject(folder: Path) -> None:
    """The key ``helpers`` of pyproject.toml names the module, too."""
    pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    text = '[tool.tritonclient-shim]\nhelpers = "app.mine"\n'
    (folder / "pyproject.toml").write_text(text, "utf-8")
    assert main(["migrate", "--write", "."]) == 0
    assert (folder / "app" / "mine.py").exists()

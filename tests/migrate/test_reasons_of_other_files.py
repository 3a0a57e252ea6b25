"""A use that stays for another file has the place of the cause in its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR
from tritonclient_shim.cli import main

_MAKE = f"{STAR}def make():\n    return InferContext('u', 1, 'm')\n"
_ONE_FILE = {
    "formats": (
        {
            "lib.py": f"{STAR}ctx = InferContext('u', 1, 'm')\nctx.unknown_method()\n"
            "def ask(o):\n    ctx.run(i, o)\n",
            "main.py": f"import lib\n{STAR}raw = InferContext.ResultFormat.RAW\n"
            "lib.ask({'O': raw})\n",
        },
        "lib.py, line 2, keeps v1's contexts or protocols; rewrite it first",
    ),
    "v1's names from another file": (
        {"lib.py": _MAKE, "main.py": "from lib import InferContext, make\nprint(make())\n"},
        "main.py, line 1, has v1's names from another file; import v1 there",
    ),
    "a class that is replaced": (
        {"lib.py": _MAKE, "test_lib.py": "import lib\n\nlib.InferContext = Fake\n"},
        "test_lib.py, line 3, may replace the class in this file",
    ),
    "ids of errors": (
        {
            "lib.py": _MAKE,
            "main.py": "import lib\ntry:\n    lib.make()\nexcept lib.X as e:\n"
            "    print(e.server_id())\n",
        },
        "main.py, line 5, reads the ids of errors, which only v1's have",
    ),
    "asynchronous requests": (
        {"lib.py": _MAKE, "main.py": "import lib\nlib.make().async_run(f, i, o)\n"},
        "import v1 in all files that start or fetch asynchronous requests: main.py, line 2, does",
    ),
    "the first cause": (
        {
            "lib/__init__.py": f"{STAR}def make(model_name):\n"
            "    return InferContext('u', 1, next(model_name))\n",
            "main.py": f"{STAR}import lib\nctx = lib.make(iter('m'))\n"
            "print(ctx.run(i, {'O': InferContext.ResultFormat.RAW}))\n",
        },
        "lib/__init__.py, line 3, keeps v1's contexts",
    ),
    "the stub": (
        {
            "lib.py": "from tensorrtserver.api import grpc_service_pb2_grpc\n"
            "stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)\n",
            "main.py": "import lib\n",
        },
        "keep v1's messages in one file: main.py may serialize or parse them",
    ),
}


@pytest.mark.parametrize("name", _ONE_FILE)
def test_place_in_another_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reason names the file and the line of the cause, not of what stays for it."""
    files, reason = _ONE_FILE[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    main(["migrate", "--check", "--unsafe", str(tmp_path)])
    assert reason in capsys.readouterr().out


def test_code_that_gets_a_context(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without ``--unsafe``, the reason names the line in which other code gets a context."""
    script = tmp_path / "script.py"
    script.write_text(f"{STAR}{CONTEXT}\nServer(ctx).start()\nctx.run(i, o)\n")
    main(["migrate", "--check", str(script)])
    assert (
        "unsafe: the code that gets it in line 4 may use more of a context than `run` and `close`; "
        "--unsafe rewrites it (row 9)"
    ) in capsys.readouterr().out


@pytest.mark.parametrize("name", _ONE_FILE)
def test_comments_of_a_second_run(name: str, tmp_path: Path) -> None:
    """A comment names the file alone: lines move, and another run would add another comment."""
    files, _ = _ONE_FILE[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    command = ["migrate", "--write", "--unsafe", str(tmp_path)]
    main(command)
    first = {path: (tmp_path / path).read_text() for path in files}
    for path, text in first.items():
        (tmp_path / path).write_text(f"# moved\n{text}")
    main(command)
    assert {path: (tmp_path / path).read_text() for path in files} == {
        path: f"# moved\n{text}" for path, text in first.items()
    }

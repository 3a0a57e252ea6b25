"""A closed context raises v1's exception; a closed client of tritonclient raises others."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, migrated, run, todo
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import migrate
from tritonclient_shim.migrate.options import MigrateOptions
from tritonclient_shim.migrate.program import Program

_MAKE = "ctx = ServerHealthContext(sys.argv[1], ProtocolType.GRPC)\n"
_ASK = "try:\n    print(ctx.is_live())\nexcept InferenceServerException:\n    print('error')\n"
_ASK_BELOW = indent(_ASK, "    ")
_CLASS = """class Client:
    def __init__(self, url):
        self.ctx = ServerHealthContext(url, ProtocolType.GRPC)

    def ready(self):
        return self.ctx.is_ready()

    def close(self):
        self.ctx.close()

client = Client(sys.argv[1])
print(client.ready())
client.close()
try:
    print(client.ready())
except InferenceServerException:
    print("error")
"""
#: Programs that ask a context after its end, or may do so.
CLOSED = {
    "line above": f"{_MAKE}ctx.close()\n{_ASK}",
    "with": f"with ServerHealthContext(sys.argv[1], 1) as ctx:\n    pass\n{_ASK}",
    "with of a variable": f"{_MAKE}with ctx:\n    print(ctx.is_live())\n{_ASK}",
    "turn of a loop": f"{_MAKE}for turn in range(2):\n{_ASK_BELOW}    ctx.close()\n",
    "closing": f"{_MAKE}with contextlib.closing(ctx):\n    pass\n{_ASK}",
    "manager that closes": (
        f"{_MAKE}@contextlib.contextmanager\ndef asking(control):\n    yield\n    control.close()\n"
        f"with asking(ctx):\n    pass\n{_ASK}"
    ),
    "manager of a class that closes": (
        f"{_MAKE}class Asking:\n    def __init__(self, control):\n        self.control = control\n"
        "    def __enter__(self):\n        return self\n"
        "    def __exit__(self, *error):\n        self.control.close()\n"
        f"with Asking(ctx):\n    pass\n{_ASK}"
    ),
    "manager of a class that is derived": (
        f"{_MAKE}class Asking(contextlib.closing):\n    pass\nwith Asking(ctx):\n    pass\n{_ASK}"
    ),
    "manager that enters": (
        f"{_MAKE}@contextlib.contextmanager\ndef asking(control):\n"
        f"    with control:\n        yield\nwith asking(ctx):\n    pass\n{_ASK}"
    ),
    "manager with one that closes": (
        f"{_MAKE}@contextlib.contextmanager\ndef asking(control):\n"
        "    with control:\n        yield\n"
        f"with asking(contextlib.closing(ctx)):\n    pass\n{_ASK}"
    ),
    "function": f"{_MAKE}def ask():\n{_ASK_BELOW}ask()\nctx.close()\nask()\n",
    "class": _CLASS,
    "request": (
        "ctx = InferContext(sys.argv[1], 1, 'simple')\nctx.close()\ntry:\n"
        "    ctx.run({}, {'OUTPUT0': InferContext.ResultFormat.RAW})\n"
        "except InferenceServerException:\n    print('error')\n"
    ),
}
#: Programs that close a context after its last use, or do not see the difference.
OPEN = {
    "line below": f"{_MAKE}{_ASK}ctx.close()\n",
    "finally": f"{_MAKE}{_ASK}finally:\n    ctx.close()\n",
    "never": f"{_MAKE}{_ASK}",
    "with": f"with ServerHealthContext(sys.argv[1], 1) as ctx:\n{_ASK_BELOW}",
    "made anew": f"{_MAKE}ctx.close()\n{_MAKE}{_ASK}ctx.close()\n",
    "made in each turn": f"for x in range(2):\n    {_MAKE}{_ASK_BELOW}    ctx.close()\n",
    "any error": f"{_MAKE}ctx.close()\n{_ASK}".replace("InferenceServerException", "Exception"),
    "function of a request": (
        "ctx = InferContext(sys.argv[1], 1, 'simple')\ndef ask():\n    try:\n"
        "        ctx.run({}, {'OUTPUT0': InferContext.ResultFormat.RAW})\n"
        "    except InferenceServerException:\n        print('error')\nask()\nctx.close()\n"
    ),
    "manager of the program": (
        f"{_MAKE}@contextlib.contextmanager\ndef asking(control):\n    print(control.is_live())\n"
        "    try:\n        yield 1\n    finally:\n        print(control.is_live())\n"
        f"with asking(ctx):\n    pass\n{_ASK}with asking(control=ctx) as x:\n{_ASK_BELOW}"
    ),
    "manager that yields it": (
        f"{_MAKE}@contextlib.contextmanager\ndef asking(control):\n    yield control\n"
        f"with asking(ctx) as same:\n    print(same.is_live())\n{_ASK}"
    ),
    "manager of a class": (
        f"{_MAKE}class Asking:\n    def __init__(self, control):\n        self.control = control\n"
        "    def __enter__(self):\n        return self\n"
        "    def __exit__(self, *error):\n        print(self.control.is_live())\n"
        f"with Asking(ctx):\n    pass\n{_ASK}"
    ),
    "no handler": f"{_MAKE}print(ctx.is_live())\nctx.close()\n",
}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("name", CLOSED)
def test_closed_contexts(name: str, protocol: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program that catches the error of a closed context does as before."""
    text = f"import contextlib, sys\n{STAR}{CLOSED[name]}"
    if protocol == "http":
        text = text.replace("GRPC", "HTTP").replace("argv[1], 1", "argv[1], 0")
    script = tmp_path / "script.py"
    script.write_text(text)
    before = run(script, getattr(triton, protocol))
    assert (before.status, before.output.split()[-1]) == (0, "error")
    assert main(["migrate", "--write", str(script)]) == 1
    assert run(script, getattr(triton, protocol)) == before


@pytest.mark.parametrize("name", CLOSED)
def test_row_of_closed_clients(name: str) -> None:
    """With --unsafe, the report names the row of the table."""
    migration = migrated(f"import contextlib, sys\n{STAR}{CLOSED[name]}")
    assert not todo(migration)
    rows = {row.name for _, outcome in migration.uses for row in outcome.rows}
    assert "CLOSED" in rows


@pytest.mark.parametrize("name", OPEN)
def test_contexts_that_are_closed_last(name: str) -> None:
    """A context is rewritten if no use can follow its end, or no handler sees the difference."""
    assert not todo(migrated(f"import contextlib, sys\n{STAR}{OPEN[name]}", unsafe=False))


def test_handler_of_another_file(tmp_path: Path) -> None:
    """A context stays if another file of the program catches v1's exception."""
    client = tmp_path / "client.py"
    client.write_text(f"import contextlib, sys\n{STAR}{_CLASS}".partition("client =")[0])
    script = tmp_path / "script.py"
    script.write_text("import client\nfrom client import *\ntry:\n    client.Client('u').ready()\n")
    options = MigrateOptions("grpc")

    def left() -> list[str]:
        program = Program([str(client), str(script)])
        return todo(migrate(str(client), client.read_bytes(), options, program))

    assert "TS020" not in "".join(left())
    with script.open("a") as file:
        file.write("except InferenceServerException:\n    pass\n")
    assert "TS020" in "".join(left())

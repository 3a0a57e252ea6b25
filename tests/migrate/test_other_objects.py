"""A variable that may be a context or an object of the user keeps a method ``run``."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import run
from tritonclient_shim.cli import main

_FAKE = """
class Fake:
    def run(self, inputs, outputs):
        return {"OUTPUT0": [inputs["INPUT0"][0] * 3]}
"""
_START = """import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType
{fake}
row = np.arange(16, dtype=np.int32)

def show(ctx):
    inputs = {{"INPUT0": [row], "INPUT1": [row]}}
    print(ctx.run(inputs, {{"OUTPUT0": InferContext.ResultFormat.RAW}})["OUTPUT0"][0].sum())

def connect():
    return InferContext(sys.argv[1], ProtocolType.GRPC, "simple")

"""
#: Ways in which an expression is a context first, and another object then.
WAYS = {
    "list": "for ctx in [connect(), Fake()]:\n    show(ctx)\n",
    "argument": "show(connect())\nshow(Fake())\n",
    "dict": "for ctx in {'a': connect(), 'b': Fake()}.values():\n    show(ctx)\n",
    "append": "all = [Fake()]\nall.append(connect())\nfor ctx in all:\n    show(ctx)\n",
    "choice": "for n in range(2):\n    show(connect() if n else Fake())\n",
    "or": "for made in (None, Fake()):\n    show(made or connect())\n",
    "loop": (
        "for n in range(2):\n    ctx = Fake()\n    if n:\n        ctx = connect()\n    show(ctx)\n"
    ),
    "result": (
        "def pick(n):\n    if n:\n        return connect()\n    return Fake()\n\n"
        "for n in range(2):\n    show(pick(n))\n"
    ),
}


def test_context_or_an_object_of_the_file(triton: TritonServer, tmp_path: Path) -> None:
    """A program does as before if a variable has contexts and objects of its own class."""
    _same({"script.py": _START.format(fake=_FAKE) + WAYS["list"]}, triton, tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_context_or_an_imported_object(way: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program does as before if a variable has contexts and objects of an imported class."""
    script = _START.format(fake="from fakes import Fake\n") + WAYS[way]
    _same({"script.py": script, "fakes.py": _FAKE}, triton, tmp_path)


_MODELS = """
class Model:
    def async_run(self, x, i):
        if i:
            raise ValueError(f"no {i}")
        return x

    def get_stat(self):
        return {"n": 1}
"""
_USE = """
def use(model, x, i):
    try:
        kept = model.async_run(x, i)
        print(model.get_stat())
    except ValueError as error:
        print(error)
"""
_REQUEST = """
ctx = connect()
show(ctx)
use(Model(), "a", 0)
use(Model(), "a", 1)
"""


@pytest.mark.parametrize("place", ["script", "other file", "imported object"])
def test_own_methods_with_names_of_v1(place: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program does as before if its own class has methods with the names of v1's."""
    start = _START.format(fake="from models import Model")
    files = {"script.py": f"{start}{_USE}{_REQUEST}", "models.py": _MODELS}
    if place == "other file":
        files["users.py"] = f"from tensorrtserver.api import InferContext\n{_USE}"
        files["script.py"] = f"from users import use\n{start}{_REQUEST}"
    if place == "imported object":
        files["models.py"] = f"{_MODELS}model = Model()\n"
        files["script.py"] = f"{start}{_USE}{_REQUEST}".replace("Model()", "models.model")
        files["script.py"] = f"import models\n{files['script.py']}"
    _same(files, triton, tmp_path)


def _same(files: dict[str, str], server: TritonServer, folder: Path) -> None:
    """Migrate a program with and without --unsafe. It prints before and after equal output."""
    for name, text in files.items():
        (folder / name).write_text(text)
    before = run(folder / "script.py", server.grpc)
    assert before.status == 0, before.output
    for options in ([], ["--unsafe"]):
        for name, text in files.items():
            (folder / name).write_text(text)
        main(["migrate", "--write", *options, str(folder)])
        assert run(folder / "script.py", server.grpc) == before

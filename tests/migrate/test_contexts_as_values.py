"""Contexts that functions, properties and containers hand on, and their classes in annotations."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, migrated, run, todo, write

CLIENT = 'grpcclient.InferenceServerClient("u")'


def test_annotation_of_a_context_that_stays() -> None:
    """Where a context stays its class stays in annotations, too."""
    source = (
        f'{STAR}def f(c: InferContext):\n    c.run(i, o)\nctx = InferContext("u", 1, "m")\n'
        "f(ctx)\nhand_over(ctx)\n"
    )
    found = migrated(source)
    assert "2:TS050" in todo(found)
    assert "def f(c: InferContext):" in found.after.decode()


def test_property_that_nothing_reads() -> None:
    """What only other files can read of an object stays a context."""
    source = (
        'class A:\n    @property\n    def ctx(self):\n        return InferContext("u", 1, "m")\n'
    )
    assert "5:TS050" in todo(migrated(STAR + source))


def test_class_as_a_value() -> None:
    """A class that is handed on, and is no annotation, keeps its contexts as they are."""
    source = (
        f'{STAR}c = InferContext("u", 1, "m")\nc.run(i, o)\nprint(isinstance(x, InferContext))\n'
    )
    assert {"2:TS050", "3:TS051", "4:TS050"} <= set(todo(migrated(source)))


PROGRAM = """import sys
from functools import lru_cache
from typing import Dict
from tensorrtserver.api import *


@lru_cache(maxsize=None)
def context_for(url: str, protocol: ProtocolType, model: str) -> InferContext:
    return InferContext(url, protocol, model)


class Models:
    def __init__(self, url: str, protocol: ProtocolType) -> None:
        self.every: Dict[str, InferContext] = {}
        self.url, self.protocol = url, protocol

    def __getitem__(self, name: str) -> InferContext:
        if name not in self.every:
            self.every[name] = context_for(self.url, self.protocol, name)
            setattr(self, "of_" + name, self.every[name])
        return self.every[name]

    @property
    def first(self) -> InferContext:
        return self["simple"]


models = Models(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
row = np.arange(16, dtype=np.int32)
RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
print(models.first.run({"INPUT0": [row], "INPUT1": [row]}, RAW))
print(models["multi_version"].run({"INPUT0": [np.zeros(1, np.float32)]}, RAW))
print(len(models.every), models.first is models["simple"], hasattr(models, "of_simple"))
"""


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_same_on_a_server(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program with factories, properties and containers prints the same when it is migrated."""
    script = tmp_path / "script.py"
    url = triton.url(to == "grpc")
    script.write_text(PROGRAM)
    before = run(script, url, to)
    found = migrated(PROGRAM, to)
    assert todo(found) == []
    write(found, script)
    assert run(script, url, to) == before
    assert before.status == 0, before.output


@pytest.mark.parametrize(
    "calls",
    ["", "make(**settings).run(i, o)\n", "make('m', u).run(i, o)\nmake('n').run(i, o)\n"],
    ids=["no call", "a dict of another place", "more arguments and fewer"],
)
def test_arguments_of_unknown_calls(calls: str) -> None:
    """Where the file does not tell what a function hands on the context stays."""
    source = f"def make(*a, **k):\n    return InferContext('u', 1, *a, **k)\n{calls}"
    assert "3:TS050" in todo(migrated(STAR + source))


def test_keywords_that_no_call_gives() -> None:
    """A function that the file does not call may get any keywords from other files."""
    source = "def f(**k):\n    c = InferContext('u', 1, 'm', **k)\n    return c.run(i, o)\n"
    assert "3:TS050" in todo(migrated(STAR + source))


def test_keywords_of_other_files() -> None:
    """Other files may call a function with other keywords, so that it takes --unsafe."""
    source = (
        "def f(**k):\n    c = InferContext('u', 1, 'm', **k)\n    return c.run(i, o)\n"
        "f(verbose=True)\n"
    )
    assert todo(migrated(STAR + source)) == []
    found = migrated(STAR + source, unsafe=False)
    reasons = {row.entry.id: outcome.what for row, outcome in found.uses}
    assert reasons["TS050"] == (
        "unsafe: calls in other files may hand on other arguments; --unsafe rewrites it"
    )

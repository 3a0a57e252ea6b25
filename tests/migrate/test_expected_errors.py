"""Errors that a program expects of a context go on being raised where it waits for them."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import STAR
from tritonclient_shim.rewrite.files import migrate
from tritonclient_shim.rewrite.options import MigrateOptions

_MADE = 'InferContext("u", ProtocolType.GRPC, name)'
_MAKE = f"def make(name):\n    c = {_MADE}\n    return c\n"
_SIMPLE = {
    "max_batch_size": 8,
    "input": [{"name": "A", "dims": ["4"], "data_type": "TYPE_INT32"}],
}
_REQUEST = (
    'def ask(ctx, row):\n    r = ctx.run({"A": [row]}, {"B": InferContext.ResultFormat.RAW})\n'
    '    return r["B"]\nctx = InferContext("u", ProtocolType.GRPC, "m")\n'
)


def _migrated(source: str) -> str:
    options = MigrateOptions(unsafe=True, configs={"m": _SIMPLE})
    return migrate("script.py", (STAR + source).encode(), options).after.decode()


def _tried(body: str, caught: str = "InferenceServerException") -> str:
    return f"try:\n    {body}\nexcept {caught}:\n    print('refused')\n"


@pytest.mark.parametrize(
    "source",
    [
        _MAKE + _tried("make(n).run(a, b)"),
        f"{_MAKE}def ask(n):\n    return make(n).run(a, b)\n" + _tried("ask(n)", "Exception"),
        "@contextmanager\ndef model(name):\n"
        f"    c = {_MADE}\n    try:\n        yield c\n    finally:\n        c.close()\n"
        + _tried("with model(n) as c:\n        pass"),
        f"class A:\n    def __init__(self, name):\n        self.c = {_MADE}\n" + _tried("a = A(n)"),
        "def retry(f):\n    def inner(*args):\n        try:\n            return f(*args)\n"
        "        except InferenceServerException:\n            return None\n    return inner\n"
        f"@retry\ndef make(name):\n    c = {_MADE}\n    return c.run(a, b)\nmake(n)\n",
        f"class A:\n    @property\n    def c(self):\n        c = {_MADE}\n        return c\n"
        + _tried("A().c.run(a, b)"),
    ],
    ids=["function", "function of a function", "generator", "class", "decorator", "property"],
)
def test_error_of_the_constructor(source: str) -> None:
    """The model is asked for where a function that a try calls made a context."""
    assert "check_model(" in _migrated(f"from contextlib import contextmanager\n{source}")


@pytest.mark.parametrize(
    "source",
    [
        f"{_MAKE}make(n).run(a, b)\n" + _tried("other()"),
        f"def make(name):\n    c = {_MADE}\n    return c\n"
        + _tried("make(n).run(a, b)", "KeyError"),
    ],
    ids=["not called", "another error"],
)
def test_error_that_nothing_waits_for(source: str) -> None:
    """A context that no try makes asks for no model."""
    assert "check_model(" not in _migrated(source)


def test_error_of_an_array_of_another_size() -> None:
    """Where the error of a request is waited for, an array that does not fit raises the same."""
    assert "run_model(ctx" in _migrated(_REQUEST + _tried("ask(ctx, row)"))
    assert "ctx.infer(" in _migrated(f"{_REQUEST}ask(ctx, row)\n")
    assert "ctx.infer(" in _migrated(_REQUEST + _tried("ask(ctx, row)", "Exception"))

"""Contexts in functions, containers and other files, and classes derived from contexts."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR, body, migrated, todo

_OBJECT = 'ctx = GrpcModel("localhost:8001", "grpc", "simple")\n'
_RUN = "ctx.run(i, o)\n"


@pytest.mark.parametrize(
    "use",
    [
        "handler(ctx)\n",
        "x = ctx.run\n",
        "def f():\n    return ctx\n",
        "print(isinstance(x, InferContext))\n",
        "def g(c: InferContext):\n    c.run(i, o)\n",
    ],
)
def test_context_that_escapes_becomes_an_object(use: str) -> None:
    """A context that reaches other code becomes an object. Without --unsafe it stays."""
    migration = migrated(STAR + CONTEXT + _RUN + use)
    assert todo(migration) == []
    assert _OBJECT + _RUN in migration.after.decode()
    assert "2:TS050" in todo(migrated(STAR + CONTEXT + _RUN + use, unsafe=False))


@pytest.mark.parametrize(
    "arguments", ["*row", "**settings", "u, 1, **more", "u, protocol=p(), model_name=f(x)"]
)
def test_arguments_that_are_not_seen(arguments: str) -> None:
    """A constructor keeps arguments that the file hides."""
    source = f"c = InferContext({arguments})\nc.run(i, o)\n"
    assert f"Model({arguments})" in body(source)


def test_class_derived_from_a_context() -> None:
    """A class derived from a context derives from the object's class. Without --unsafe it stays."""
    source = (
        "class A(InferContext):\n    def __init__(self, u):\n"
        "        InferContext.__init__(self, u, 1, 'm')\n"
        "    def ask(self):\n        return self.run(i, {'O': InferContext.ResultFormat.RAW})\n"
        "    def close(self):\n        InferContext.close(self)\n"
        "p = ProtocolType.from_str(t)\nA(p).ask()\n"
    )
    assert todo(migrated(STAR + source)) == []
    text = body(source)
    assert "InferContext" not in text
    assert "class A(InferModel):" in text
    safe = migrated(STAR + source, unsafe=False)
    assert {"2:TS050", "4:TS050"} <= set(todo(safe))
    assert "ProtocolType.from_str" in safe.after.decode()  # v1's class takes its numbers

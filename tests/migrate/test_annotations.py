"""The class of a context in an annotation becomes the class of what the context becomes."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import STAR, migrated, todo

_CONTEXT = "InferContext('u', ProtocolType.GRPC, 'm')"
_RUN = "ctx.run({'A': [x]}, {'B': InferContext.ResultFormat.RAW})"
_CALLED = f"\nprint(predict({_CONTEXT}))\n"
_CLIENT = "grpcclient.InferenceServerClient"
#: Sources with an annotation → what the annotation becomes.
KNOWN = {
    "parameter": (
        f"def predict(ctx: InferContext):\n    return {_RUN}{_CALLED}",
        f"ctx: {_CLIENT}",
    ),
    "text": (f"def predict(ctx: 'InferContext'):\n    return {_RUN}{_CALLED}", f"ctx: {_CLIENT}"),
    "None": (
        f"def predict(ctx: Optional[InferContext] = None):\n    return {_RUN}{_CALLED}",
        f"ctx: Optional[{_CLIENT}]",
    ),
    "choice": (
        f"def predict(ctx: InferContext | None):\n    return {_RUN}{_CALLED}",
        f"ctx: {_CLIENT} | None",
    ),
    "result": (
        f"def make() -> InferContext:\n    return {_CONTEXT}\nctx = make()\n{_RUN}\n",
        _CLIENT,
    ),
    "variable": (f"ctx: InferContext = {_CONTEXT}\n{_RUN}\n", f"ctx: {_CLIENT}"),
    "attribute": (
        f"class A:\n    def __init__(self):\n        self.ctx: InferContext = {_CONTEXT}\n"
        f"    def ask(self):\n        return self.{_RUN}\nA().ask()\n",
        f"self.ctx: {_CLIENT}",
    ),
    "another class": (
        "def ask(health: ServerHealthContext):\n    return health.is_live()\n"
        "print(ask(ServerHealthContext('u', ProtocolType.HTTP)))\n",
        "health: httpclient.InferenceServerClient",
    ),
}
#: Sources with an annotation of what may be another object, or have a client of either protocol.
UNKNOWN = {
    "not called": f"def predict(ctx: InferContext):\n    return {_RUN}\n",
    "called with another": (
        f"def predict(ctx: InferContext):\n    return {_RUN}\npredict(y){_CALLED}"
    ),
    "chosen protocol": f"def predict(ctx: InferContext):\n    return {_RUN}{_CALLED}".replace(
        "ProtocolType.GRPC", "ProtocolType.from_str(z)"
    ),
    "list": (
        f"def predict(all: List[InferContext]):\n    ctx = all[0]\n    {_RUN}\n"
        f"predict([{_CONTEXT}])"
    ),
    "decorated": f"@inject\ndef predict(ctx: InferContext):\n    return {_RUN}{_CALLED}",
}


@pytest.mark.parametrize("name", KNOWN)
def test_annotation_of_a_known_context(name: str) -> None:
    """The annotation of a context that the file follows is rewritten with the context."""
    source, annotation = KNOWN[name]
    migration = migrated(STAR + source, unsafe=False)
    assert todo(migration) == []
    text = migration.after.decode()
    assert annotation in text
    assert "InferContext" not in text and "ServerHealthContext" not in text


@pytest.mark.parametrize("name", UNKNOWN)
def test_annotation_of_unknown_objects(name: str) -> None:
    """An annotation of what may be no context of the file needs --unsafe."""
    assert "TS050" in "".join(todo(migrated(STAR + UNKNOWN[name], unsafe=False)))


def test_annotation_of_an_object() -> None:
    """The annotation names InferModel where that is what the context becomes."""
    source = f"def predict(ctx: InferContext):\n    print(ctx.get_stat())\n    {_RUN}{_CALLED}"
    migration = migrated(STAR + source)
    assert todo(migration) == []
    assert "ctx: InferModel" in migration.after.decode()


def test_annotation_of_a_context_that_stays() -> None:
    """The annotation of a context that stays has the reason of the context."""
    source = f"def predict(ctx: InferContext):\n    show(f'{{ctx}}')\n    {_RUN}{_CALLED}"
    migration = migrated(STAR + source, unsafe=False)
    assert "ctx: InferContext" in migration.after.decode()
    outcomes = [outcome for row, outcome in migration.uses if row.line == 2]
    assert outcomes and all(outcome.what.startswith("stays because") for outcome in outcomes)

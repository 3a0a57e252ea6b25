"""Contexts that are pickled or copied, and passed to other processes."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import (
    InferContext,
    ModelControlContext,
    ModelRepositoryContext,
    ServerHealthContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tritonclient_shim import testing

RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
MESSAGE = "an open {} can be neither pickled nor copied: .* hand over its url, protocol and model"


@testing.model(inputs=[("INPUT0", "INT32", [1])], outputs=[("OUTPUT0", "INT32", [1])])
def identity(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the input."""
    return {"OUTPUT0": inputs["INPUT0"]}


@pytest.fixture
def url() -> Iterator[str]:
    """Return the HTTP address of a server in this process."""
    with testing.server(identity=identity) as server:
        yield server.http


@pytest.fixture
def context(url: str) -> Iterator[InferContext]:
    """Yield a context of the model."""
    with InferContext(url, 0, "identity") as opened:
        yield opened


class Reopening(InferContext):
    """A user's context class that is made anew when unpickled, as with v1."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.arguments = arguments

    def __getstate__(self) -> dict[str, Any]:
        return {"arguments": self.arguments}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["arguments"])  # type: ignore[misc]


def right(context: InferContext) -> bool:
    """True if the context answers."""
    result: Any = context.run({"INPUT0": [np.array([7], np.int32)]}, RAW)
    return bool(result["OUTPUT0"][0][0] == 7)


WAYS: dict[str, Callable[[Any], object]] = {
    **{f"protocol {n}": partial(pickle.dumps, protocol=n) for n in range(6)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_open_context_stays(context: InferContext, way: str) -> None:
    """Pickling and copying a context raise what to pass instead; the context works on."""
    with pytest.raises(ValueError, match=MESSAGE.format("InferContext")):
        WAYS[way](context)
    assert right(context)


KINDS = (ModelControlContext, ModelRepositoryContext, ServerHealthContext, ServerStatusContext)


@pytest.mark.parametrize("kind", [*KINDS, SharedMemoryControlContext])
def test_each_kind_says_its_name(url: str, kind: Any) -> None:
    """The contexts that do no inference refuse alike."""
    with kind(url, 0) as opened, pytest.raises(ValueError, match=MESSAGE.format(kind.__name__)):
        pickle.dumps(opened)


def test_a_subclass_may_have_a_state_of_its_own(url: str) -> None:
    """A user's class that can make its context again is pickled and copied."""
    with Reopening(url, 0, "identity") as opened:
        with pickle.loads(pickle.dumps(opened)) as other:
            assert right(other)
        assert right(opened)

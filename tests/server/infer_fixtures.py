"""Fixtures of the tests of InferContext; a module takes them with ``pytest_plugins``."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import InferContext

Connect = Callable[..., InferContext]


@pytest.fixture
def connect(url: str, protocol: int) -> Iterator[Connect]:
    """Opens InferContexts on the session's server over the protocol; closes them at teardown."""
    with contextlib.ExitStack() as opened:

        def connect(model: Any, *args: Any, **kwargs: Any) -> InferContext:
            return opened.enter_context(InferContext(url, protocol, model, *args, **kwargs))

        yield connect


@pytest.fixture
def stream(triton: Any) -> Iterator[Connect]:
    """Opens streaming InferContexts on the session's server; closes them at teardown."""
    with contextlib.ExitStack() as opened:

        def stream(model: Any, correlation_id: Any = 0, **kwargs: Any) -> InferContext:
            context = InferContext(
                triton.grpc, 1, model, correlation_id=correlation_id, streaming=True, **kwargs
            )
            return opened.enter_context(context)

        yield stream

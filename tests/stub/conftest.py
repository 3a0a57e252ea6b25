"""A raw stub on a channel of its own."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from testbed import TritonServer
from tests.stub.stub_cases import join_threads, stub_at


@pytest.fixture
def stub(triton: TritonServer) -> Iterator[Any]:
    """Yield a raw stub on a channel of its own.

    Check at teardown that none of its threads is left.
    """
    with stub_at(triton.grpc) as stub:
        yield stub
    assert not join_threads()

"""The number of our functions and files that one small inference passes."""

from __future__ import annotations

import pytest

from benchmarks.trace import trace_of_run
from testbed import TritonServer

#: The highest counts of functions and files, by protocol.
LIMITS = {0: (34, 11), 1: (28, 10)}


@pytest.mark.parametrize("protocol", LIMITS)
def test_path_length(triton: TritonServer, protocol: int) -> None:
    """A repeated run passes no more functions and files than a reader follows once."""
    trace = trace_of_run(triton.url(protocol), protocol)
    functions, files = LIMITS[protocol]
    assert 0 < len(trace.functions) <= functions, trace.functions
    assert trace.files <= files

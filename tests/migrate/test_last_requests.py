"""What a context tells of its requests, migrated."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import CONTEXT, STAR, migrated, run, todo, write


def test_correlation_id_given_to_a_request() -> None:
    """An id that a request changes is not what the context was made with."""
    found = migrated(f"{STAR}{CONTEXT}ctx.run(i, o, corr_id=5)\nprint(ctx.correlation_id())\n")
    assert "4:TS058" in todo(found)
    assert "a request gives another one" in found.after.decode()


@pytest.mark.parametrize("key", ["cumulative_send_time_ns", "cumulative_receive_time_ns"])
def test_times_that_no_client_tells(key: str) -> None:
    """Where a program reads times that cannot be measured, it stays as it is."""
    found = migrated(f"{STAR}{CONTEXT}ctx.run(i, o)\nprint(ctx.get_stat()['{key}'])\n")
    assert "4:TS057" in todo(found)


PROGRAM = """import sys
from tensorrtserver.api import *

protocol = ProtocolType.from_str(sys.argv[2])
ctx = InferContext(sys.argv[1], protocol, "simple", correlation_id=12)
other = InferContext(sys.argv[1], protocol, "multi_version", 2)
print(ctx.get_last_request_model_name(), ctx.get_last_request_model_version())
row = np.arange(16, dtype=np.int32)
for _ in range(3):
    ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
other.run({"INPUT0": [np.zeros(1, np.float32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
for one in (ctx, other):
    print(one.get_last_request_model_name(), one.get_last_request_model_version())
    stat = one.get_stat()
    print(stat["completed_request_count"], stat["cumulative_total_request_time_ns"] > 0)
first = ctx.get_last_request_id()
print(first < other.get_last_request_id(), ctx.correlation_id(), other.correlation_id())
try:
    ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"nothing": InferContext.ResultFormat.RAW})
except InferenceServerException:
    print(ctx.get_last_request_model_name(), ctx.get_stat()["completed_request_count"])
"""


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_same_on_a_server(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """A migrated program tells the same of its requests, before, after and when one failed."""
    script = tmp_path / "script.py"
    url = triton.url(to == "grpc")
    script.write_text(PROGRAM)
    before = run(script, url, to)
    found = migrated(PROGRAM, to)
    assert todo(found) == []
    write(found, script)
    assert run(script, url, to) == before
    assert before.status == 0, before.output

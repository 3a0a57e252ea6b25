"""Uses in callbacks and streams count at the callback's lines, on a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed import TritonServer
from tests.cli.cli_scripts import python
from tritonclient_shim.registry import ENTRIES

SCRIPT = """\
from tensorrtserver.api import *
done = threading.Event()
row = [np.zeros(16, np.int32)]
arguments = ({{"INPUT0": row, "INPUT1": row}}, {{"OUTPUT0": InferContext.ResultFormat.RAW}})
def finished(context, request_id):
    context.get_async_run_results(request_id)
    context.get_last_request_id()
    done.set()
context = InferContext("{url}", {protocol}, "simple", None, False, 0, {protocol} == 1)
context.async_run(finished, *arguments)
done.wait(30)
context.async_run_with_cb(partial(finished), *arguments, batch_size=1, flags=0)
id = context.async_run(*arguments)
context.get_async_run_results(id, True)
context.run(*arguments)
context.close()
"""


@pytest.mark.parametrize("protocol", [0, 1])
def test_each_use_at_its_own_line(triton: TritonServer, tmp_path: Path, protocol: int) -> None:
    """Calls of a callback count at the callback's lines. Each style has an id."""
    (tmp_path / "script.py").write_text(SCRIPT.format(url=triton.url(protocol), protocol=protocol))
    done = python(tmp_path, "script.py", TRITON_SHIM_REPORT="usage.json")
    assert done.returncode == 0, done.stderr
    uses = json.loads((tmp_path / "usage.json").read_text("utf-8"))["uses"]
    assert {use["file"] for use in uses} == {"script.py"}
    counted = {(use["line"], use["id"]) for use in uses if ENTRIES[use["id"]].counted}
    assert {line for line, id in counted if id == "TS055"} == {6, 14}
    assert counted >= {(7, "TS059"), (9, "TS050"), (10, "TS052"), (12, "TS054"), (13, "TS053")}
    assert (15, "TS051") in counted
    patterns = {(use["line"], use["id"]) for use in uses} - counted
    streaming = {(9, "TS104")} if protocol else set()
    assert patterns == {(14, "TS116"), *streaming, *((line, "TS062") for line in (10, 12, 13, 15))}

"""Arrays that v1 refused are refused by migrated programs, with the error that programs catch."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import run, todo, write
from tritonclient_shim.cli._models import models_of
from tritonclient_shim.migrate.files import migrate
from tritonclient_shim.migrate.options import MigrateOptions

_SOURCE = """import sys
import numpy as np
from tensorrtserver.api import *

row = np.arange(16, dtype=np.int32)
rows = {{
{rows}}}
ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "{model}")
for name, batch in rows.items():
    try:
        result = ctx.run(
            {{"INPUT0": batch, "INPUT1": [row] * {size}}},
            {{"OUTPUT0": InferContext.ResultFormat.RAW}},
            {size},
        )
        print(name, [array.tolist() for array in result["OUTPUT0"]])
    except InferenceServerException:
        print(name, "refused")
"""
_OF_ONE_ROW = """
    "right": [row],
    "tuple": (row,),
    "short": [row[:8]],
    "deep": [row.reshape(1, 16)],
    "square": [row.reshape(4, 4)],
    "wide": [row.astype(np.int64)],
    "bytes": [row.astype("S")],
    "objects": [row.astype(object)],
    "truths": [row.astype(bool)],
    "number": [np.array(3, np.int32)],
"""
_OF_TWO_ROWS = """
    "halves": [row[:8], row[8:]],
    "unequal": [row[:8], np.arange(24, dtype=np.int32)],
"""
#: What only `infer` with the check of arrays takes as v1 did.
_ODD = """
    "bare": row,
    "batch": row.reshape(1, 16),
    "None": None,
    "list": [list(range(16))],
    "nothing": [None],
    "big-endian": [row.astype(">i4")],
    "strided": [np.repeat(row, 2)[::2]],
    "floats": [row.astype(np.float32)],
    "dates": [row.astype("datetime64[s]")],
    "complex": [row.astype(np.complex64)],
    "structures": [np.zeros(16, [("x", "i4")])],
"""


def _same(source: str, options: MigrateOptions, server: TritonServer, folder: Path) -> str:
    """Migrate a program. It prints before and after equal output. Return its new text."""
    script, arguments = folder / "script.py", (server.url(options.to), options.to)
    script.write_text(source)
    before = run(script, *arguments)
    assert before.status == 0, before.output
    migration = migrate("script.py", script.read_bytes(), options)
    assert todo(migration) == []
    write(migration, script)
    assert run(script, *arguments) == before
    return migration.after.decode()


@pytest.mark.parametrize("model", ["simple", "simple_nobatch"])
@pytest.mark.parametrize("to", ["grpc", "http"])
def test_safe(to: str, model: str, triton: TritonServer, tmp_path: Path) -> None:
    """Without ``--unsafe``, arrays are accepted and refused as v1 did."""
    rows = _OF_ONE_ROW + _ODD
    _same(_SOURCE.format(rows=rows, model=model, size=1), MigrateOptions(to), triton, tmp_path)
    if model == "simple":
        rows = _OF_TWO_ROWS + '    "right": [row, row.reshape(4, 4)],\n'
        source = _SOURCE.format(rows=rows, model=model, size=2)
        _same(source, MigrateOptions(to), triton, tmp_path)


#: What is neither a list of arrays, nor a region, nor a region with a shape.
_NO_INPUTS = """
    "region in a list": [handle],
    "region alone in a tuple": (handle,),
    "region and an array": (handle, row),
    "two regions": (handle, handle),
    "region": handle,
    "region and its shape": (handle, [16]),
    "region and another shape": (handle, [8]),
"""
_REGION = """
import tensorrtserver.shared_memory as shm

regions = SharedMemoryControlContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
handle = shm.create_shared_memory_region("{name}", "/{name}", 64)
shm.set_shared_memory_region(handle, [np.arange(16, dtype=np.int32)])
regions.register(handle)
"""
_END = """
try:
    ctx.run({"INPUT0": handle, "INPUT2": handle}, {"OUTPUT0": InferContext.ResultFormat.RAW})
except InferenceServerException:
    print("unknown input refused")
regions.unregister(handle)
shm.destroy_shared_memory_region(handle)
"""


@pytest.mark.parametrize("model", ["simple", "simple_nobatch"])
@pytest.mark.parametrize("to", ["grpc", "http"])
def test_arrays_beside_regions(to: str, model: str, triton: TritonServer, tmp_path: Path) -> None:
    """In a request with shared memory, arrays are accepted and refused as v1 did."""
    source = _SOURCE.format(rows=_OF_ONE_ROW + _ODD + _NO_INPUTS, model=model, size=1)
    source = source.replace('"INPUT1": [row] * 1', '"INPUT1": handle')
    source = source.replace("\nrow = ", f"{_REGION.format(name=uuid4())}\nrow = ", 1)
    _same(source + _END, MigrateOptions(to), triton, tmp_path)


@pytest.mark.parametrize("model", ["simple", "simple_nobatch"])
@pytest.mark.parametrize("to", ["grpc", "http"])
def test_lines_of_tritonclient(to: str, model: str, triton: TritonServer, tmp_path: Path) -> None:
    """In tritonclient's own lines, arrays of another shape are refused with the caught error."""
    options = MigrateOptions(to, unsafe=True, models=models_of(triton.url(to)))
    source = _SOURCE.format(rows=_OF_ONE_ROW, model=model, size=1)
    assert "InferInput(" in _same(source, options, triton, tmp_path)
    if model == "simple":
        source = _SOURCE.format(rows=_OF_TWO_ROWS, model=model, size=2)
        assert "stacked(batch)" in _same(source, options, triton, tmp_path)

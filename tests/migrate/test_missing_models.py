"""A context of a model that the server lacks fails where v1's constructor failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import run
from tritonclient_shim.cli import main

_START = """import sys
import numpy as np
from tensorrtserver.api import *

row = np.arange(16, dtype=np.int32)
inputs = {"INPUT0": [row], "INPUT1": [row]}

"""
_CONTEXT = "InferContext(sys.argv[1], ProtocolType.HTTP, name)"
_FOR = "for name in 'simple', 'missing':\n    print(is_there(name))\n"
WAYS = {
    "variable": f"""
ctx = None
name = "missing"
try:
    try:
        ctx = {_CONTEXT}
        print(ctx.run(inputs, {{"OUTPUT0": InferContext.ResultFormat.RAW}})["OUTPUT0"][0].sum())
    finally:
        if ctx is not None:
            print("closed")
            ctx.close()
except InferenceServerException:
    print("missing")
""",
    "loop": f"""
ctx = None
for name in "missing", "simple":
    try:
        ctx = {_CONTEXT}
    except InferenceServerException:
        print("missing")
print(ctx is None)
ctx.close()
""",
    "closed": f"""
def is_there(name):
    try:
        {_CONTEXT}.close()
    except InferenceServerException:
        return False
    return True

{_FOR}""",
    "with": f"""
def is_there(name):
    try:
        with {_CONTEXT}:
            return True
    except InferenceServerException:
        return False

{_FOR}""",
    "result": f"""
def connect(name):
    return {_CONTEXT}

def is_there(name):
    try:
        connect(name).close()
    except Exception:
        return False
    return True

{_FOR}""",
    "no handler": f"""
for name in "simple", "missing":
    ctx = {_CONTEXT}
    ctx.close()
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_missing_model(way: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program that looks if a model is there prints before and after equal output."""
    script = tmp_path / "script.py"
    for options in ([], ["--unsafe"]):
        script.write_text(_START + WAYS[way])
        before = run(script, triton.http)
        main(["migrate", "--write", *options, str(script)])
        after = run(script, triton.http)
        assert after.status == before.status, after.output
        assert after.status or after == before

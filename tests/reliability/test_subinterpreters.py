"""Subinterpreters: the import is refused with a clear text, and the main interpreter goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.own_interpreter import run_program

#: A subinterpreter that imports a module of the package and reports the outcome.
PROGRAM = """
import os, sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import numpy as np
if sys.argv[4] == 'used before':
    from tensorrtserver.api import *
run = getattr(interpreters, 'exec', None) or interpreters.run_string
text = '''
try:
    import {module}
    outcome = 'imported'
except ImportError as error:
    outcome = str(error)
import os
os.write(1, outcome.encode())
'''
second = interpreters.create()
run(second, text.format(module=sys.argv[3]))
interpreters.destroy(second)
from tensorrtserver.api import *
a = np.arange(16, dtype=np.int32)
with InferContext(sys.argv[1], int(sys.argv[2]), 'simple') as context:
    found = context.run({'INPUT0': [a], 'INPUT1': [a]}, {'OUTPUT0': InferContext.ResultFormat.RAW})
assert found['OUTPUT0'][0].tolist() == (a * 2).tolist()
sys.exit(3)
"""
REFUSAL = (
    "tensorrtserver was imported in a subinterpreter, where NumPy, protobuf and gRPC do not work; "
    "expected the main interpreter; use threads or processes instead, and under mod_wsgi "
    "`WSGIApplicationGroup %{GLOBAL}`"
)


@pytest.mark.parametrize("moment", ["used before", "not used before"])
def test_refused(moment: str, triton: Any, protocol: int) -> None:
    """A subinterpreter's import says what to do. Nothing hangs, and contexts work afterwards."""
    module = ("tensorrtserver.api", "tensorrtserver.shared_memory")[protocol]
    arguments = (triton.url(protocol), protocol, module, moment)
    assert run_program(PROGRAM, *arguments) == (3, REFUSAL, "")

"""Usage patterns: imports, arguments of calls, and names that Python or NumPy have removed.

``PARAMETERS`` and ``ARGUMENT_PATTERNS`` say which arguments show a pattern. Notices read them for
a call that runs, ``scan`` for a call in a source.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tritonclient_shim.registry.entry import ARGUMENT, IMPORT, REMOVED, entry, of_api

_import = partial(entry, kind=IMPORT)
_argument = partial(of_api, kind=ARGUMENT)
_removed = partial(entry, kind=REMOVED)

# fmt: off
ENTRIES = (
    _import("TS001", "from tensorrtserver.api import *", "Imports",
            "import tritonclient.grpc as grpcclient, or tritonclient.http as httpclient",
            pytriton="from pytriton.client import ModelClient"),
    _import("TS002", "names taken from the star import (np, sys, os, struct, ctypes' names, ...)",
            "Imports",
            "an import of their own", pytriton="an import of their own"),
    _import("TS009", "import of tensorrtserver", "Imports",
            "import tritonclient.grpc as grpcclient, or tritonclient.http as httpclient",
            pytriton="from pytriton.client import ModelClient"),
    _argument("TS101", "*Context(url with a scheme)", "Connections",
              "InferenceServerClient(host:port, ssl=True for https or grpcs)",
              pytriton="the scheme stays: grpc:// or http://"),
    _argument("TS102", "*Context(http_headers=)", "Connections",
              "headers={name: value} of every call: gRPC metadata",
              "headers={name: value} of every call",
              "headers={name: value} of infer_sample and infer_batch"),
    _argument("TS103", "*Context(verbose=)", "Connections",
              "InferenceServerClient(url, verbose=True)"),
    _argument("TS104", "InferContext(streaming=)", "Streams",
              "client.start_stream(callback), then client.async_stream_infer(...)",
              "none: streams are gRPC's", "DecoupledModelClient, for decoupled models alone"),
    _argument("TS105", "InferContext(correlation_id=)", "Sequences",
              "infer(..., sequence_id=...) with every request"),
    _argument("TS106", "InferContext(model_version=)", "Model versions",
              "infer(..., model_version=str(version)); '' is the latest",
              pytriton="ModelClient(url, model_name, model_version=str(version))"),
    _argument("TS109", "InferContext.run(batch_size=)", "Batches",
              "the first dimension of every shape", pytriton="the first dimension of every array"),
    _argument("TS110", "InferContext.run(flags=)", "Sequences",
              "infer(..., sequence_start=True, sequence_end=True)"),
    _argument("TS111", "InferContext.run(corr_id=)", "Sequences",
              "infer(..., sequence_id=...) with every request"),
    _argument("TS112", "InferContext.run(priority=)", "Priority and time limit",
              "infer(..., priority=...)"),
    _argument("TS113", "InferContext.run(timeout_us=)", "Priority and time limit",
              "infer(..., timeout=...), in microseconds"),
    _argument("TS114", "InferContext.run(shared-memory handle as input)", "System shared memory",
              "infer_input.set_shared_memory(name, byte_size)"),
    _argument("TS115", "InferContext.run((RAW, handle) as output)", "System shared memory",
              "requested_output.set_shared_memory(name, byte_size)", shows="RAW, region)"),
    _argument("TS116", "InferContext.get_async_run_results(wait)",
              "Asynchronous requests with ids",
              "nothing to wait with: the callback says when",
              "get_result(block=...) of what async_infer returned", "future.result(timeout)",
              since="1.8", shows="get_async_run_results(id, True)"),
    _removed("TS201",
             "numpy.object, numpy.bool, numpy.int, numpy.float, numpy.str, numpy.sctypes, ...",
             "What Python and NumPy removed",
             "object, bool, int, float, str: Python's own",
             pytriton="object, bool, int, float, str: Python's own", since="NumPy 1.20"),
    _removed("TS202", "an attribute, argument or variable named async",
             "What Python and NumPy removed",
             "another name, such as async_set; argparse: dest='async_set'",
             pytriton="another name, such as async_set; argparse: dest='async_set'",
             since="Python 3.7"),
    _removed("TS203", "future.utils", "What Python and NumPy removed",
             "Python 3 itself: mapping.items()", pytriton="Python 3 itself: mapping.items()",
             since="Python 3"),
)
# fmt: on

#: The names that NumPy 1.24 and 2.0 removed (TS201), and that `run` puts back.
REMOVED_FROM_NUMPY = frozenset(
    ("bool", "complex", "float", "int", "long", "object", "str", "unicode", "complex_", "float_")
    + ("string_", "unicode_", "Inf", "Infinity", "NaN", "asscalar", "sctypes")
)

_SERVER = ("url", "protocol", "verbose", "http_headers")
_STATUS = ("url", "protocol", "model_name", "verbose", "http_headers")
_INFER = (
    *("url", "protocol", "model_name", "model_version", "verbose", "correlation_id"),
    *("streaming", "http_headers"),
)
_RUN = ("inputs", "outputs", "batch_size", "flags", "corr_id", "priority", "timeout_us")
_RUN_WITH_CALLBACK = ("callback", *_RUN)

#: id of what is called → its parameters.
PARAMETERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("TS020", "TS030", "TS035", "TS040"), _SERVER),
    "TS025": _STATUS,
    "TS050": _INFER,
    **dict.fromkeys(("TS051", "TS053"), _RUN),
    **dict.fromkeys(("TS052", "TS054"), _RUN_WITH_CALLBACK),
    "TS055": ("request_id", "wait"),
}

# What an argument must be to show its pattern:
GIVEN = "given"  # any value that the call gives
WITH_SCHEME = "scheme"  # a text with ``://``
HANDLE_IN = "handle in"  # a dict with the handle of a shared-memory region
HANDLE_OUT = "handle out"  # likewise, for outputs


class ArgumentPattern(NamedTuple):
    """A parameter whose argument shows a pattern: by its kind, or by none of these values."""

    id: str
    parameter: str
    kind: str = ""
    harmless: tuple[object, ...] = ()


ARGUMENT_PATTERNS = (
    ArgumentPattern("TS101", "url", WITH_SCHEME),
    ArgumentPattern("TS102", "http_headers", harmless=(None, "", [], ())),
    ArgumentPattern("TS103", "verbose", harmless=(None, False, 0, "")),
    ArgumentPattern("TS104", "streaming", harmless=(None, False, 0)),
    ArgumentPattern("TS105", "correlation_id", harmless=(None, 0)),
    ArgumentPattern("TS106", "model_version", harmless=(None, -1)),
    ArgumentPattern("TS109", "batch_size", harmless=(1,)),
    ArgumentPattern("TS110", "flags", harmless=(0,)),
    ArgumentPattern("TS111", "corr_id", harmless=(0,)),
    ArgumentPattern("TS112", "priority", harmless=(0,)),
    ArgumentPattern("TS113", "timeout_us", harmless=(0,)),
    ArgumentPattern("TS114", "inputs", HANDLE_IN),
    ArgumentPattern("TS115", "outputs", HANDLE_OUT),
    ArgumentPattern("TS116", "wait", GIVEN),
)

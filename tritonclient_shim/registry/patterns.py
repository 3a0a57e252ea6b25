"""Entries of usage patterns: imports, arguments, and names that Python or NumPy have removed."""

from __future__ import annotations

from functools import partial

from tritonclient_shim.registry.entry import ARGUMENT, IMPORT, REMOVED, RegistryEntry, both

_argument = partial(both, kind=ARGUMENT)
_removed = partial(both, kind=REMOVED)
_API = "tensorrtserver.api."

ENTRIES = (
    both(
        "TS001",
        "from tensorrtserver.api import *",
        "import tritonclient.grpc as grpcclient, or tritonclient.http as httpclient",
        "from pytriton.client import ModelClient",
        heading="Imports",
        kind=IMPORT,
    ),
    both(
        "TS002",
        "names taken from the star import (np, sys, os, struct, ctypes' names, ...)",
        "an import of their own",
        "an import of their own",
        heading="Imports",
        kind=IMPORT,
    ),
    both(
        "TS009",
        "import of tensorrtserver",
        "import tritonclient.grpc as grpcclient, or tritonclient.http as httpclient",
        "from pytriton.client import ModelClient",
        heading="Imports",
        kind=IMPORT,
    ),
    _argument(
        "TS101",
        f"{_API}InferContext(url with a scheme)",
        "InferenceServerClient(host:port, ssl=True for https or grpcs)",
        "the scheme stays: grpc:// or http://",
        heading="Connections",
    ),
    RegistryEntry(
        "TS102",
        f"{_API}InferContext(http_headers=)",
        "headers={name: value} of every call: gRPC metadata",
        "headers={name: value} of every call",
        "headers={name: value} of infer_sample and infer_batch",
        "Connections",
        kind=ARGUMENT,
    ),
    _argument(
        "TS103",
        f"{_API}InferContext(verbose=)",
        "InferenceServerClient(url, verbose=True)",
        heading="Connections",
    ),
    RegistryEntry(
        "TS104",
        f"{_API}InferContext(streaming=)",
        "client.start_stream(callback), then client.async_stream_infer(...)",
        "none: streams are gRPC's",
        "DecoupledModelClient, for decoupled models alone",
        "Streams",
        kind=ARGUMENT,
    ),
    _argument(
        "TS105",
        f"{_API}InferContext(correlation_id=)",
        "infer(..., sequence_id=...) with every request",
        heading="Sequences",
    ),
    _argument(
        "TS106",
        f"{_API}InferContext(model_version=)",
        "infer(..., model_version=str(version)); '' is the latest",
        "ModelClient(url, model_name, model_version=str(version))",
        heading="Model versions",
    ),
    _argument(
        "TS109",
        f"{_API}InferContext.run(batch_size=)",
        "the first dimension of every shape",
        "the first dimension of every array",
        heading="Batches",
    ),
    _argument(
        "TS110",
        f"{_API}InferContext.run(flags=)",
        "infer(..., sequence_start=True, sequence_end=True)",
        heading="Sequences",
    ),
    _argument(
        "TS111",
        f"{_API}InferContext.run(corr_id=)",
        "infer(..., sequence_id=...) with every request",
        heading="Sequences",
    ),
    _argument(
        "TS112",
        f"{_API}InferContext.run(priority=)",
        "infer(..., priority=...)",
        heading="Priority and time limit",
    ),
    _argument(
        "TS113",
        f"{_API}InferContext.run(timeout_us=)",
        "infer(..., timeout=...), in microseconds",
        heading="Priority and time limit",
    ),
    _argument(
        "TS114",
        f"{_API}InferContext.run(shared-memory handle as input)",
        "infer_input.set_shared_memory(name, byte_size)",
        heading="System shared memory",
    ),
    _argument(
        "TS115",
        f"{_API}InferContext.run((RAW, handle) as output)",
        "requested_output.set_shared_memory(name, byte_size)",
        heading="System shared memory",
        shows="RAW, region)",
    ),
    RegistryEntry(
        "TS116",
        f"{_API}InferContext.get_async_run_results(wait)",
        "nothing to wait with: the callback says when",
        "get_result(block=...) of what async_infer returned",
        "future.result(timeout)",
        "Asynchronous requests with ids",
        since="1.8",
        kind=ARGUMENT,
        shows="get_async_run_results(id, True)",
    ),
    _removed(
        "TS201",
        "numpy.object, numpy.bool, numpy.int, numpy.float, numpy.str, numpy.sctypes, ...",
        "object, bool, int, float, str: Python's own",
        "object, bool, int, float, str: Python's own",
        heading="What Python and NumPy removed",
        since="NumPy 1.20",
    ),
    _removed(
        "TS202",
        "an attribute, argument or variable named async",
        "another name, such as async_set; argparse: dest='async_set'",
        "another name, such as async_set; argparse: dest='async_set'",
        heading="What Python and NumPy removed",
        since="Python 3.7",
    ),
    _removed(
        "TS203",
        "future.utils",
        "Python 3 itself: mapping.items()",
        "Python 3 itself: mapping.items()",
        heading="What Python and NumPy removed",
        since="Python 3",
    ),
)

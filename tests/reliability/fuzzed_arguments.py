"""Good values of each parameter of the public functions."""

from __future__ import annotations

from ctypes import c_int
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tensorrtserver.api import InferContext
from tests.reliability import odd_values as odd

RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
#: The inputs and the first output of each model.
MODELS = {
    "simple": (("INPUT0", "INPUT1"), "OUTPUT0"),
    "identity_int32": (("INPUT0",), "OUTPUT0"),
    "simple_string": (("INPUT0", "INPUT1"), "OUTPUT0"),
    "classify": (("INPUT",), "OUTPUT"),
}

_int32 = np.arange(16, dtype=np.int32)
_strings = np.array([b"%d" % item for item in range(16)], object)
_scores = np.linspace(0, 1, 10, dtype=np.float32)
ARRAYS = {
    "simple": [_int32, _int32.astype("f4"), _int32.astype(">i4"), _int32.reshape(4, 4)],
    "identity_int32": [_int32, _int32[:3], _int32[:0]],
    "simple_string": [_strings, _strings.astype("S"), _strings.astype("U")],
    "classify": [_scores, -_scores, _scores * np.nan],
}  # fmt: skip

address_ends = st.sampled_from(
    ["", "/", "/a/b", "?x", "#", ":1", "@x", " ", "\0", "\n", "]", "é", "%00", "\ud800"]
)


def names(*good: str) -> Any:
    """Return names as str or bytes."""
    return st.sampled_from([*good, *(name.encode() for name in good)])


def inputs(model: str, handles: list[Any]) -> Any:
    """Return values of inputs: batch entries, or a region's handle, with a shape or without."""
    entry = odd.mostly(st.sampled_from(ARRAYS[model]))
    region = st.sampled_from(handles)
    value = st.one_of(
        st.lists(entry, min_size=1, max_size=1),
        st.lists(entry, max_size=3),
        region,
        st.tuples(region, st.lists(odd.mostly(st.sampled_from([1, 16])), max_size=2)),
    )
    known, _ = MODELS[model]
    right = st.fixed_dictionaries({name: odd.mostly(value) for name in known})
    keys = names(*known) | odd.texts
    return st.one_of(right, right, st.dictionaries(keys, odd.mostly(value), max_size=3))


def outputs(model: str, handles: list[Any]) -> Any:
    """Return values of an output's format."""
    count = odd.mostly(st.sampled_from([1, 2, 10, 11]))
    value = st.one_of(
        st.just(RAW),
        st.tuples(st.just(CLASS), count),
        st.tuples(st.just(RAW), st.sampled_from(handles)),
    )
    keys = names(MODELS[model][1], "OUTPUT1")
    return st.dictionaries(keys, odd.mostly(value), min_size=1, max_size=2)


def good_values(model: str, url: str, protocol: int, handles: list[Any]) -> dict[str, Any]:
    """Return good values of each parameter, for contexts of this model on this server."""
    ends = address_ends.map(lambda end: url + end)
    headers = st.lists(st.sampled_from(["A:b", b"A: b", "Content-Length: 1", "a:"]), max_size=2)
    return {
        "url": st.one_of(st.just(url), st.just(url.encode()), ends),
        "protocol": st.just(protocol),
        "model_name": names(model),
        "model_version": st.sampled_from([None, -1, 1, 2]),
        "verbose": st.booleans(),
        "correlation_id": st.sampled_from([0, 7]),
        "streaming": st.just(protocol == 1),
        "http_headers": headers,
        "callback": st.just(lambda *_: None),
        "inputs": inputs(model, handles),
        "outputs": outputs(model, handles),
        "batch_size": st.sampled_from([1, 1, 1, 2, 0]),
        "flags": st.sampled_from([0, 0, 1, 2, 3]),
        "corr_id": st.sampled_from([0, 0, 5]),
        "priority": st.sampled_from([0, 1]),
        "timeout_us": st.sampled_from([0, 1_000_000]),
        "request_id": st.integers(1, 50),
        "wait": st.booleans(),
        "shm_handle": st.sampled_from(handles),
        "cuda_shm_handle": st.sampled_from(handles),
        "input_values": st.lists(st.sampled_from(ARRAYS[model]), max_size=2),
        "input_tensor": st.just(_strings),
        "trtis_shm_name": names("fuzzed"),
        "byte_size": st.sampled_from([1, 64, 4096]),
        "device_id": st.just(0),
        "value": st.sampled_from(["http", "GRPC"]),
        "err": st.sampled_from([c_int(-2), c_int(-9), "text"]),
        "mapping": st.just({1: 2}),
    }

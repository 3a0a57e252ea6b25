"""The functions that a rewritten file may need, as text.

``CLIENT`` stands for the module of the client. No function needs this package.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, NamedTuple

from tritonclient_shim.rewrite import emitted_async as requests
from tritonclient_shim.rewrite import emitted_infer as texts
from tritonclient_shim.rewrite import emitted_last as last
from tritonclient_shim.rewrite import emitted_memory as memory
from tritonclient_shim.rewrite import emitted_small as small


class Emitted(NamedTuple):
    """A function: its text by the protocols in use, and what it needs itself."""

    text: str
    imports: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    either: str = ""  # where both protocols are in use; '' for the same text
    http: str = ""  # over HTTP alone


_NUMPY = "import numpy as np"
_CONFIG_PB2 = "from tritonclient.grpc import model_config_pb2"
_JSON = "from google.protobuf import json_format"
_EXCEPTION = "from tritonclient.utils import InferenceServerException"
_CACHE = "import functools"
_TENSORS = (_NUMPY, "from tritonclient.utils import triton_to_np_dtype")
_THREADS = (
    "from concurrent.futures import ThreadPoolExecutor",
    "import functools",
    "import threading",
)

#: In the order in which a file has them.
HELPERS: dict[str, Emitted] = {
    "FLAGS": Emitted(texts.FLAGS),
    "ProtocolType": Emitted(small.PROTOCOLS, ("import enum",)),
    "CLIENTS": Emitted(texts.CLIENTS),
    "CLIENTS_BY_NUMBER": Emitted(texts.CLIENTS_BY_NUMBER),
    "signed_id": Emitted(texts.SIGNED_ID),
    "sequence_flags": Emitted(texts.SEQUENCE_FLAGS),
    "with_headers": Emitted(texts.HEADERS),
    "Region": Emitted(
        memory.REGION,
        ("import typing", "from tritonclient.utils import shared_memory"),
        ("region_input", "array_in"),
    ),
    "region_input": Emitted(memory.INPUT, _TENSORS),
    "array_in": Emitted(memory.OUTPUT, _TENSORS),
    "Model": Emitted(texts.MODEL, ("import typing",)),
    "module_of": Emitted(texts.MODULE_OF),
    "version_text": Emitted(texts.VERSION),
    "server_metadata": Emitted(
        texts.METADATA, ("import types",), either=texts.METADATA_EITHER, http=texts.METADATA_HTTP
    ),
    "config_of": Emitted(
        texts.CONFIG, (_CACHE,), either=texts.CONFIG_EITHER, http=texts.CONFIG_HTTP
    ),
    "check_model": Emitted(texts.CHECK),
    "infer_input": Emitted(
        texts.INPUT,
        (_NUMPY, "from tritonclient.utils import triton_to_np_dtype"),
        ("config_of",),
    ),
    "class_counts": Emitted(texts.COUNTS),
    "classes_of": Emitted(texts.CLASSES, (_NUMPY,)),
    "results_of": Emitted(texts.RESULTS, (), ("classes_of",)),
    "send": Emitted(
        requests.SEND,
        either=requests.SEND_EITHER,
        http=requests.SEND_HTTP,
    ),
    "send_on_stream": Emitted(requests.STREAM, ("import itertools", "import threading", _CACHE)),
    "start_run": Emitted(
        requests.REQUESTS,
        ("import collections", "import itertools", "from concurrent.futures import Future"),
        ("send", "infer_input", "results_of"),
    ),
    "ready_request": Emitted(requests.READY, ("from concurrent import futures",), ("start_run",)),
    "known_region": Emitted(memory.KNOWN_REGION, ("import types",)),
    "shared_memory_status": Emitted(
        memory.STATUS,
        ("import types",),
        ("known_region",),
        either=memory.STATUS_EITHER,
        http=memory.STATUS_HTTP,
    ),
    "serialize_strings": Emitted(
        memory.STRINGS, (_NUMPY, "from tritonclient.utils import serialize_byte_tensor")
    ),
    "repository_index": Emitted(
        small.INDEX, ("import types",), either=small.INDEX_EITHER, http=small.INDEX_HTTP
    ),
    "ServerReadyState": Emitted(small.SERVER_STATES, ("import enum",)),
    "ModelReadyState": Emitted(small.MODEL_STATES, ("import enum",)),
    "index_rows": Emitted(small.ROWS, either=small.ROWS_EITHER, http=small.ROWS_HTTP),
    "server_status": Emitted(
        small.STATUS,
        ("import collections", "import types"),
        ("server_metadata", "index_rows", "ModelReadyState"),
    ),
    "message_of": Emitted(small.MESSAGE),
    "server_id_of": Emitted(small.SERVER_ID),
    "request_id_of": Emitted(small.REQUEST_ID),
    "iteritems": Emitted(small.ITER.format(name="items", what="items")),
    "itervalues": Emitted(small.ITER.format(name="values", what="values")),
    "iterkeys": Emitted(small.ITER.format(name="keys", what="keys")),
    "last_request": Emitted(last.LAST, last.IMPORTS),
    "request_stat": Emitted(last.STAT, (), ("last_request",)),
    "run_model": Emitted(texts.RUN, (), ("infer_input", "results_of", "config_of")),
    "run_of": Emitted(texts.RUN_OF, (), ("run_model",)),
}


def needed(names: Iterable[str]) -> list[str]:
    """Names of functions → these and all that they need, in order."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += HELPERS[name].helpers
    return [name for name in HELPERS if name in found]


def written(
    names: Iterable[str],
    modules: set[str],
    called: Mapping[str, str],
    there: set[str],
    extent: set[str],
) -> tuple[str, set[str]]:
    """Functions, and the protocols in use → their text, and the lines of import that it needs.

    ``called``: what else they are called; ``there``: those that the file has already;
    ``extent``: what they have to do in the file, by the marks of their lines.
    """
    wanted = set(needed(names))
    wanted -= set() if "classes" in extent else {"classes_of"}
    both = len(modules) > 1
    if both and any("CLIENT." in HELPERS[name].text for name in wanted):
        wanted.add("module_of")
    marks = {mark for mark, helper in _MARKS.items() if helper in wanted}
    marks -= {"threads"} if modules == {"grpc"} else set()  # needs no client per thread
    marks |= {*extent, *modules}
    found: list[str] = []
    imports: set[str] = set()
    for name in (one for one in HELPERS if one in wanted - there):
        one = HELPERS[name]
        text = one.either if both and one.either else one.text
        if modules == {"http"} and one.http:
            text = one.http
        if name == "start_run" and "send_on_stream" in wanted:
            text = requests.STREAMED_REQUESTS
        if "json_format" in text:
            imports.add(_JSON)
        if "ThreadPoolExecutor" in text:
            imports.update(_THREADS)
        module = "module_of(client)." if both else f"{next(iter(modules), 'grpc')}client."
        text = _chosen(text, marks).replace("CLIENT.", module)
        if "InferenceServerException" in text:
            imports.add(_EXCEPTION)
        for old, new in called.items():
            text = re.sub(rf"\b{old}\b", new, text)
        if "model_config_pb2." in text:
            imports.add(_CONFIG_PB2)
        found.append(text)
        imports.update(one.imports)
    return "\n".join(found), imports


def _chosen(text: str, marks: set[str]) -> str:
    """The lines of a text that are for files with these marks.

    A line may end with ``#+mark``, ``#-mark`` or several such, all of which have to hold.
    """
    found = []
    for line in text.split("\n"):
        plain, asked = _MARKED.fullmatch(line).groups()  # type: ignore[union-attr]
        signs = re.findall(r"([+-])(\w+)", asked or "")
        if all((mark in marks) == (sign == "+") for sign, mark in signs):
            found.append(plain)
    return "\n".join(found)


_MARKED = re.compile(r"(.*?)(?:  #((?:[+-]\w+)+))?")
#: What stands at the ends of lines → the function with which the file has them. More marks are
#: the protocols in use, and those of ``extent``.
_MARKS = {
    "region": "Region",
    "headers": "with_headers",
    "config": "config_of",
    "stream": "send_on_stream",
    "threads": "send",
    "last": "last_request",
}

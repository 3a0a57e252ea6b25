"""The functions that a rewritten file may need, as text.

``CLIENT`` stands for the module of the client. No function needs this package.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, NamedTuple

from tritonclient_shim.rewrite import emitted_async as requests
from tritonclient_shim.rewrite import emitted_memory as memory


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

_CONFIG = '''
@functools.lru_cache(maxsize=None)
def config_of(client, model_name):
    """The configuration of a model, which is asked for once."""
    return client.get_model_config(model_name).config
'''
_CONFIG_HTTP = '''
@functools.lru_cache(maxsize=None)
def config_of(client, model_name):
    """The configuration of a model, which is asked for once, as the message that gRPC has."""
    answer = client.get_model_config(model_name)
    message = model_config_pb2.ModelConfig()
    return json_format.ParseDict(answer, message, ignore_unknown_fields=True)
'''
_CONFIG_EITHER = '''
@functools.lru_cache(maxsize=None)
def config_of(client, model_name):
    """The configuration of a model, which is asked for once, as the message that gRPC has."""
    answer = client.get_model_config(model_name)
    if isinstance(client, grpcclient.InferenceServerClient):
        return answer.config
    message = model_config_pb2.ModelConfig()
    return json_format.ParseDict(answer, message, ignore_unknown_fields=True)
'''
_MODULE_OF = '''
def module_of(client):
    """The module that a client is from."""
    return grpcclient if isinstance(client, grpcclient.InferenceServerClient) else httpclient
'''
_INPUT = '''
def infer_input(client, model_name, name, rows):  #-region
def infer_input(client, model_name, name, rows, batch_size=1):  #+region
    """The tensor of an input, from one array for each entry of the batch."""
    config = config_of(client, model_name)
    known = next((one for one in config.input if one.name == name), None)
    if known is None:
        raise InferenceServerException("unknown input '%s' for '%s'" % (name, model_name))
    datatype = model_config_pb2.DataType.Name(known.data_type)[len("TYPE_"):]
    datatype = datatype.replace("STRING", "BYTES")
    region, dims = rows if isinstance(rows[0], Region) else (rows, known.dims)  #+region
    if isinstance(region, Region):  #+region
        shape = [batch_size, *dims] if config.max_batch_size else list(dims)  #+region
        tensor = CLIENT.InferInput(name, shape, datatype)  #+region
        return region_input(tensor, region, shape, datatype)  #+region
    batch = np.stack(rows)
    if datatype == "BYTES":
        batch = batch.astype(object)
    elif batch.dtype != triton_to_np_dtype(datatype):
        batch = np.ascontiguousarray(batch).view(triton_to_np_dtype(datatype))
    dims = batch.shape[1:] if -1 in known.dims else tuple(known.dims)
    batch = batch.reshape((len(rows), *dims) if config.max_batch_size else dims)
    tensor = CLIENT.InferInput(name, list(batch.shape), datatype)
    tensor.set_data_from_numpy(batch)
    return tensor
'''
_RUN = '''
def run_model(client, model_name, inputs, outputs, **options):  #-region
def run_model(client, model_name, inputs, outputs, batch_size=1, **options):  #+region
    """Infer, and return for each output a list of what each entry of the batch has.

    inputs: name -> a list with one array for each entry of the batch.
    outputs: name -> how many classes to return, or 0 for the array.
    Both may have a Region instead; batch_size is for inputs in a Region.  #+region
    """
    tensors = [infer_input(client, model_name, name, rows) for name, rows in inputs.items()]  #-region
    tensors = [  #+region
        infer_input(client, model_name, name, rows, batch_size)  #+region
        for name, rows in inputs.items()  #+region
    ]  #+region
    wanted = [
        CLIENT.InferRequestedOutput(name, class_count=count)  #-region
        CLIENT.InferRequestedOutput(name, class_count=0 if isinstance(count, Region) else count)  #+region
        for name, count in outputs.items()
    ]
    for tensor in wanted:  #+region
        region = outputs[tensor.name()]  #+region
        if isinstance(region, Region):  #+region
            tensor.set_shared_memory(region.name, region.byte_size)  #+region
    answer = client.infer(model_name, tensors, outputs=wanted, **options)
    return results_of(answer, outputs, config_of(client, model_name).max_batch_size > 0)
'''
_RESULTS = '''
def results_of(answer, outputs, batched):
    """What an answer has: for each output a list of what each entry of the batch has."""
    found = {}
    for name, count in outputs.items():
        array = answer.as_numpy(name).copy()  #-region
        region, count = (count, 0) if isinstance(count, Region) else (None, count)  #+region
        array = (answer.as_numpy(name) if region is None else array_in(region, answer, name)).copy()  #+region
        rows = list(array) if batched else [array]
        found[name] = [classes_of(row) for row in rows] if count else rows
    return found
'''
_CLASSES = '''
def classes_of(texts):
    """Classes, such as b"0.9:3:cat" -> tuples of index, value and label."""
    parts = [(text.decode().split(":", 2) + [""])[:3] for text in texts.flat]
    return [(int(index), float(value), label) for value, index, label in parts]
'''
_MODEL = '''
class Model(typing.NamedTuple):
    """A model: the client to reach it by, its name, and what each request for it has besides."""

    client: typing.Any
    name: str
    options: dict
'''
_VERSION = '''
def version_text(version):
    """The version of a model as text, '' for the latest."""
    return "" if version is None or int(version) < 0 else str(int(version))
'''
_CLIENTS = """
CLIENTS = {"grpc": grpcclient, "http": httpclient}
"""
_CLIENTS_BY_NUMBER = """
CLIENTS = {0: httpclient, 1: grpcclient}  # ProtocolType.HTTP, ProtocolType.GRPC
"""
_FLAGS = """
FLAG_NONE, FLAG_SEQUENCE_START, FLAG_SEQUENCE_END = 0, 1, 2
"""
_SEQUENCE_FLAGS = '''
def sequence_flags(flags):
    """Flags of a request, as a number -> the arguments of infer that they are now."""
    return {"sequence_start": bool(flags & 1), "sequence_end": bool(flags & 2)}
'''
_HEADERS = '''
def headers_of(texts):
    """Headers, such as "Name: value", as text or bytes -> a dict of them."""
    texts = [text.decode() if isinstance(text, bytes) else text for text in texts or ()]
    pairs = [text.partition(":") for text in texts]
    return {name.strip().lower(): value.strip() for name, _, value in pairs}
'''
_CHECK = '''
def check_model(client, model_name):
    """Raise an error where the server does not have the model."""
    if not client.is_model_ready(model_name):
        raise InferenceServerException("no status available for unknown model '%s'" % model_name)
'''
_METADATA = '''
def server_metadata(client):
    """The name and the version of a server."""
    return client.get_server_metadata()
'''
_METADATA_HTTP = '''
def server_metadata(client):
    """The name and the version of a server."""
    return types.SimpleNamespace(**client.get_server_metadata())
'''
_METADATA_EITHER = '''
def server_metadata(client):
    """The name and the version of a server."""
    answer = client.get_server_metadata()
    return types.SimpleNamespace(**answer) if isinstance(answer, dict) else answer
'''

#: In the order in which a file has them.
HELPERS: dict[str, Emitted] = {
    "FLAGS": Emitted(_FLAGS),
    "CLIENTS": Emitted(_CLIENTS),
    "CLIENTS_BY_NUMBER": Emitted(_CLIENTS_BY_NUMBER),
    "sequence_flags": Emitted(_SEQUENCE_FLAGS),
    "headers_of": Emitted(_HEADERS),
    "Region": Emitted(
        memory.REGION,
        ("import typing", "from tritonclient.utils import shared_memory"),
        ("region_input", "array_in"),
    ),
    "region_input": Emitted(memory.INPUT, _TENSORS),
    "array_in": Emitted(memory.OUTPUT, _TENSORS),
    "Model": Emitted(_MODEL, ("import typing",)),
    "module_of": Emitted(_MODULE_OF),
    "version_text": Emitted(_VERSION),
    "server_metadata": Emitted(
        _METADATA, ("import types",), either=_METADATA_EITHER, http=_METADATA_HTTP
    ),
    "config_of": Emitted(_CONFIG, (_CACHE,), either=_CONFIG_EITHER, http=_CONFIG_HTTP),
    "check_model": Emitted(_CHECK, (_EXCEPTION,)),
    "infer_input": Emitted(
        _INPUT,
        (
            _NUMPY,
            _CONFIG_PB2,
            _EXCEPTION,
            "from tritonclient.utils import triton_to_np_dtype",
        ),
        ("config_of",),
    ),
    "classes_of": Emitted(_CLASSES),
    "results_of": Emitted(_RESULTS, (), ("classes_of",)),
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
    "shared_memory_status": Emitted(
        memory.STATUS, ("import types",), either=memory.STATUS_EITHER, http=memory.STATUS_HTTP
    ),
    "serialize_strings": Emitted(
        memory.STRINGS, (_NUMPY, "from tritonclient.utils import serialize_byte_tensor")
    ),
    "run_model": Emitted(_RUN, (), ("infer_input", "results_of", "config_of")),
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
    names: Iterable[str], modules: set[str], called: Mapping[str, str], there: set[str]
) -> tuple[str, set[str]]:
    """Functions, and the protocols in use → their text, and the lines of import that it needs.

    ``called``: what else they are called; ``there``: those that the file has already.
    """
    wanted = set(needed(names))
    both = len(modules) > 1
    if both and any("CLIENT." in HELPERS[name].text for name in wanted):
        wanted.add("module_of")
    texts: list[str] = []
    imports: set[str] = set()
    for name in (one for one in needed(wanted) if one not in there):
        one = HELPERS[name]
        text = one.either if both and one.either else one.text
        if modules == {"http"} and one.http:
            text = one.http
        if name == "start_run" and "send_on_stream" in wanted:
            text = requests.STREAMED_REQUESTS
        if "json_format" in text:
            imports.update((_CONFIG_PB2, _JSON))
        if "ThreadPoolExecutor" in text:
            imports.update(_THREADS)
        module = "module_of(client)." if both else f"{next(iter(modules), 'grpc')}client."
        text = _chosen(text, "Region" in wanted).replace("CLIENT.", module)
        for old, new in called.items():
            text = re.sub(rf"\b{old}\b", new, text)
        texts.append(text)
        imports.update(one.imports)
    return "\n".join(texts), imports


def _chosen(text: str, regions: bool) -> str:
    """The lines of a text that are for files with regions of shared memory, or for others."""
    other, own = ("  #-region", "  #+region") if regions else ("  #+region", "  #-region")
    lines = (line for line in text.split("\n") if not line.endswith(other))
    return "\n".join(line[: -len(own)] if line.endswith(own) else line for line in lines)

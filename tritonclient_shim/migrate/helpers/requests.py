"""Clients, and requests from lists of arrays."""

import threading
import weakref

import numpy as np
import tritonclient.grpc as grpcclient
from google.protobuf import json_format
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from tritonclient_shim.migrate.helpers.http_client import HttpClient

RAW = 0  # the format of an output as an array; other numbers ask for this many classes
FLAG_NONE, FLAG_SEQUENCE_START, FLAG_SEQUENCE_END = 0, 1, 2


def with_headers(client, texts):
    """Return the client, which sends headers such as "Name: value" from now on."""
    headers = {}
    for text in texts or ():
        name, colon, value = (text.decode() if isinstance(text, bytes) else text).partition(":")
        if not colon:
            raise InferenceServerException(f"header {text!r} has no colon")
        if value.strip():
            headers[name.strip().lower()] = value.strip()
    client.register_plugin(lambda request: request.headers.update(headers))
    return client


class ThreadClient(threading.local, HttpClient):
    """A client with a connection for each thread, which tritonclient.http needs."""

    def __init__(self, address, headers, **options):
        super().__init__(address, **options)
        with_headers(self, headers)


def http_client(url, headers=None, **options):
    """Return a client over HTTP. Its time limits are longer than a model takes."""
    scheme, _, address = url.rpartition("://")
    options.setdefault("ssl", scheme == "https")
    options.update(connection_timeout=300, network_timeout=86400)
    return ThreadClient(address, headers, **options)


def with_model(client, model_name):
    """Return the client. Raise an error if the server lacks the model."""
    client.get_model_config(model_name)
    return client


def protocol_name(text):
    """Return the name of a protocol in lower case."""
    if text.lower() not in ("http", "grpc"):
        raise RuntimeError(f"unexpected protocol: {text}, expecting HTTP or gRPC")
    return text.lower()


def protocol_of(protocol):
    """Return the name of a protocol, which may be the number that it had."""
    return {0: "http", 1: "grpc"}.get(protocol, protocol)


def connect(protocol, url, headers=None, **options):
    """Return a client for a protocol."""
    if protocol == "http":
        return http_client(url, headers, **options)
    if protocol != "grpc":
        raise ValueError(f"unexpected protocol: {protocol}, expecting HTTP or gRPC")
    return grpcclient.InferenceServerClient(url, **options)  # v1 sent no headers over gRPC


#: Locks of clients, and of objects with a client.
CALLBACK_LOCKS = weakref.WeakKeyDictionary()


def in_turn(callback, client):
    """Return a callback for futures. Callbacks of one client never overlap."""
    lock = CALLBACK_LOCKS.setdefault(client, threading.RLock())

    def call_back(future):
        with lock:
            callback(client, future)

    return call_back


def error_parts(error):
    """Return what makes an error of a request again, in another process."""
    parts = error.message(), error.status(), error.debug_details()
    return InferenceServerException, parts


def version_name(version):
    """Return the version of a model as tritonclient takes it: empty for the newest."""
    return "" if version in (None, -1) else str(version)


def infer(client, model_name, inputs, outputs, **options):
    """Infer with an array for each entry of the batch. Outputs: RAW, or a number of classes."""
    triton = module_of(client)
    config = cached_config(client, model_name)
    batches = config.get("max_batch_size", 0) > 0
    tensors = []
    for name, rows in inputs.items():
        array = array_of(config, name, rows)
        tensor = triton.InferInput(name, array.shape, np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array)
        tensors.append(tensor)
    wanted = [triton.InferRequestedOutput(name, class_count=k) for name, k in outputs.items()]
    reply = client.infer(model_name, tensors, outputs=wanted, **options)
    return rows_of(reply, outputs, batches)


def rows_of(reply, outputs, batches):
    """Return the outputs for each entry of the batch: arrays, or lists of classes."""
    results = {}
    for name, classes in outputs.items():
        array = reply.as_numpy(name).copy()
        rows = list(array) if batches else [array]
        results[name] = [[class_of(x) for x in row.flat] for row in rows] if classes else rows
    return results


def module_of(client):
    """Return tritonclient's module for the protocol of a client."""
    if "http" in client.get_model_config.__module__:
        import tritonclient.http as triton
    else:
        import tritonclient.grpc as triton
    return triton


#: The configurations of models by their names, for each client that exists.
CONFIGS = weakref.WeakKeyDictionary()


def cached_config(client, model_name):
    """Return the configuration of a model as JSON. Each client asks once."""
    configs = CONFIGS.setdefault(client, {})
    if model_name not in configs:
        options = {} if "http" in client.get_model_config.__module__ else {"as_json": True}
        reply = client.get_model_config(model_name, **options)
        configs[model_name] = reply.get("config", reply)
    return configs[model_name]


def fetched_config(client, model_name):
    """Return the configuration that a model has now."""
    reply = client.get_model_config(model_name)
    if isinstance(reply, dict):  # over HTTP
        return json_format.ParseDict(reply, model_config_pb2.ModelConfig(), True)
    return reply.config


def array_of(config, name, rows):
    """Return the array of an input. tritonclient takes text as objects, and no np.bytes_."""
    is_batch = config.get("max_batch_size", 0) > 0 or len(rows) > 1
    array = stacked(rows) if is_batch else np.asarray(rows[0])
    return AS_OBJECTS(array) if array.dtype.kind in "OU" else array


def stacked(rows):
    """Return a batch as an array. tritonclient takes text as objects."""
    try:
        array = np.stack(rows)
    except ValueError as error:  # for rows of several shapes
        raise InferenceServerException(f"inputs do not fit: {error}") from error
    return array.astype(object) if array.dtype.kind == "U" else array


#: Makes objects of an array of text.
AS_OBJECTS = np.frompyfunc(lambda text: bytes(text) if isinstance(text, bytes) else text, 1, 1)


def class_of(text):
    """Return index, value and label of a class such as b"0.9:3:cat"."""
    value, index, label = [*text.decode().split(":", 2), ""][:3]
    return int(index), float(np.float32(value)), label

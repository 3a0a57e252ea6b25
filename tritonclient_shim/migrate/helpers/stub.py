"""Requests of v1's raw stub: messages as plain objects, sent as KServe's messages."""

import copy
import enum
import re
import types
from concurrent.futures import ThreadPoolExecutor

import grpc
from tritonclient.grpc import model_config_pb2, service_pb2, service_pb2_grpc
from tritonclient.utils import deserialize_bytes_tensor

from tritonclient_shim.migrate.helpers.requests import CONFIGS, class_of
from tritonclient_shim.migrate.helpers.status import config_with_platform

SUCCESS = 1  # most programs name no other code


class RequestStatusCode(enum.IntEnum):
    """Codes of a request's status, by the names and numbers that they had."""

    INVALID, SUCCESS, UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE = range(7)
    UNSUPPORTED, ALREADY_EXISTS = 7, 8
    __str__ = __repr__ = int.__repr__


class Record(types.SimpleNamespace):
    """A message. A field that is not set is 0 or empty, as it was."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        lists = ("input", "output", "dims", "raw_input", "raw_output", "batch_classes")
        makers = {"meta_data": Record, "cls": Record, "server_status": Record, "model_name": str}
        makers.update(dict.fromkeys(lists, Records), model_status=dict)
        setattr(self, name, makers.get(name, int)())
        return vars(self)[name]

    def CopyFrom(self, other):
        """Take the fields of another message."""
        vars(self).update(copy.deepcopy(vars(other)))


class Records(list):
    """A list of messages, which can make one more."""

    def add(self, **fields):
        """Add a message with these fields."""
        self.append(Record(**fields))
        return self[-1]


class InferStub:
    """A stub with v1's calls, which sends KServe's messages."""

    def __init__(self, channel):
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        self.pool = ThreadPoolExecutor(256)
        CONFIGS[self] = CONFIGS.setdefault(channel, {})  # programs make stubs for each request

    def get_model_config(self, name):
        """Return the configuration of a model."""
        return self.stub.ModelConfig(service_pb2.ModelConfigRequest(name=name))

    def cached_config(self, name):
        """Return the configuration of a model. Each channel asks once."""
        configs = CONFIGS[self]
        if name not in configs:
            configs[name] = self.get_model_config(name).config
        return configs[name]

    def Infer(self, request, timeout=None):
        """Infer, and return a message with the results, or with the error of the server."""
        try:
            config = self.cached_config(request.model_name)
            reply = self.stub.ModelInfer(infer_request(config, request), timeout)
        except grpc.RpcError as error:
            return failed(error, request, unknown_model=6)  # UNAVAILABLE
        return infer_response(request, reply, config.max_batch_size > 0)

    def infer_future(self, request, timeout=None):
        """Send a request in a thread, and return its future."""
        return self.pool.submit(self.Infer, copy.deepcopy(request), timeout)

    def StreamInfer(self, requests):
        """Return an iterator that sends each request, and has a message for each."""
        return map(self.Infer, requests)

    def Status(self, request, timeout=None):
        """Return a message with the configuration of a model, or of all that are ready."""
        names, ready = [request.model_name], service_pb2.RepositoryIndexRequest(ready=True)
        try:
            server = self.stub.ServerMetadata(service_pb2.ServerMetadataRequest(), timeout)
            if not request.model_name:
                names = [item.name for item in self.stub.RepositoryIndex(ready, timeout).models]
            models = {name: Record(config=config_with_platform(self, name)) for name in names}
        except grpc.RpcError as error:
            return failed(error, request, unknown_model=5)  # INVALID_ARG
        status = Record(id=server.name, version=server.version, ready_state=2, model_status=models)
        return response(server_status=status)

    def Health(self, request, timeout=None):
        """Return a message that says if the server is ready, or live."""
        live = self.stub.ServerLive(service_pb2.ServerLiveRequest(), timeout).live
        ready = self.stub.ServerReady(service_pb2.ServerReadyRequest(), timeout).ready
        return response(health=ready if request.mode == "ready" else live)


def response(code=1, message="", **fields):
    """Return a message of a server with these fields. Code 1 is SUCCESS."""
    return Record(request_status=Record(code=code, msg=message, server_id="triton"), **fields)


def failed(error, request, unknown_model):
    """Return a message with the error of a server. Raise one of the connection."""
    codes = {"NOT_FOUND": unknown_model, "INVALID_ARGUMENT": 5, "UNIMPLEMENTED": 7}
    codes.update(UNKNOWN=2, ALREADY_EXISTS=8)
    if error.code().name in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"):
        raise error
    message = re.sub(r"^\[request id: \S+\] ", "", error.details())
    header = Record(id=request.meta_data.id)
    return response(codes.get(error.code().name, 3), message, meta_data=header)


def infer_request(config, request):
    """Return KServe's message for a request."""
    header, known = request.meta_data, {item.name: item for item in config.input}
    message = service_pb2.ModelInferRequest(model_name=request.model_name)
    message.model_version = str(request.model_version) if request.model_version > 0 else ""
    message.raw_input_contents.extend(map(bytes, request.raw_input))
    for item in header.input:
        tensor = known.get(item.name, model_config_pb2.ModelInput())
        datatype = model_config_pb2.DataType.Name(tensor.data_type).replace("STRING", "BYTES")
        dims = list(item.dims or tensor.dims)
        if config.max_batch_size and len(dims) <= len(tensor.dims):
            dims.insert(0, header.batch_size or 1)
        message.inputs.add(name=item.name, datatype=datatype[len("TYPE_") :], shape=dims)
    for item in header.output:
        output = message.outputs.add(name=item.name)
        if item.cls.count:
            output.parameters["classification"].int64_param = item.cls.count
    if header.correlation_id:
        message.parameters["sequence_id"].int64_param = header.correlation_id
        message.parameters["sequence_start"].bool_param = bool(header.flags & 1)
        message.parameters["sequence_end"].bool_param = bool(header.flags & 2)
    return message


def infer_response(request, reply, batches):
    """Return a message with the results: arrays as bytes, and classes in its header."""
    raw, outputs = [], Records()
    known = {item.name: (item, raw) for item, raw in zip(reply.outputs, reply.raw_output_contents)}
    for wanted in request.meta_data.output:
        output, content = known[wanted.name]
        message = outputs.add(name=wanted.name)
        if wanted.cls.count:
            for row in deserialize_bytes_tensor(content).reshape(-1, output.shape[-1]):
                classes = [dict(zip(("idx", "value", "label"), class_of(text))) for text in row]
                message.batch_classes.add(cls=[Record(**fields) for fields in classes])
        else:
            message.raw = Record(dims=list(output.shape)[batches:])
            raw.append(content)
    header = Record(output=outputs, batch_size=request.meta_data.batch_size or 1)
    header.id, header.model_name = request.meta_data.id, reply.model_name
    header.model_version = int(reply.model_version)
    return response(meta_data=header, raw_output=raw)

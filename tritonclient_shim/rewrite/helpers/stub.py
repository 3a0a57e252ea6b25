"""Requests over the raw gRPC stub: messages as plain objects, sent as KServe's messages."""

import enum
import types
from concurrent.futures import Future

import grpc
import tritonclient.grpc as grpcclient
from tritonclient.grpc import model_config_pb2, service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.clients import next_number
from tritonclient_shim.rewrite.helpers.requests import class_of, model_config
from tritonclient_shim.rewrite.helpers.status import server_status

_CODES = {"INVALID_ARGUMENT": "INVALID_ARG", "UNIMPLEMENTED": "UNSUPPORTED"}


class RequestStatusCode(enum.IntEnum):
    """Codes of a request's status, by the names and numbers that they had."""

    INVALID = 0
    SUCCESS = 1
    UNKNOWN = 2
    INTERNAL = 3
    NOT_FOUND = 4
    INVALID_ARG = 5
    UNAVAILABLE = 6
    UNSUPPORTED = 7
    ALREADY_EXISTS = 8

    @classmethod
    def Name(cls, number):
        """Return the name of a code."""
        return cls(number).name

    @classmethod
    def Value(cls, name):
        """Return the number of a code."""
        return int(cls[name])


class Messages(list):
    """A list of messages, which can make one more."""

    def __init__(self, make):
        super().__init__()
        self._make = make

    def add(self, **fields):
        """Add a message with these fields."""
        self.append(self._make(**fields))
        return self[-1]


class RequestInput(types.SimpleNamespace):
    """An input of a request: its name, and its dimensions where the model has variable ones."""

    def __init__(self, name="", dims=(), batch_byte_size=0):
        super().__init__(name=name, dims=list(dims), batch_byte_size=batch_byte_size)


class RequestOutput(types.SimpleNamespace):
    """An output of a request: its name, and how many classes it has, or 0 for the array."""

    def __init__(self, name=""):
        super().__init__(name=name, cls=types.SimpleNamespace(count=0))


class InferRequest:
    """A request: the model, a header, and the bytes of each input."""

    def __init__(self, model_name="", model_version=-1):
        self.model_name, self.model_version = model_name, model_version
        self.meta_data = types.SimpleNamespace(
            batch_size=1, id=0, flags=0, correlation_id=0,
            input=Messages(RequestInput), output=Messages(RequestOutput))  # fmt: skip
        self.raw_input = []


class StatusRequest(types.SimpleNamespace):
    """A question for the status of a model, or of the server."""

    model_name = ""


class HealthRequest(types.SimpleNamespace):
    """A question whether the server is live or ready."""

    mode = "live"


class ChannelClient:
    """What a client can be asked, on a channel of the program."""

    def __init__(self, channel):
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

    def get_model_config(self, name):
        """Return the configuration of a model."""
        return self.stub.ModelConfig(service_pb2.ModelConfigRequest(name=name))

    def get_server_metadata(self):
        """Return name and version of the server."""
        return self.stub.ServerMetadata(service_pb2.ServerMetadataRequest())

    def get_model_repository_index(self):
        """Return the models of the repository."""
        return self.stub.RepositoryIndex(service_pb2.RepositoryIndexRequest())

    def get_inference_statistics(self, name, version):
        """Return the statistics of a version of a model."""
        return self.stub.ModelStatistics(
            service_pb2.ModelStatisticsRequest(name=name, version=version)
        )

    def is_server_live(self):
        """Return True if the server is live."""
        return bool(self.stub.ServerLive(service_pb2.ServerLiveRequest()).live)


class InferStub:
    """A stub with the calls `Status`, `Infer`, `Infer.future` and `StreamInfer`."""

    def __init__(self, channel):
        self._client = ChannelClient(channel)
        self.Infer = _InferCall(self._client)

    def Status(self, request, timeout=None):
        """Return the status that the server has, or an error, in `request_status`."""
        try:
            status = server_status(self._client, request.model_name)
        except (grpc.RpcError, InferenceServerException) as error:
            return types.SimpleNamespace(request_status=_failed(error))
        return types.SimpleNamespace(request_status=_succeeded(), server_status=status)

    def Health(self, request, timeout=None):
        """Return whether the server is live, or ready."""
        stub = self._client.stub
        if request.mode == "ready":
            health = stub.ServerReady(service_pb2.ServerReadyRequest(), timeout).ready
        else:
            health = stub.ServerLive(service_pb2.ServerLiveRequest(), timeout).live
        return types.SimpleNamespace(request_status=_succeeded(), health=health)

    def StreamInfer(self, requests):
        """Send the requests over one stream, and yield a response for each."""
        sent = {}

        def messages():
            for number, request in enumerate(requests):
                message = model_request(self._client, request)
                message.id = str(number)
                sent[message.id] = (message, request.meta_data.id)
                yield message

        for reply in self._client.stub.ModelStreamInfer(messages()):
            response = reply.infer_response
            if reply.error_message:
                failed = _failed(InferenceServerException(reply.error_message))
                yield types.SimpleNamespace(request_status=failed)
            else:
                message, number = sent.pop(response.id)
                yield infer_response(message, number, response)


class _InferCall:
    """A call that can also return a future."""

    def __init__(self, client):
        self._client = client

    def __call__(self, request, timeout=None):
        return self.future(request, timeout).result()

    def future(self, request, timeout=None):
        """Send a request; the result of the future has an error in `request_status`."""
        future = Future()
        number = request.meta_data.id

        def done(call):
            try:
                future.set_result(infer_response(message, number, call.result()))
            except grpc.RpcError as error:
                if error.code().name in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"):
                    future.set_exception(error)
                else:
                    future.set_result(types.SimpleNamespace(request_status=_failed(error)))

        try:
            message = model_request(self._client, request)
            self._client.stub.ModelInfer.future(message, timeout=timeout).add_done_callback(done)
        except InferenceServerException as error:
            future.set_result(types.SimpleNamespace(request_status=_failed(error)))
        return future


def model_request(client, request):
    """Return the message of KServe for a request."""
    header, config = request.meta_data, model_config(client, request.model_name)
    version = str(request.model_version) if request.model_version > 0 else ""
    message = service_pb2.ModelInferRequest(model_name=request.model_name, model_version=version)
    known = {item.name: item for item in config.input}
    for item in header.input:
        tensor = known.get(item.name)
        if tensor is None:
            raise InferenceServerException(f"unexpected inference input '{item.name}'")
        dims = list(item.dims or tensor.dims)
        is_whole = not config.max_batch_size or len(dims) > len(tensor.dims)
        batch = [] if is_whole else [header.batch_size]
        datatype = model_config_pb2.DataType.Name(tensor.data_type)[len("TYPE_") :]
        datatype = datatype.replace("STRING", "BYTES")
        message.inputs.add(name=item.name, datatype=datatype, shape=[*batch, *dims])
    for output in header.output:
        wanted = message.outputs.add(name=output.name)
        if output.cls.count:
            wanted.parameters["classification"].int64_param = output.cls.count
    if header.correlation_id:
        message.parameters["sequence_id"].int64_param = header.correlation_id
        message.parameters["sequence_start"].bool_param = bool(header.flags & 1)
        message.parameters["sequence_end"].bool_param = bool(header.flags & 2)
    message.raw_input_contents.extend(bytes(raw) for raw in request.raw_input)
    return message


def infer_response(message, number, response):
    """Return the response to a request: arrays as bytes, and classes in its header."""
    result = grpcclient.InferResult(response)
    raw, outputs = [], []
    for wanted in message.outputs:
        output = types.SimpleNamespace(name=wanted.name, batch_classes=[])
        array = result.as_numpy(wanted.name)
        if "classification" in wanted.parameters:
            rows = array.reshape(-1, array.shape[-1])
            output.batch_classes = [types.SimpleNamespace(cls=_classes(row)) for row in rows]
        else:
            dims = list(result.get_output(wanted.name).shape)[1:]
            output.raw = types.SimpleNamespace(dims=dims)
            index = [item.name for item in response.outputs].index(wanted.name)
            raw.append(response.raw_output_contents[index])
        outputs.append(output)
    header = types.SimpleNamespace(
        id=number or next_number(),  # v1's server numbered a request without an id
        model_name=response.model_name, model_version=int(response.model_version), output=outputs,
        batch_size=result.get_output(message.outputs[0].name).shape[0])  # fmt: skip
    return types.SimpleNamespace(
        request_status=_succeeded(), meta_data=header, raw_output=raw)  # fmt: skip


def _classes(texts):
    names = ("idx", "value", "label")
    return [types.SimpleNamespace(**dict(zip(names, class_of(text)))) for text in texts.flat]


def _succeeded():
    return types.SimpleNamespace(code=1, msg="", server_id="triton", request_id=0)


def _failed(error):
    of_call = isinstance(error, grpc.RpcError)
    name = error.code().name if of_call else str(error.status()).rpartition(".")[2]
    text = error.details() if of_call else error.message()
    code = RequestStatusCode.__members__.get(_CODES.get(name, name), 5)
    return types.SimpleNamespace(code=int(code), msg=text, server_id="triton", request_id=0)

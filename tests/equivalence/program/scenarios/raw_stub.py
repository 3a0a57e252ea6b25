"""The generated stub of v1's service, gRPC only (docs/v1-behaviour.md §9.2)."""

import grpc
from google.protobuf import timestamp_pb2

import tensorrtserver.api.grpc_service_pb2_grpc as stubs
import tensorrtserver.api.model_config_pb2 as model_config

TIME = 60  # seconds


def record(see, label, act):
    """Record the code and text of a response, or of gRPC's error."""
    try:
        result = act()
    except grpc.RpcError as error:
        see.note(label, ["RpcError", error.code().name, error.details()])
        return None
    see.note(label, [type(result).__name__, result.request_status.code, result.request_status.msg])
    return result


def ways(stub, name, request):
    """Return every way to call an rpc, by name."""
    rpc = getattr(stub, name)
    if name == "StreamInfer":
        return {"stream": lambda: next(rpc(iter([request]), TIME))}
    return {
        "call": lambda: rpc(request, TIME),
        "with_call": lambda: rpc.with_call(request, TIME)[0],
        "future": lambda: rpc.future(request, TIME).result(TIME),
    }


def messages_of_other_types(see):
    """Send messages of other types. Only their bytes count."""
    if not see.grpc:
        return
    others = {
        "config": model_config.ModelConfig(name="simple"),
        "empty": model_config.ModelConfig(),
        "time": timestamp_pb2.Timestamp(seconds=5),
    }
    with grpc.insecure_channel(see.url) as channel:
        stub = stubs.GRPCServiceStub(channel)
        for name in ("Status", "Health", "Repository", "Infer", "StreamInfer"):
            for kind, request in others.items():
                for way, act in ways(stub, name, request).items():
                    record(see, ", ".join((name, kind, way)), act)


def what_is_no_message(see):
    """Send values that are no messages. gRPC itself raises the error."""
    if not see.grpc:
        return
    with grpc.insecure_channel(see.url) as channel:
        stub = stubs.GRPCServiceStub(channel)
        for name in ("Status", "Infer", "StreamInfer"):
            for wrong in (None, 5, "text", b"bytes", {}):
                for way, act in ways(stub, name, wrong).items():
                    record(see, f"{name}, {wrong!r}, {way}", act)

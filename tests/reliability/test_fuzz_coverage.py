"""Every public signature is in one of the fuzzers, so that a new one cannot be forgotten."""

from __future__ import annotations

import inspect
from typing import Any, Iterator

import grpc

import tensorrtserver
import tritonclient_shim
from tensorrtserver import api
from tensorrtserver import cuda_shared_memory as cuda
from tensorrtserver import shared_memory as shm
from tensorrtserver.api import (
    api_pb2,
    grpc_service_pb2,
    grpc_service_pb2_grpc,
    model_config_pb2,
    request_status_pb2,
    server_status_pb2,
)
from tests.reliability import test_fuzz_signatures as signatures
from tests.reliability import test_fuzz_stub
from tritonclient_shim import testing

MODULES = [
    *(tensorrtserver, api, shm, cuda, grpc_service_pb2_grpc, tritonclient_shim, testing),
    *(api_pb2, grpc_service_pb2, model_config_pb2, request_status_pb2, server_status_pb2),
]
OURS = ("tensorrtserver", "tritonclient_shim")
STUB = "tensorrtserver.api.grpc_service_pb2_grpc.GRPCServiceStub"

#: Signatures that the fuzzers of particular files call → the file.
ELSEWHERE = {
    "tritonclient_shim.configure": "test_fuzz_settings.py",
    "tritonclient_shim.testing.model": "test_fuzz_settings.py",
    "tritonclient_shim.testing.server": "test_fuzz_settings.py",
}
#: Signatures that are not fuzzed → why.
NOT_FUZZED = {
    "tensorrtserver.api.ProtocolType": "the standard library's IntEnum; from_str is fuzzed",
    f"{STUB}": "the channel is the user's own object, whose methods are called as they are",
    "tritonclient_shim.testing.Model": "made by testing.model",
    "tritonclient_shim.testing.Sequence": "made by the server",
    "tritonclient_shim.testing.Server": "made by testing.server",
    "tritonclient_shim.testing.Server.url": "takes a protocol, and has an address for any",
    "tritonclient_shim.testing.ServerError": "an exception of any text",
    "tritonclient_shim.testing.Tensor": "a tuple; what is declared is fuzzed by testing.model",
}
#: The side of servers in the generated code, which nothing here calls.
SERVICER = ("GRPCServiceServicer", "add_GRPCServiceServicer_to_server")


def takes_arguments(function: Any) -> bool:
    """Has it a parameter beside ``self``?"""
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # of a C function
        return False
    return bool({*names} - {"self"})


def is_ours(value: Any) -> bool:
    """Is it a function or class of this package, and no protobuf message?"""
    module = getattr(value, "__module__", None) or ""
    return callable(value) and module.split(".")[0] in OURS and not hasattr(value, "DESCRIPTOR")


def public_names(module: Any) -> list[str]:
    """What a star import or a look at the module finds."""
    listed = getattr(module, "__all__", None)
    return [name for name in (listed or dir(module)) if not name.startswith("_")]


def signatures_of(name: str, value: Any) -> Iterator[str]:
    """A function, or a class with its methods: those that take arguments."""
    if takes_arguments(value):
        yield name
    if inspect.isclass(value):
        for member, method in vars(value).items():
            if not member.startswith("_") and callable(method) and takes_arguments(method):
                yield f"{name}.{member}"


def public_signatures() -> set[str]:
    """All of them."""
    found = {
        one
        for module in MODULES
        for name in public_names(module)
        if name not in SERVICER and is_ours(getattr(module, name))
        for one in signatures_of(f"{module.__name__}.{name}", getattr(module, name))
    }
    with grpc.insecure_channel("127.0.0.1:1") as channel:
        rpcs = vars(grpc_service_pb2_grpc.GRPCServiceStub(channel))
    return found | {f"{STUB}.{name}" for name in rpcs}


def fuzzed_signatures() -> set[str]:
    """What the tables of the fuzzers say that they call."""
    calls = {*signatures._CALLS, *signatures._FETCHES} - {"_async_with_id"}
    found = {f"tensorrtserver.api.InferContext.{name}" for name in calls}
    for kind, methods in signatures._SERVER.items():
        found |= {
            f"tensorrtserver.api.{kind}",
            *(f"tensorrtserver.api.{kind}.{m}" for m in methods),
        }
    for module in MODULES:
        names = {id(getattr(module, name)): name for name in public_names(module)}
        for function in signatures.FUNCTIONS:
            if id(function) in names:  # under each of its names
                found.add(f"{module.__name__}.{names[id(function)]}")
    found |= {f"{STUB}.{rpc}" for rpc in [*test_fuzz_stub.UNARY, "StreamInfer"]}
    return found | ELSEWHERE.keys() | NOT_FUZZED.keys()


def test_every_signature_is_fuzzed() -> None:
    """Each public function, class and method with arguments is in a fuzzer's table."""
    missing = public_signatures() - fuzzed_signatures()
    assert not missing, f"no fuzzer calls {', '.join(sorted(missing))}"


def test_no_signature_is_listed_in_vain() -> None:
    """What is listed here is public."""
    assert public_signatures() >= ELSEWHERE.keys() | NOT_FUZZED.keys()

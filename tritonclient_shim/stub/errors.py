"""What a stub raises: gRPC's own RpcError, or one like it for an error that gRPC did not find."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

import grpc

from tritonclient_shim.core.errors import (
    Fault,
    ForeignFault,
    InferenceServerException,
    TransportFault,
    cause_of,
)

T = TypeVar("T")


class LocalRpcError(grpc.RpcError, grpc.Call):
    """An RpcError for what went wrong in this process, outside gRPC."""

    def __init__(self, code: Any, details: str) -> None:
        super().__init__(f"{code}: {details}")
        self._code = code
        self._details = details

    def code(self) -> Any:
        return self._code

    def details(self) -> str:
        return self._details

    def initial_metadata(self) -> tuple[()]:
        return ()

    def trailing_metadata(self) -> tuple[()]:
        return ()

    def is_active(self) -> bool:
        return False

    def time_remaining(self) -> None:
        return None

    def cancel(self) -> bool:
        return False

    def add_callback(self, callback: Any) -> bool:
        return False


def answered(ask: Callable[[], T]) -> T:
    """What ``ask`` returns; RpcError if the server did not answer."""
    try:
        return ask()
    except InferenceServerException as error:
        failure = rpc_error(error)
    raise failure


def rpc_error(error: BaseException) -> BaseException:
    """An error of the service → the RpcError among its causes, or else one for the last fault."""
    chain = [error]
    while (cause := cause_of(chain[-1])) is not None:
        chain.append(cause)
    found: BaseException | None = next((one for one in chain if is_rpc_error(one)), None)
    faults = [one for one in chain if isinstance(one, Fault)]
    return found or _local([*chain[-1:], *faults][-1])


def is_rpc_error(error: object) -> bool:
    """Is this an RpcError?"""
    return isinstance(error, grpc.RpcError)


def _local(found: BaseException) -> LocalRpcError:
    """The cause of an error, which gRPC does not know → an RpcError for it."""
    if isinstance(found, ForeignFault):
        return LocalRpcError(grpc.StatusCode.INTERNAL, f"Exception deserializing response! {found}")
    if isinstance(found, TransportFault) and found.status:
        name = found.status.rpartition(".")[2]
        return LocalRpcError(grpc.StatusCode[name], found.message.split(": ", 2)[-1])
    return LocalRpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, str(found))  # a request too large


def fault_error(fault: Fault | None) -> BaseException | None:
    """The fault that ended a stream → the error to raise; None for a regular end."""
    return None if fault is None else rpc_error(fault)

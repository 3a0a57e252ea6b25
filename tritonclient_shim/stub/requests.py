"""A user's request → the same request as a message of ours, by way of its bytes.

A generated stub serialises whatever message it is given, and the server reads the bytes as the
request of the rpc. Therefore programs may use messages of their own generated code, in descriptor
pools of their own, and even messages of another type, such as ``Profile(ModelConfig())``.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator

import grpc
from google.protobuf.message import DecodeError, EncodeError

from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.stub.errors import LocalRpcError

_NOT_SENT = "Exception serializing request!"  # gRPC's sentence
_NOT_READ = "Unable to parse request"  # the sentence of a server in C++, as v1's was


def serialized(message_class: Any, request: Any) -> bytes:
    """A message of any type → its bytes.

    Raises RpcError for an object that is no message, or that lacks a required field.
    """
    try:
        return bytes(message_class.SerializeToString(request))
    except (AttributeError, TypeError, ValueError, EncodeError) as error:
        reason = error if hasattr(request, "DESCRIPTOR") else _no_message(message_class, request)
        raise LocalRpcError(grpc.StatusCode.INTERNAL, _NOT_SENT) from reason


def _no_message(message_class: Any, given: Any) -> TypeError:
    wanted, kind = message_class.DESCRIPTOR.name, type(given).__name__
    return TypeError(f"expected {wanted} or another protobuf message, got {kind}: {given!r:.200}")


def parsed(message_class: Any, content: bytes) -> Any:
    """The bytes of a request → a message of ours; RpcError if no server could read them."""
    try:
        return message_class.FromString(content)
    except (DecodeError, ValueError) as error:  # the latter by protobuf in pure Python
        raise LocalRpcError(grpc.StatusCode.INTERNAL, _NOT_READ) from error


def own(message_class: Any, request: Any) -> Any:
    """A request → itself, or a message of ours with the same bytes. Raises RpcError."""
    if type(request) is message_class:
        return request
    return parsed(message_class, serialized(message_class, request))


def copies(message_class: Any, requests: Iterable[Any]) -> Iterator[Any]:
    """Copies of the requests of a stream, as they arrive; the user may change the originals.

    Raises TransportFault, which ends the stream, for an object that is no request.
    """
    for request in requests:
        try:
            copy = parsed(message_class, serialized(message_class, request))
        except LocalRpcError as error:
            number, text = error.code().value[0], error.details()
            fault = TransportFault(f"GRPC client failed: {number}: {text}", str(error.code()))
            raise fault from error
        yield copy

"""``ProtocolType`` and the reading of every constructor's ``protocol`` argument
(docs/v1-behaviour.md §1.5).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tensorrtserver.api._lazy_imports import errors
from tritonclient_shim import notice


class ProtocolType(IntEnum):
    """The protocols a context can speak; equal to the plain ints 0 and 1
    (docs/v1-behaviour.md §1.5).
    """

    HTTP = 0
    GRPC = 1

    @classmethod
    def from_str(cls, value: str) -> ProtocolType:
        """Read ``http`` or ``grpc``, in any case.

        Deprecated [TS011], see migration_guide.md#connections. Instead: import
        tritonclient.grpc on gRPC, import tritonclient.http over HTTP.

        Parameters
        ----------
        value : str
            The name of the protocol.

        Returns
        -------
        ProtocolType
            The protocol of that name.

        Raises
        ------
        Exception
            If `value` names no protocol; a plain ``Exception`` (docs/v1-behaviour.md §1.5).
        """
        notice.used("TS011")
        protocol = _BY_NAME.get(value.lower())
        if protocol is None:
            raise Exception(f"unexpected protocol: {value}, expecting HTTP or gRPC")
        return protocol

    def __str__(self) -> str:
        """``ProtocolType.HTTP`` on every Python; an IntEnum of 3.11 and later shows ``0``."""
        return f"ProtocolType.{self.name}"


ProtocolType.__module__ = "tensorrtserver.api"

_BY_NAME = {"http": ProtocolType.HTTP, "grpc": ProtocolType.GRPC}


def protocol_of(value: Any) -> str:
    """``protocol`` argument → ``model.HTTP`` or ``model.GRPC``.

    Whatever ``int()`` reads is taken: 0, 1, True, 1.0, '0'. What it does not read raises its
    own ValueError or TypeError, any other number InferenceServerException
    (docs/v1-behaviour.md §1.5). Like every number that v1 handed to its C layer, it counts modulo
    2**32.
    """
    from tritonclient_shim.core.model import (  # here: see tritonclient_shim.core.lazy_imports
        GRPC,
        HTTP,
    )

    protocol = {0: HTTP, 1: GRPC}.get(int(value) & 0xFFFFFFFF)
    if protocol is None:
        raise errors.InferenceServerException(
            "unexpected protocol integer, expecting 0 for HTTP or 1 for gRPC"
        )
    return protocol

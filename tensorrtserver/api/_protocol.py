"""``ProtocolType``, and the conversion of every constructor's ``protocol`` argument
(docs/v1-behaviour.md §1.5).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tensorrtserver.api._lazy_imports import errors
from tritonclient_shim import notice


class ProtocolType(IntEnum):
    """The protocols that a context can use; the members equal the ints 0 and 1
    (docs/v1-behaviour.md §1.5).
    """

    HTTP = 0
    GRPC = 1

    @classmethod
    def from_str(cls, value: str) -> ProtocolType:
        """Name of a protocol → its member (docs/v1-behaviour.md §1.5).

        Deprecated [TS011], see migration_guide.md#connections. Instead: import
        tritonclient.grpc on gRPC, import tritonclient.http over HTTP.

        Parameters
        ----------
        value : str
            ``http`` or ``grpc``, in upper or lower case.

        Returns
        -------
        ProtocolType
            The protocol of that name.

        Raises
        ------
        Exception
            `value` names no protocol; as in v1, the class is ``Exception`` itself.
        AttributeError
            `value` is no str.
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

    The argument goes through ``int()``: 0, 1, True, 1.0 and '0' are accepted. What ``int()``
    refuses raises its ValueError or TypeError, and any other number raises
    InferenceServerException (docs/v1-behaviour.md §1.5). As for v1's C layer, the number counts
    modulo 2**32.
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

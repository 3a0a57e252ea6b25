"""Compressed bodies: what the settings ask for on the way out, what servers send back."""

from __future__ import annotations

import gzip
import zlib
from typing import Callable, Mapping, Sequence

from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.core.errors import ForeignFault
from tritonclient_shim.core.model import Buffer

_COMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,  # HTTP's deflate is zlib's format
}


def compressed(encoding: str, pieces: Sequence[Buffer]) -> bytes:
    """The pieces of a body → one compressed body; ``encoding`` is gzip or deflate."""
    return _COMPRESS[encoding](b"".join(pieces))


def decoded(reply: Reply) -> Reply:
    """Reply → the same with a plain body; only an Accept-Encoding can make it compressed."""
    if reply.headers.get("content-encoding") not in _COMPRESS:
        return reply
    headers = {name: text for name, text in reply.headers.items() if name != "content-encoding"}
    try:
        body = zlib.decompress(reply.body, zlib.MAX_WBITS | 32)
    except (zlib.error, MemoryError) as error:
        raise ForeignFault(f"the answer is not compressed as it says: {error!r}") from error
    return Reply(reply.status, headers, body)

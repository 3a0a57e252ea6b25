"""Registered shared-memory regions: a v2 server's account of them ↔ v1's
(docs/v1-behaviour.md §6.5).
"""

from __future__ import annotations

from itertools import count
from typing import Iterable

from tritonclient_shim.core.model import RegisteredRegion
from tritonclient_shim.protos import server_status_pb2 as pb


def to_status(regions: Iterable[RegisteredRegion]) -> pb.SharedMemoryStatus:
    """A server's regions → v1's message, sorted by name as v1's server had them."""
    return pb.SharedMemoryStatus(shared_memory_region=to_regions(regions))


def to_regions(regions: Iterable[RegisteredRegion]) -> list[pb.SharedMemoryRegion]:
    """A server's regions → v1's messages of one region each, sorted by name."""
    return [_to_region(region) for region in sorted(regions, key=lambda one: one.name)]


def _to_region(region: RegisteredRegion) -> pb.SharedMemoryRegion:
    message = pb.SharedMemoryRegion(name=region.name, byte_size=region.byte_size)
    if region.kind == "cuda":
        message.cuda_shared_memory.device_id = region.device_id
        message.cuda_shared_memory.SetInParent()  # also when the device is 0
        return message
    message.system_shared_memory.shared_memory_key = shown_key(region.key)
    message.system_shared_memory.offset = region.offset
    return message


def free_spelling(key: str, taken: Iterable[str]) -> str:
    """The user's key and the keys that a server has registered → how to spell it this time.

    A v2 server uses the descriptor of the first registration again when the very same key is
    registered under another name. It has closed that one: it refuses, or maps whatever file
    has the number now (docs/v2-mapping.md §8). It compares keys as text, while ``shm_open`` drops
    all leading slashes, so one more slash makes the server open the object afresh. That is also
    right when the key has got a new object since.
    """
    spellings = set(taken)
    if key not in spellings:
        return key
    bare = key.lstrip("/")
    return next(spelled for n in count(1) if (spelled := "/" * n + bare) not in spellings)


def shown_key(key: str) -> str:
    """A registered key → the same without the slashes of :func:`free_spelling`."""
    return "/" + key.lstrip("/") if key.startswith("//") else key

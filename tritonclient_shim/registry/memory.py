"""Entries of the two shared-memory modules."""

from __future__ import annotations

from functools import partial

from tritonclient_shim.registry.entry import SERIALISED, RegistryEntry, both

_called = partial(both, counted=True)


def _module(
    first: int, name: str, error: str, create: str, heading: str
) -> tuple[RegistryEntry, ...]:
    legacy = f"tensorrtserver.{name}"
    modern = f"tritonclient.utils.{name}"
    ids = [f"TS{first + number:03d}" for number in range(5)]
    entry = partial(_called, heading=heading)
    return (
        entry(ids[0], f"{legacy}.create_shared_memory_region", f"{modern}.{create}"),
        entry(
            ids[1],
            f"{legacy}.set_shared_memory_region",
            f"{modern}.set_shared_memory_region(handle, arrays)",
        ),
        entry(
            ids[2],
            f"{legacy}.destroy_shared_memory_region",
            f"{modern}.destroy_shared_memory_region(handle)",
        ),
        entry(
            ids[3],
            f"{legacy}.serialize_string_tensor",
            SERIALISED,
            since="1.11",
        ),
        both(ids[4], f"{legacy}.{error}", f"{modern}.{error}", heading=heading),
    )


ENTRIES = (
    *_module(
        81,
        "shared_memory",
        "SharedMemoryException",
        "create_shared_memory_region(name, key, byte_size)",
        "System shared memory",
    ),
    *_module(
        86,
        "cuda_shared_memory",
        "CudaSharedMemoryException",
        "create_shared_memory_region(name, byte_size, device_id)",
        "CUDA shared memory",
    ),
)

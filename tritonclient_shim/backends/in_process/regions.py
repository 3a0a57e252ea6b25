"""System shared memory that is registered with a server in this process."""

from __future__ import annotations

import mmap
import os

from tritonclient_shim.core.errors import ServerFault
from tritonclient_shim.core.model import Buffer, RegisteredRegion, ShmSlice

_FOLDER = "/dev/shm"  # where Linux keeps POSIX shared-memory objects


class Regions:
    """The regions by name. CUDA memory is refused, as by a server without a GPU."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[RegisteredRegion, mmap.mmap]] = {}

    def register(self, name: str, key: str, byte_size: int, offset: int) -> None:
        """Open the object of this key under a name."""
        if name in self._known:
            raise ServerFault(f"shared memory region '{name}' already in manager", "ALREADY_EXISTS")
        try:
            with open(os.path.join(_FOLDER, key.lstrip("/")), "r+b") as file:
                memory = mmap.mmap(file.fileno(), 0)
        except (OSError, ValueError) as error:
            text = f"Unable to open shared memory region: '{key}'"
            raise ServerFault(text, "INTERNAL") from error
        if offset < 0 or byte_size < 0 or offset + byte_size > len(memory):
            memory.close()
            text = f"failed to register shared memory region '{name}': invalid args"
            raise ServerFault(text, "INVALID_ARGUMENT")
        self._known[name] = RegisteredRegion(name, byte_size, key, offset), memory

    def refuse_cuda(self, name: str) -> None:
        """There is no GPU here."""
        text = f"failed to register CUDA shared memory region '{name}': no CUDA in this server"
        raise ServerFault(text, "INVALID_ARGUMENT")

    def unregister(self, name: str) -> None:
        """Forget a region; unknown names succeed."""
        self._known.pop(name, None)

    def unregister_all(self) -> None:
        """Forget every region."""
        self._known.clear()

    def status(self) -> tuple[RegisteredRegion, ...]:
        """All regions."""
        return tuple(row for row, _ in self._known.values())

    def read(self, part: ShmSlice) -> Buffer:
        """The bytes of a slice."""
        start, memory = self._place(part)
        return memory[start : start + part.byte_size]

    def write(self, part: ShmSlice, data: Buffer, output: str) -> None:
        """Write an output to its slice."""
        start, memory = self._place(part)
        if len(data) > part.byte_size:
            raise ServerFault(
                f"shared memory size specified with the request for output '{output}' "
                f"({part.byte_size} bytes) should be at least {len(data)} bytes to hold the "
                "results",
                "INVALID_ARGUMENT",
            )
        memory[start : start + len(data)] = bytes(data)

    def _place(self, part: ShmSlice) -> tuple[int, mmap.mmap]:
        if part.region not in self._known:
            text = f"Unable to find shared memory region: '{part.region}'"
            raise ServerFault(text, "NOT_FOUND")
        row, memory = self._known[part.region]
        if part.offset + part.byte_size > row.byte_size:
            text = f"Invalid offset + byte size for shared memory region: '{part.region}'"
            raise ServerFault(text, "INVALID_ARGUMENT")
        return row.offset + part.offset, memory

"""HTTP/2 frames in a stream of bytes: where they begin, and a few that a server could send."""

from __future__ import annotations

from typing import NamedTuple

_PREFACE = 24  # bytes that every client sends first
_HEAD = 9
DATA, HEADERS, RESET, SETTINGS, GOAWAY, WINDOW = 0, 1, 3, 4, 7, 8


class Frame(NamedTuple):
    """The head of a frame, and all of its bytes."""

    kind: int
    flags: int
    stream: int
    whole: bytes


class FrameCutter:
    """A splitter of bytes into frames; ``pending`` is the beginning of a frame."""

    def __init__(self, preface: bool = False) -> None:
        self._skip = _PREFACE if preface else 0
        self.pending = b""
        self._last = 0

    @property
    def last_stream(self) -> int:
        """Return the stream of the last frame with headers or data."""
        if len(self.pending) >= _HEAD and self.pending[3] in (DATA, HEADERS):
            return int.from_bytes(self.pending[5:9], "big")
        return self._last

    @property
    def missing(self) -> int:
        """Return the number of bytes until the next frame, as far as its length is known."""
        if not self.pending:
            return self._skip
        if len(self.pending) < _HEAD:
            return _HEAD - len(self.pending)
        return _HEAD + int.from_bytes(self.pending[:3], "big") - len(self.pending)

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete."""
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self.pending += data[skipped:]
        frames = []
        while len(self.pending) >= _HEAD:
            size = _HEAD + int.from_bytes(self.pending[:3], "big")
            if len(self.pending) < size:
                break
            whole, self.pending = self.pending[:size], self.pending[size:]
            stream = int.from_bytes(whole[5:9], "big")
            if whole[3] in (DATA, HEADERS):
                self._last = stream
            frames.append(Frame(whole[3], whole[4], stream, whole))
        return frames

"""What many calls, or many replies, have in common: worked out once and kept here.

The only objects of the waist that change. Each slot is written by one layer, with one assignment
of an immutable value that depends on the form alone; so threads may share a form without a lock.
"""

from __future__ import annotations

from typing import Any


class CallForm:
    """Of calls that differ only in data, request id, sequence, priority and timeout.

    Equal are the model, the version, all names, data types, shapes and sizes in bytes; no
    tensor lies in shared memory.
    """

    __slots__ = ("head", "learned", "reply")

    def __init__(self) -> None:
        self.head: Any = None  # the backend's: how it writes what is equal
        self.reply: ReplyForm | None = None  # the backend's: what the latest reply was like
        self.learned = 0  # forms of replies so far


class ReplyForm:
    """Of replies that differ only in data and request id."""

    __slots__ = ("head", "model_name", "model_version", "reading", "tail", "tensors")

    def __init__(
        self,
        model_name: str,
        model_version: str,
        tensors: tuple[Any, ...],
        head: bytes,
        tail: bytes = b"",
    ) -> None:
        self.model_name = model_name
        self.model_version = model_version
        self.tensors = tensors  # (name, datatype, shape, …) of each
        self.head = head  # what comes before the request id on the wire
        self.tail = tail  # what comes between it and the data
        self.reading: Any = None  # the translation's: what became of the latest such reply

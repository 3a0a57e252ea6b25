"""JSON replies of a v2 server: every member is checked before it is used."""

from __future__ import annotations

import json
import re
from typing import Any, Sequence

from tritonclient_shim.core.errors import ForeignError, UnreadableReply
from tritonclient_shim.core.model import Buffer, IndexRow, ModelConfigDocument
from tritonclient_shim.core.reading import shown

#: The numbers of v2 are unsigned and have 64 bits at most.
_LARGEST = 2**64 - 1
_DIGITS = re.compile(r"[0-9]{1,20}")

_REQUIRED: Any = object()


def json_of(body: Buffer) -> Any:
    """Parse a body; ForeignError if it is no JSON, UnreadableReply if it is too deep or large."""
    try:
        return json.loads(bytes(body))
    except ValueError as error:
        raise ForeignError(f"not the answer of a v2 server: {error!r}") from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableReply(repr(error)) from error


def check_done(body: Buffer) -> None:
    """Raise ForeignError if the body of a status 200 to a command is not a v2 server's.

    Triton's is empty. Other v2 servers send a JSON object, and so may a proxy that never sends
    nothing. Headers are no evidence: a proxy sets its own.
    """
    answer = json_of(bytes(body).strip() or b"{}")
    if not isinstance(answer, dict) or "error" in answer:
        raise ForeignError(f"not the answer of a v2 server to a command: {shown(answer)}")


def v2_object(answer: Any, name: str) -> JsonFields:
    """Return the answer, a JSON object with a member of this name; else raise ForeignError."""
    if type(answer) is not dict or name not in answer:
        raise ForeignError(f"not the answer of a v2 server: {shown(answer)}")
    return JsonFields(answer)


def v2_rows(rows: Any, name: str) -> JsonFields:
    """Return the rows, a JSON list of objects, as a member of this name; else raise ForeignError.

    ``{}`` would pass for no rows.
    """
    if type(rows) is not list or not all(type(row) is dict for row in rows):
        raise ForeignError(f"not the answer of a v2 server: {shown(rows)}")
    return JsonFields({name: rows})


class JsonFields:
    """A JSON object; see :class:`tritonclient_shim.backends.base.Fields`.

    An optional member may be missing or null. A member that is not what the protocol says raises
    UnreadableReply, and so does any member of a value that is no object.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def _member(self, name: str, kind: type, expected: str, default: Any = _REQUIRED) -> Any:
        if type(self.value) is not dict:
            wanted = f"an object with a member {name!r}"
            raise UnreadableReply(f"there is {shown(self.value)}", wanted)
        member = self.value.get(name)
        if member is None and default is not _REQUIRED:
            return default
        if type(member) is not kind:
            raise _odd(name, member, expected)
        return member

    def text(self, name: str, default: Any = _REQUIRED) -> str:
        """Return a string."""
        text: str = self._member(name, str, "a string", default)
        return text

    def version(self, name: str) -> str:
        """Return a model version; some servers send a number."""
        version = self.value.get(name) if type(self.value) is dict else None
        return str(version) if type(version) is int else self.text(name, "")

    def number(self, name: str, default: Any = _REQUIRED) -> int:
        """Return an integer from 0 to 2**64 - 1.

        A server that makes its JSON of protobuf messages writes such numbers as strings.
        """
        member = self.value.get(name) if type(self.value) is dict else None
        if type(member) is str and _DIGITS.fullmatch(member):
            number = int(member)
        else:
            number = self._member(name, int, "a non-negative integer", default)
        if not 0 <= number <= _LARGEST:
            raise _odd(name, number, "an integer from 0 to 2**64 - 1")
        return number

    def flag(self, name: str) -> bool:
        """Return true or false; False without a value."""
        flag: bool = self._member(name, bool, "true or false", False)
        return flag

    def list(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return a list."""
        return self._member(name, list, "a list", default)

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return a list of integers."""
        sizes = self.list(name, [])
        if not all(type(size) is int for size in sizes):
            raise _odd(name, sizes, "a list of integers")
        return tuple(sizes)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the strings of a list."""
        return tuple(text for text in self.list(name, []) if type(text) is str)

    def part(self, name: str) -> JsonFields | None:
        """Return an object."""
        part = self._member(name, dict, "an object", None)
        return None if part is None else JsonFields(part)

    def parts(self, name: str) -> Sequence[JsonFields]:
        """Return the objects of a list."""
        return [*map(JsonFields, self.list(name, []))]


def _odd(name: str, member: Any, expected: str) -> UnreadableReply:
    return UnreadableReply(f"its {name!r} is {shown(member)}", expected)


def config_document(reply: JsonFields) -> ModelConfigDocument:
    """``GET /v2/models/<m>/config`` → ModelConfigDocument."""
    for tensor in (*reply.parts("input"), *reply.parts("output")):
        tensor.text("name")
    policy = reply.part("model_transaction_policy")
    decoupled = policy.flag("decoupled") if policy else False
    return ModelConfigDocument(reply.value, reply.text("backend", ""), decoupled)


def served_models(answer: Any) -> tuple[IndexRow, ...]:
    """``GET /v2/models``, which lists the names of the models that are ready → their rows."""
    return tuple(
        IndexRow(name, "", "READY") for name in v2_object(answer, "models").texts("models")
    )

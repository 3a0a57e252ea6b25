"""Bodies of HTTP replies: JSON of a v2 server, or a ForeignError."""

from __future__ import annotations

import json
from typing import Any

from tritonclient_shim.backends.replies import JsonFields, texts
from tritonclient_shim.core.errors import ForeignError, UnreadableReply
from tritonclient_shim.core.model import Buffer, IndexRow, ModelConfigDocument
from tritonclient_shim.core.reading import shown


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


def config_document(reply: JsonFields) -> ModelConfigDocument:
    """``GET /v2/models/<m>/config`` → ModelConfigDocument."""
    for tensor in (*reply.parts("input"), *reply.parts("output")):
        tensor.text("name")
    decoupled = reply.part("model_transaction_policy").get("decoupled", bool, False)
    return ModelConfigDocument(reply.value, reply.text("backend", ""), decoupled)


def served_models(answer: Any) -> tuple[IndexRow, ...]:
    """``GET /v2/models``, which lists the names of the models that are ready → their rows."""
    return tuple(
        IndexRow(name, "", "READY") for name in texts(v2_object(answer, "models"), "models")
    )

"""Every error text of a server that this project recognises, as one table by meaning.

Often only the text says why a v2 server refused a request. A stream has no status, and v1
had other codes than v2. The table also has texts of v1 that this project writes itself, if
something follows from them.

Texts that gRPC writes on the client's side are in ``backends/grpc/errors.py``.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import partial
from typing import Container, Match, NamedTuple


class Meaning(Enum):
    """The meaning of a sentence, and what follows from it."""

    CORRELATION_ID_MISSING = auto()  # → v1's wording
    UNEXPECTED_SHAPE = auto()  # → v1's wording, without the batch dimension
    LOAD_UNKNOWN = auto()  # → v1's wording
    LOAD_FAILED = auto()  # → v1's wording
    VERSION_NOT_POSITIVE = auto()  # → v1's wording: an unknown version like any other
    NOT_LOADED = auto()  # → an InferContext can be made, and fails at its first request
    UNKNOWN_MODEL = auto()  # → NOT_FOUND over HTTP, whatever the status
    REGION_IN_USE = auto()  # → to unregister it is tried again for a while
    BEYOND_REGION = auto()  # → sizes of regions are forgotten; INVALID_ARG on a stream
    MALFORMED_REQUEST = auto()  # → INVALID_ARG on a stream; all else there is the model's error
    OTHER = auto()  # → a code of v1, if any


class Sentence(NamedTuple):
    """One row: a text that has ``pattern`` has this meaning.

    ``sample`` is the sentence as it was measured, or as v1 said it. ``v1_code`` is the name of the
    RequestStatusCode that v1 gave, where v2's code is another or missing (docs/v1-behaviour.md
    §9.3).
    """

    meaning: Meaning
    pattern: str
    sample: str
    v1_code: str = ""


_unavailable = partial(Sentence, v1_code="UNAVAILABLE")
_malformed = partial(Sentence, Meaning.MALFORMED_REQUEST)

#: The first row that matches counts, so the more special row stands first. ``re`` compiles a
#: pattern at its first use, which is when a server refuses a request. docs/v2-mapping.md §6
#: has most measurements.
# fmt: off
SENTENCES: tuple[Sentence, ...] = (
    Sentence(Meaning.CORRELATION_ID_MISSING, r"must specify a non-zero or non-empty correlation ID",
             "inference request to model 'm' must specify a non-zero or non-empty correlation ID"),
    Sentence(Meaning.OTHER, r"correlation ID",
             "string correlation ID cannot be longer than 128 characters"),
    Sentence(Meaning.UNEXPECTED_SHAPE,
             r"(unexpected shape for input '.*' for model '.*'\. )"
             r"Expected \[([-\d, ]*)\], got \[([-\d, ]*)\]",
             "unexpected shape for input 'INPUT0' for model 'm'. Expected [-1,1], got [1,2]. …"),
    Sentence(Meaning.LOAD_UNKNOWN, r"^failed to load '(.*)', failed to poll from model repository",
             "failed to load 'zzz', failed to poll from model repository"),
    Sentence(Meaning.LOAD_FAILED, r"^load failed for model '(.*?)': version ",
             "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: …;\n"),
    Sentence(Meaning.VERSION_NOT_POSITIVE, r"^invalid model version specified '",
             "invalid model version specified '-1' , must be a positive number"),
    Sentence(Meaning.VERSION_NOT_POSITIVE,
             r"^failed to get model version from specified version string '",
             "failed to get model version from specified version string '-1' (details: stol), …"),
    Sentence(Meaning.OTHER, r"^no status available for unknown model",
             "no status available for unknown model 'nope'", v1_code="INVALID_ARG"),
    Sentence(Meaning.NOT_LOADED, r"has no available versions\Z",
             "Request for unknown model: 'm' has no available versions"),
    _unavailable(Meaning.UNKNOWN_MODEL, r"^Request for unknown model",
                 "Request for unknown model: 'm' version 99 is not found"),
    _unavailable(Meaning.OTHER, r"Request timeout expired", "Request timeout expired"),
    _unavailable(Meaning.OTHER, r"Exceeds maximum queue size",
                 "[request id: 56] Exceeds maximum queue size"),
    _unavailable(Meaning.OTHER, r"explicit model load / unload",
                 "explicit model load / unload is not allowed if polling is enabled"),
    Sentence(Meaning.OTHER, r"(protocol|API) is restricted",
             "This protocol is restricted, expecting header 'triton-grpc-protocol-X'"),
    _unavailable(Meaning.OTHER, r"Server (is )?(not ready|exiting|stopping)",
                 "Server not ready"),
    Sentence(Meaning.OTHER, r"^failed to (un)?load '",
             "failed to unload 'm', versions that are still available: 1,2", v1_code="INTERNAL"),
    Sentence(Meaning.OTHER, r"^shared memory region '.*' already in manager",
             "shared memory region 'r' already in manager", v1_code="ALREADY_EXISTS"),
    Sentence(Meaning.OTHER, r"^Unable to find shared memory region",
             "Unable to find shared memory region: 'r'", v1_code="NOT_FOUND"),
    Sentence(Meaning.OTHER, r"^Unable to open shared memory region",
             "Unable to open shared memory region: '/k'", v1_code="INTERNAL"),
    Sentence(Meaning.REGION_IN_USE, r"it is currently in use\.$",
             "Cannot unregister shared memory region 'r', it is currently in use."),
    Sentence(Meaning.REGION_IN_USE, r"^Failed to unregister the following ",
             "Failed to unregister the following system shared memory regions: r ,"),
    Sentence(Meaning.OTHER, r"^class result not available",
             "class result not available for output 'OUTPUT0' due to unsupported type 'TYPE_X'",
             v1_code="UNSUPPORTED"),
    Sentence(Meaning.OTHER,
             r"ModelInfer RPC doesn't support|doesn't support models with decoupled",
             "ModelInfer RPC doesn't support models with decoupled transaction policy",
             "UNSUPPORTED"),
    _malformed(r"^inference request ", "inference request batch-size must be <= 8 for 'm'"),
    _malformed(r"^expected \d+ ", "expected 2 inputs but got 1 inputs for model 'm'. …"),
    _malformed(r"^unexpected ", "unexpected inference input 'X' for model 'm'"),
    _malformed(r"^model supports ", "model supports variable-size for input 'i', …"),
    _malformed(r"^input ", "input byte size mismatch for input 'i' for model 'm'. …"),
    _malformed(r"^inference input ", "inference input 'i' data-type is 'INT32', but model 'm' …"),
    _malformed(r"^in ensemble ", "in ensemble 'm', expected 2 …"),
    _malformed(r"^unable to find data", "unable to find data for input tensor 'i' …"),
    Sentence(Meaning.BEYOND_REGION, r"^Invalid offset",
             "Invalid offset + byte size for shared memory region: 'r'"),
    _malformed(r"^(shape|size) mismatch", "size mismatch -16"),
)
# fmt: on

#: The versions that a sentence of LOAD_FAILED names; their reasons may have lines of their own.
FAILED_VERSION = r"(?m)(?:^|: )version (-?\d+) is at UNAVAILABLE state"

#: Triton's mention of a request, at the front or inside a sentence (docs/v1-behaviour.md §E.10).
_REQUEST_ID = r"\[request id: [^\]]*\] "


def recognise(
    text: str, among: Container[Meaning] = frozenset(Meaning)
) -> tuple[Meaning, Match[str]] | None:
    """Return the first of these meanings that a server's text has, and its match; else None."""
    for row in SENTENCES:
        match = re.search(row.pattern, text) if row.meaning in among else None
        if match:
            return row.meaning, match
    return None


def says(text: str, meaning: Meaning) -> bool:
    """True if a server's text says this."""
    return recognise(text, (meaning,)) is not None


def v1_code(text: str) -> str:
    """Return the name of the code that v1 gave with this text; '' if v2's code decides."""
    rows = (row for row in SENTENCES if row.v1_code and re.search(row.pattern, text))
    return next((row.v1_code for row in rows), "")


def without_request_id(text: str) -> str:
    """Return a server's text without ``[request id: …]``, wherever it stands."""
    return re.sub(_REQUEST_ID, "", text)

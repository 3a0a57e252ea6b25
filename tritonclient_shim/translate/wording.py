"""v1's words for what a v2 server says, since scripts test for them."""

from __future__ import annotations

import re
from typing import Callable, Match, NamedTuple

from tritonclient_shim.core.server_sentences import FAILED_VERSION, Meaning, recognise


class RequestContext(NamedTuple):
    """The parts of a refused request that v1's sentence names and v2's does not."""

    model: str = ""
    version: str = ""
    batching: bool = False  # shapes in v2 begin with the batch dimension


def v1_text(
    message: str,
    context: RequestContext = RequestContext(),  # noqa: B008 - immutable
) -> str:
    """Return v1's wording of a v2 server's message, or the message itself if v1 had the same words
    (docs/v1-behaviour.md §E.8).
    """
    sentence = recognise(message, _WORDINGS)
    if sentence is None:
        return message
    meaning, match = sentence
    return _WORDINGS[meaning](match, context)


def _correlation_id(match: Match[str], context: RequestContext) -> str:
    return match.string.replace(" or non-empty", "")


def _shape(match: Match[str], context: RequestContext) -> str:
    expected, got = (_entry_shape(dims, context.batching) for dims in match.group(2, 3))
    return f"{match.string[: match.start()]}{match[1]}Expected {expected}, got {got}"


def _entry_shape(dims: str, batching: bool) -> str:
    """Return ``[3,4]`` for ``2,3,4`` if the model batches: v1's shapes had no batch dimension."""
    sizes = [size.strip() for size in dims.split(",") if size.strip()]
    return f"[{','.join(sizes[1:] if batching else sizes)}]"


def _load_unknown(match: Match[str], context: RequestContext) -> str:
    return f"failed to load '{match[1]}', no version is available"


def _load_failed(match: Match[str], context: RequestContext) -> str:
    versions = re.findall(FAILED_VERSION, match.string)
    return f"failed to load '{match[1]}', versions that are not available: {','.join(versions)}"


def _version(match: Match[str], context: RequestContext) -> str:
    return f"Request for unknown model: '{context.model}' version {context.version} is not found"


#: What v1 said in place of a v2 server's sentence, by the sentence's meaning.
_WORDINGS: dict[Meaning, Callable[[Match[str], RequestContext], str]] = {
    Meaning.CORRELATION_ID_MISSING: _correlation_id,
    Meaning.UNEXPECTED_SHAPE: _shape,
    Meaning.LOAD_UNKNOWN: _load_unknown,
    Meaning.LOAD_FAILED: _load_failed,
    Meaning.VERSION_NOT_POSITIVE: _version,
}

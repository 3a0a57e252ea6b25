"""KServe v2 server messages → the wording that v1 scripts test for."""

from __future__ import annotations

import re
from typing import Callable, Match, NamedTuple

from tritonclient_shim.core import dtypes


class Asked(NamedTuple):
    """What was asked, as far as a v2 message leaves out what v1's sentence names."""

    model: str = ""
    version: str = ""
    batching: bool = False  # the model's v2 shapes start with the batch dimension


def v1_text(message: str, asked: Asked = Asked()) -> str:  # noqa: B008 - immutable
    """A v2 server's message → v1's wording where it differs, else the message itself
    (docs/v1-behaviour.md §E.8).
    """
    for pattern, word in _TABLE:
        match = pattern.search(message)
        if match:
            return word(match, asked)
    return message


def class_not_available(output: str, datatype: str) -> str:
    """An output and its v2 type → v1's refusal to classify it (docs/v1-behaviour.md §3.4)."""
    return (
        f"class result not available for output '{output}' "
        f"due to unsupported type '{dtypes.v1_name(datatype)}'"
    )


def _correlation_id(match: Match[str], asked: Asked) -> str:
    return match.string.replace(" or non-empty", "")


def _shape(match: Match[str], asked: Asked) -> str:
    expected, got = (_entry_shape(dims, asked.batching) for dims in match.group(2, 3))
    return f"{match.string[: match.start()]}{match[1]}Expected {expected}, got {got}"


def _entry_shape(dims: str, batching: bool) -> str:
    """``2,3,4`` → ``[3,4]`` for a batching model: v1's shapes had no batch dimension."""
    sizes = [size.strip() for size in dims.split(",") if size.strip()]
    return f"[{','.join(sizes[1:] if batching else sizes)}]"


def _load_unknown(match: Match[str], asked: Asked) -> str:
    return f"failed to load '{match[1]}', no version is available"


def _load_failed(match: Match[str], asked: Asked) -> str:
    versions = _UNAVAILABLE_VERSION.findall(match.string)
    return f"failed to load '{match[1]}', versions that are not available: {','.join(versions)}"


def _version(match: Match[str], asked: Asked) -> str:
    return f"Request for unknown model: '{asked.model}' version {asked.version} is not found"


_UNAVAILABLE_VERSION = re.compile(r"(?:^|: )version (-?\d+) is at UNAVAILABLE state", re.MULTILINE)

_TABLE: tuple[tuple[re.Pattern[str], Callable[[Match[str], Asked], str]], ...] = (
    (re.compile(r"must specify a non-zero or non-empty correlation ID"), _correlation_id),
    (
        re.compile(
            r"(unexpected shape for input '.*' for model '.*'\. )"
            r"Expected \[([-\d, ]*)\], got \[([-\d, ]*)\]"
        ),
        _shape,
    ),
    (re.compile(r"^failed to load '(.*)', failed to poll from model repository"), _load_unknown),
    (re.compile(r"^load failed for model '(.*?)': version "), _load_failed),
    (re.compile(r"^invalid model version specified '"), _version),
    (re.compile(r"^failed to get model version from specified version string '"), _version),
)

"""Compare the observations of two runs of a scenario."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, List, NamedTuple

Steps = List[Any]  # of [label, outcome]
MISSING = "no such step"

#: Patterns of Python's own messages → the text to compare. The messages depend on Python's version.
#: The facade keeps those of v1's time, the genuine client has those of its interpreter.
_WORDS = (
    (
        re.compile(
            r".*\(\) (missing \d|got an unexpected keyword|takes |got multiple values).*"
            r"|int\(\) argument must be.*"
        ),
        "a call that does not fit",
    ),
    (
        re.compile(
            r"an integer is required \(got type [\w.]+\)|int expected instead of [\w.]+( instance)?"
            r"|'[\w.]+' object cannot be interpreted as an integer"
        ),
        "not an integer",
    ),
    (re.compile(r"(argument \d+): <class '(\w+)'>: (.*)"), r"\1: \2: \3"),
)


class Differing(NamedTuple):
    """A step with different outcomes for the genuine client and the facade."""

    label: str
    genuine: Any
    ours: Any

    def __str__(self) -> str:
        v1, ours = (json.dumps(item)[:700] for item in self[1:])
        return f"{self.label}\n  v1:   {v1}\n  ours: {ours}"


def differing(genuine: Steps, ours: Steps) -> list[Differing]:
    """Return the steps whose outcomes differ, or that only one of the two runs has."""
    left, right = by_label(genuine), by_label(ours)
    labels = [*left, *(label for label in right if label not in left)]
    pairs = [(item, left.get(item, MISSING), right.get(item, MISSING)) for item in labels]
    return [Differing(*pair) for pair in pairs if pair[1] != pair[2]]


def by_label(steps: Steps) -> dict[str, Any]:
    """Return the outcomes by label. Number a label that comes again."""
    count: Counter[str] = Counter()
    result = {}
    for label, outcome in steps:
        count[label] += 1
        result[label if count[label] == 1 else f"{label} ({count[label]})"] = worded(outcome)
    return result


def worded(outcome: Any) -> Any:
    """Return an outcome without Python's version-dependent words."""
    if not isinstance(outcome, dict) or outcome.get("raised") not in ("TypeError", "ArgumentError"):
        return outcome
    for pattern, text in _WORDS:
        result = pattern.fullmatch(outcome["with"])
        if result:
            return {**outcome, "with": result.expand(text)}
    return outcome

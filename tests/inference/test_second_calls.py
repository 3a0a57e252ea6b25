"""Every inference of the scenarios, made twice on one context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed import TritonServer
from tests.equivalence import sides

#: Files of scenarios without models that keep a state, and without models that are loaded again.
FILES = (
    "classes", "datatypes", "inputs", "options", "outputs", "refusals",
    "shared_memory", "strings",
)  # fmt: skip
#: The mark of the second call's steps: see tests/equivalence/program/repeating.py.
AGAIN = "again: "


def pairs_of(steps: Any) -> list[tuple[str, Any, Any]]:
    """Return label, first and second outcome of everything that was observed twice."""
    latest: dict[str, Any] = {}
    pairs = []
    for label, outcome in steps:
        if label.startswith(AGAIN):
            name = label[len(AGAIN) :]
            pairs.append((name, latest[name], outcome))
        else:
            latest[label] = outcome
    return pairs


@pytest.mark.parametrize("protocol", sides.PROTOCOLS)
@pytest.mark.parametrize("file", FILES)
def test_second_calls(triton: TritonServer, tmp_path: Path, file: str, protocol: str) -> None:
    """A second equal call has the results, or the error, of the first one."""
    observed = sides.facade(triton).run(
        tmp_path, protocol, sides.scenarios(file), sides.token(), program="repeating.py"
    )
    pairs = [pair for steps in observed.values() for pair in pairs_of(steps)]
    assert pairs, observed
    assert [pair for pair in pairs if pair[1] != pair[2]] == []

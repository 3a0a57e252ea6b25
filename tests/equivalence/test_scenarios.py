"""Compare programs of the genuine client, through the gateway, with the facade's."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.equivalence import compare, known, sides

ROWS = known.load()
DEFINED = sides.scenarios(*(file for file in sides.files() if file != "undefined"))
#: Programs of these seeds. The environment ``equivalence`` of tox runs many more.
PROGRAMS = [
    f"generated.{seed}" for seed in range(int(os.environ.get("EQUIVALENCE_PROGRAMS", "30")))
]


@pytest.mark.parametrize("via", sides.PROTOCOLS)
@pytest.mark.parametrize("scenario", DEFINED)
def test_scenario(observe: Any, scenario: str, via: str) -> None:
    """Both clients have equal observations, except for the known differences."""
    judge(observe(scenario, via), scenario, via)


@pytest.mark.parametrize("via", sides.PROTOCOLS)
@pytest.mark.parametrize("scenario", PROGRAMS)
def test_generated_program(observe: Any, scenario: str, via: str) -> None:
    """Both clients have equal observations of a program of random calls."""
    judge(observe(scenario, via), scenario, via)


def judge(both: tuple[Any, Any], scenario: str, via: str) -> None:
    """Fail if the observations differ unexpectedly, or agree unexpectedly."""
    result = compare.differing(*both)
    rows = known.of_scenario(ROWS, scenario, via)
    expected = {label: row.id for row in rows for label in row.labels(scenario, via)}
    unexpected = [str(item) for item in result if item.label not in expected]
    assert not unexpected, "\n".join(["the facade differs from the genuine client:", *unexpected])
    differing = {item.label for item in result}
    agreeing = {label: id for label, id in expected.items() if label not in differing}
    assert not agreeing, f"no longer different, so remove from known_differences.toml: {agreeing}"
    for row in rows:
        labels = row.labels(scenario, via)
        text = json.dumps([item.ours for item in result if item.label in labels])
        assert row.shows in text.replace('\\"', '"'), f"{row.id}: {row.shows!r} is not in {text}"

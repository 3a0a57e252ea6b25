"""Usage patterns in the arguments of a call, for arguments of any kind."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.notice.watch import patterns_of

PLAIN: dict[str, Any] = {
    "inputs": {},
    "outputs": {},
    "batch_size": 1,
    "flags": 0,
    "corr_id": 0,
    "priority": 0,
    "timeout_us": 0,
}


@pytest.mark.parametrize(
    "strange",
    [
        {"inputs": None},
        {"inputs": {"A": 5}},
        {"outputs": [1]},
        {"outputs": {"B": 7}},
        {"inputs": 0},
    ],
)
def test_what_a_rule_cannot_read_is_no_usage_pattern(strange: dict[str, Any]) -> None:
    """Arguments that the call will refuse raise nothing here, and hide no other pattern."""
    assert patterns_of("TS051", {**PLAIN, **strange, "corr_id": 3}) == ["TS111"]


def test_arguments_that_are_missing() -> None:
    """An asynchronous call without inputs is reported with its other patterns."""
    assert patterns_of("TS053", {"args": (), "kwargs": {"priority": 2}}) == ["TS112"]

"""How often each promise is tested: one table of amounts, and the chosen profile.

The variable ``RELIABILITY`` chooses: ``short`` (the default, within every run of the suite),
``long`` (``scripts/test --long``), or a number, a multiple of the long profile.
"""

from __future__ import annotations

import os
from typing import Sequence, TypeVar

VARIABLE = "RELIABILITY"

#: The number of attempts of each kind in the short profile and in the long profile.
AMOUNTS = {
    "styles of each cell of the fault table": (1, 3),
    "repetitions of each cell of the fault table": (1, 1),
    "calls of 16 threads on one context": (1_600, 100_000),
    "contexts opened and dropped": (200, 10_000),
    "calls of a soak": (1_000, 200_000),
    "results that nobody fetches": (500, 20_000),
    "ends of processes": (1, 3),
    "kinds of contexts for each event": (1, 3),
    "styles of each event of a server's life": (1, 3),
    "answers of servers": (120, 20_000),
    "arguments of any kind": (200, 100_000),
    "settings of any kind": (120, 12_000),
    "calls of a stub": (100, 4_000),
    "commands with any arguments": (56, 840),
    "requests to the gateway": (200, 50_000),
    "programs that are migrated": (20, 500),
    "signals in each waiting call": (1, 100),
    "ways of having children": (1, 100),
    "children of a busy process": (20, 2_000),
}

T = TypeVar("T")


def profile() -> str:
    """Return the profile that the variable names."""
    return os.environ.get(VARIABLE) or "short"


def amount(counted: str) -> int:
    """Return the number of attempts in this run."""
    short, long = AMOUNTS[counted]
    if profile() == "short":
        return short
    return long if profile() == "long" else max(1, round(long * float(profile())))


def some(rows: Sequence[T], counted: str, number: int) -> list[T]:
    """Return as many of the rows as the amount says.

    Each number gives other rows, so all have a turn.
    """
    count = min(amount(counted), len(rows))
    return [rows[(number + step) % len(rows)] for step in range(count)]

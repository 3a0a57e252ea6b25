"""How often each promise is tested: one table of amounts, and the chosen profile.

The variable ``RELIABILITY`` chooses: ``short`` (the default, within every run of the suite), or
``long`` (``scripts/test --long``).
"""

from __future__ import annotations

import os
from typing import Sequence, TypeVar

#: The number of attempts of each kind in the short profile and in the long profile.
AMOUNTS = {
    "calls of 16 threads on one context": (1_600, 100_000),
    "contexts opened and dropped": (200, 10_000),
    "calls of a soak": (1_000, 200_000),
    "results that nobody fetches": (500, 20_000),
    "ends of processes": (1, 3),
    "kinds and styles": (1, 3),
    "answers of servers": (20, 3_300),
    "arguments of requests": (22, 11_000),
    "arguments of contexts": (22, 11_000),
    "arguments of functions": (22, 11_000),
    "changes of settings": (40, 4_000),
    "calls of a stub": (50, 2_000),
    "arguments of a command": (8, 120),
    "requests to the gateway": (100, 25_000),
    "programs that are scanned or migrated": (10, 250),
    "signals in each waiting call": (1, 100),
    "ways of having children": (1, 100),
    "children of a busy process": (20, 2_000),
}

T = TypeVar("T")


def is_short() -> bool:
    """True if the short profile runs."""
    return (os.environ.get("RELIABILITY") or "short") == "short"


def amount(counted: str) -> int:
    """Return the number of attempts in this run."""
    short, long = AMOUNTS[counted]
    return short if is_short() else long


def some(rows: Sequence[T], counted: str, number: int) -> list[T]:
    """Return as many of the rows as the amount says.

    Each number gives other rows, so all have a turn.
    """
    count = min(amount(counted), len(rows))
    return [rows[(number + step) % len(rows)] for step in range(count)]

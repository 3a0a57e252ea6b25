"""Comparisons that need new processes: peak memory, and the duration of an import."""

from __future__ import annotations

import subprocess
import sys
from typing import Callable

from benchmarks.harness import ROOT, Comparison, Ratio, orders
from benchmarks.peak import MEGABYTES, PROGRAMS

MEMORY = f"peak memory growth, {MEGABYTES} MB both ways"
MEMORY_GOALS = {"gRPC": 0.6, "HTTP": 0.8}
MEMORY_ROUNDS = 5  # figures in bytes hardly spread
IMPORT = "import tensorrtserver.api ÷ numpy, google.protobuf"
IMPORT_ROUNDS = 30

_IMPORTS = {
    "facade": "import tensorrtserver.api",
    "imports": "import numpy, google.protobuf",
}
_TIMED = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def _output(*arguments: str) -> float:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        cwd=ROOT,
    )
    return float(done.stdout)


def in_turns(programs: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Return the programs' figures, run in an order that changes from round to round."""
    figures: dict[str, list[float]] = {name: [] for name in programs}
    for _, order in zip(range(rounds), orders(list(programs))):
        for name in order:
            figures[name].append(programs[name]())
    return figures


def memory(url: str, protocol: str) -> Comparison:
    """Compare the growth of the peak resident size by a 256 MB tensor, sent and received."""

    def program(name: str) -> Callable[[], float]:
        number = "1" if protocol == "gRPC" else "0"
        return lambda: _output("-m", "benchmarks.peak", name, url, number)

    grown = in_turns({name: program(name) for name in PROGRAMS}, MEMORY_ROUNDS)
    ratio = Ratio.of(grown["facade"], grown["hand"])
    goal = MEMORY_GOALS[protocol]
    return Comparison(MEMORY, protocol, "hand", MEMORY_ROUNDS, ratio, None, goal)


def imports() -> Comparison:
    """Compare ``import tensorrtserver.api`` with ``import numpy, google.protobuf``."""

    def program(statement: str) -> Callable[[], float]:
        return lambda: _output("-c", _TIMED.format(statement=statement))

    programs = {name: program(statement) for name, statement in _IMPORTS.items()}
    for warm_up in programs.values():
        warm_up()  # compiled files are written once
    seconds = in_turns(programs, IMPORT_ROUNDS)
    wall = Ratio.of(seconds["facade"], seconds["imports"])
    return Comparison(IMPORT, "–", "imports", IMPORT_ROUNDS, wall, None, 1.3)

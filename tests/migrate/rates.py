"""Count the legacy uses that are rewritten."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Dict, Iterable, Mapping

from tests.migrate.migrating import TODO, Site

#: ``run`` and ``async_run`` in its forms.
REQUESTS = ("TS051", "TS052", "TS053", "TS054")

Counts = Dict[str, "Counter[str]"]  # id → outcome → how often


def counted(sites: Iterable[Site]) -> Counts:
    """Return the number of uses with each outcome, by id."""
    counts: Counts = defaultdict(Counter)
    for site in sites:
        counts[site.id][site.outcome] += 1
    return dict(sorted(counts.items()))


def share(counts: Mapping[str, Counter[str]]) -> float:
    """Return the share of the uses that are rewritten, safely or not."""
    total = sum(sum(states.values()) for states in counts.values())
    left = sum(states[TODO] for states in counts.values())
    return 1 - left / total


def table(counts: Mapping[str, Counter[str]]) -> str:
    """Return the counts as text, with the shares below."""
    states = sorted({state for value in counts.values() for state in value})
    rows = [("id", *states), *((id, *(str(row[s]) for s in states)) for id, row in counts.items())]
    total: Counter[str] = sum(counts.values(), Counter())
    rows.append(("all", *(str(total[state]) for state in states)))
    lines = ["  ".join(f"{cell:>12}" for cell in row) for row in rows]
    requests = {id: row for id, row in counts.items() if id in REQUESTS}
    lines.append(f"all uses: {share(counts):.1%}, requests: {share(requests):.1%}")
    return "\n".join(lines)

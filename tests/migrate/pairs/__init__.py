"""Short sources, and what they become: name → before and after, below the same star import."""

from __future__ import annotations

from tests.migrate.pairs import errors, last_requests, spread, status, uses, values

PAIRS: dict[str, tuple[str, str]] = {
    f"{module.__name__.rpartition('.')[2]}-{name}": pair
    for module in (uses, values, last_requests, errors, status, spread)
    for name, pair in module.PAIRS.items()
}

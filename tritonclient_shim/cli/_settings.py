"""``doctor``: the settings as they apply now."""

from __future__ import annotations

from typing import Iterator

from tritonclient_shim import settings
from tritonclient_shim.cli._findings import NOTE, OK, WRONG, Finding


def table() -> Iterator[Finding]:
    """One finding per setting, then each ``TRITON_SHIM_`` variable that is no setting."""
    try:
        rows = settings.described()
    except ValueError as error:
        yield Finding(WRONG, str(error))
        rows = ()
    for row in rows:
        level = OK if row.source == "default" else NOTE
        yield Finding(level, f"{row.name} = {row.value}  ({row.source}; {row.variable})")
    for name, near in settings.unknown_variables():
        hint = f"; did you mean {near}?" if near else ""
        yield Finding(WRONG, f"{name} is set, and there is no such setting{hint}")

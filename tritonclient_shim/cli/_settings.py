"""``doctor``: the settings that are not at their defaults."""

from __future__ import annotations

from typing import Iterator

from tritonclient_shim import settings
from tritonclient_shim.cli._findings import NOTE, OK, WRONG, Finding


def table() -> Iterator[Finding]:
    """One finding per setting that was given, and per ``TRITON_SHIM_`` variable that is none."""
    try:
        rows = settings.described()
    except ValueError as error:
        yield Finding(WRONG, str(error))
    else:
        given = [row for row in rows if row.source != "default"]
        for row in given:
            yield Finding(NOTE, f"{row.name} = {row.value}  ({row.source}; {row.variable})")
        if not given:
            yield Finding(OK, "each has its default; tritonclient-shim guide settings lists them")
    for name, near in settings.unknown_variables():
        hint = f"; did you mean {near}?" if near else ""
        yield Finding(WRONG, f"{name} is set, and there is no such setting{hint}")

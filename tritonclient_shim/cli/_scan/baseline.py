"""A file of known uses, by the text of their lines: what it has is not reported again."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any, Collection, NamedTuple

from tritonclient_shim.cli._scan import ScanRefused
from tritonclient_shim.usage.rows import UsageRow

_VERSION = 1


class KnownUse(NamedTuple):
    """A use, wherever in the file it stands; the file as seen from the baseline's folder."""

    file: str
    id: str
    line: str


def write(path: str, rows: list[UsageRow]) -> None:
    """Write these uses to a baseline, sorted."""
    counted = Counter(_known(path, row) for row in rows)
    uses = [{**use._asdict(), "count": count} for use, count in sorted(counted.items())]
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"version": _VERSION, "uses": uses}, indent=2) + "\n")
    except OSError as error:
        raise ScanRefused(
            f"the baseline {path} cannot be written: {error.strerror}; name a file in a folder "
            "that exists and can be written to"
        ) from error


def read(path: str) -> Counter[KnownUse]:
    """Return the uses in a baseline, and how often each is known."""
    remedy = f"write one with: tritonclient-shim scan --write-baseline {path} PATH"
    try:
        with open(path, encoding="utf-8") as file:
            return _counted(json.load(file))
    except OSError as error:
        raise ScanRefused(
            f"the baseline {path} cannot be read: {error.strerror}; {remedy}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ScanRefused(f"{path} is no baseline: {error}; {remedy}") from error


def _counted(document: Any) -> Counter[KnownUse]:
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        raise ValueError(f"expected an object with version {_VERSION}")
    try:
        uses = [(KnownUse(u["file"], u["id"], u["line"]), u["count"]) for u in document["uses"]]
    except (TypeError, KeyError) as error:
        raise ValueError("expected uses with file, id, line and count") from error
    if any([type(part) for part in (*use, count)] != [str, str, str, int] for use, count in uses):
        raise ValueError("expected file, id and line as text, and count as a whole number")
    return Counter(dict(uses))


def unknown(path: str, known: Counter[KnownUse], rows: list[UsageRow]) -> list[UsageRow]:
    """Return the uses that are not known; take the others out of ``known``."""
    found = []
    for row in rows:
        use = _known(path, row)
        if known[use] > 0:
            known[use] -= 1
        else:
            found.append(row)
    return found


def gone(
    path: str, known: Counter[KnownUse], files: Collection[str], looked_for: Collection[str]
) -> int:
    """Return how many of the known uses are gone from these files."""
    read_here = {_file(path, one) for one in files}
    return sum(
        count
        for use, count in known.items()
        if use.file in read_here and (not looked_for or use.id in looked_for)
    )


def _known(path: str, row: UsageRow) -> KnownUse:
    return KnownUse(_file(path, row.file), row.entry.id, row.snippet.strip())


def _file(path: str, file: str) -> str:
    folder = os.path.dirname(os.path.realpath(path))
    return os.path.relpath(os.path.realpath(file), folder).replace(os.sep, "/")

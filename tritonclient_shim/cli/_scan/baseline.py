"""A file of known uses, by the text of their lines. They are not reported again."""

from __future__ import annotations

import json
import os
from collections import Counter
from operator import index
from typing import Any, Collection, NamedTuple

from tritonclient_shim.cli import Refused
from tritonclient_shim.usage.rows import UsageRow

_VERSION = 1


class KnownUse(NamedTuple):
    """A use by the text of its line; the file as seen from the baseline's folder."""

    file: str
    id: str
    line: str


class Baseline:
    """The uses that are not reported, and how often each is known."""

    def __init__(self, path: str) -> None:
        """Read the file; raise Refused if it is no baseline."""
        self._path = path
        remedy = f"write one with: tritonclient-shim scan --write-baseline {path} PATH"
        try:
            with open(path, encoding="utf-8") as file:
                self._known = _counted(json.load(file))
        except OSError as error:
            text = f"the baseline {path} cannot be read: {error.strerror}; {remedy}"
            raise Refused(text) from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise Refused(
                f"{path} is no baseline; expected version {_VERSION}, and uses with file, id, line "
                f"and count; {remedy}"
            ) from error

    def take(self, row: UsageRow) -> bool:
        """True if the use is known. A second equal use must be known, too."""
        use = _known(self._path, row)
        self._known[use] -= 1
        return self._known[use] >= 0

    def gone(self, files: Collection[str], only: Collection[str] | None) -> int:
        """Return how many known uses of these files were not taken; with ``only``, of these ids."""
        seen = {_file(self._path, file) for file in files}
        return sum(
            max(count, 0)
            for use, count in self._known.items()
            if use.file in seen and (not only or use.id in only)
        )


def write(path: str, rows: list[UsageRow]) -> None:
    """Write these uses to a baseline, sorted."""
    counted = Counter(_known(path, row) for row in rows)
    uses = [{**use._asdict(), "count": count} for use, count in sorted(counted.items())]
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"version": _VERSION, "uses": uses}, indent=2) + "\n")
    except OSError as error:
        raise Refused(
            f"the baseline {path} cannot be written: {error.strerror}; name a file in a folder "
            "that exists and can be written to"
        ) from error


def _counted(document: Any) -> Counter[KnownUse]:
    """Return how often the document has each use; raise ValueError, TypeError or KeyError."""
    if document["version"] != _VERSION:
        raise ValueError(document["version"])
    uses = document["uses"]
    return Counter(
        {KnownUse(use["file"], use["id"], use["line"]): index(use["count"]) for use in uses}
    )


def _known(path: str, row: UsageRow) -> KnownUse:
    return KnownUse(_file(path, row.file), row.entry.id, row.snippet.strip())


def _file(path: str, file: str) -> str:
    folder = os.path.dirname(os.path.realpath(path))
    return os.path.relpath(os.path.realpath(file), folder).replace(os.sep, "/")

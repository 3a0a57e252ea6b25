"""Scan reports every use in the legacy programs, and nothing else.

A line of ``expected_uses.txt`` is ``LINE IDS | text of the line``, below the name of the program's
file. In a notebook ``CELL:LINE`` stands for the line. The text helps whoever reviews the ids. It
also shows that a program changed.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Dict

import pytest

from tests.migrate.table import PROGRAMS_FOLDER
from tritonclient_shim.migrate.files import scan
from tritonclient_shim.scan import sources

EXPECTED = Path(__file__).with_name("expected_uses.txt")
Uses = Dict[str, str]  # place → the ids, and the line


def sources_of_programs() -> list[Path]:
    """Return every file of Python and every notebook among the programs."""
    paths = (path for path in PROGRAMS_FOLDER.rglob("*") if path.suffix in (".py", ".ipynb"))
    return sorted(path for path in paths if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    """Return the name of a program's file in ``expected_uses.txt``."""
    return path.relative_to(PROGRAMS_FOLDER).as_posix()


def expected() -> dict[str, Uses]:
    """Return the expected uses of each file."""
    uses: dict[str, Uses] = defaultdict(dict)
    name = ""
    for line in EXPECTED.read_text("utf-8").splitlines():
        if line.startswith(" "):
            place, _, rest = line.strip().partition(" ")
            uses[name][place] = rest.strip()
        else:
            name = line
    return dict(uses)


def scanned(path: Path) -> Uses:
    """Return the uses that scan reports for a file."""
    ids: dict[str, set[str]] = defaultdict(set)
    lines = {}
    for row in scan(sources.read(str(path))):
        place = f"{row.cell}:{row.line}" if row.cell else str(row.line)
        ids[place].add(row.entry.id)
        lines[place] = row.snippet
    return {place: f"{' '.join(sorted(ids[place]))} | {lines[place].strip()}" for place in ids}


@pytest.mark.parametrize("path", sources_of_programs(), ids=name_of)
def test_every_use_is_found_and_nothing_else(path: Path) -> None:
    """The ids at each line are those of ``expected_uses.txt``."""
    assert scanned(path) == expected()[name_of(path)]


def test_every_expectation_is_of_a_program() -> None:
    """``expected_uses.txt`` names exactly the existing programs."""
    assert expected().keys() == {name_of(path) for path in sources_of_programs()}

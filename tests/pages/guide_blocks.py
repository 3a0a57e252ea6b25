"""Read the code blocks of migration_guide.md: one pair for each ``v1`` block, with its new code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "migration_guide.md"
_PART = re.compile(r"^(?:(#+) ([^\n]+)|```python ([\w ]+)\n(.*?)^```)$", re.MULTILINE | re.DOTALL)


@dataclass
class Pair:
    """A pair for one operation: its section in the guide, and its code by column."""

    name: str
    blocks: dict[str, str] = field(default_factory=dict)


def read() -> tuple[dict[str, str], list[Pair], list[Pair]]:
    """Return the preludes by column, the pairs that run, and the pairs that are only shown."""
    preludes: dict[str, str] = {}
    run: list[Pair] = []
    shown: list[Pair] = []
    heading = ""
    for _, title, words, code in _PART.findall(GUIDE.read_text("utf-8")):
        heading = title or heading
        marks = words.split()
        if not marks:
            continue
        if marks[0] == "prelude":
            preludes[marks[1]] = code
            continue
        pairs = shown if "shown" in marks else run
        if marks[0] == "v1":
            pairs.append(Pair(f"{heading} {sum(p.name.startswith(heading) for p in pairs) + 1}"))
        pairs[-1].blocks[marks[0]] = code
    return preludes, run, shown


def anchors() -> set[str]:
    """Return the anchors of the guide's headings, as GitHub makes them."""
    result = re.findall(r"^#+ (.+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in result}


def plain(value: Any) -> Any:
    """Return arrays and tuples as lists, bytes as text, so that all columns compare and print."""
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def at(code: str, http: str, grpc: str) -> str:
    """Return the code with the addresses of a real server."""
    return code.replace("localhost:8000", http).replace("localhost:8001", grpc)

"""Text of a notebook's cell → its Python, each line where it was; IPython's own are left out."""

from __future__ import annotations

import re

#: Cell magics whose cell is Python of the notebook, or of a file that it writes.
_PYTHON = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "writefile"})
#: Line magics that run the statement behind them, with their options.
_RUNNING = re.compile(r"%(?:time|timeit|prun|memit)\s+(?:-\w+\s+(?:\d+\s+)?)*(?=[^-\s])")
#: Magics, shell commands and help. ``% x`` and ``!= x`` continue an expression.
_MAGIC = re.compile(r"(\s*)(?:%+[A-Za-z_].*|!(?!=).*|\?.*|[\w.]+\?{1,2}\s*|\w+\s*=\s*[%!].*)$")
_COMPOUND = re.compile(r"(?:for|while|with|if|try|async)\b")


def python_of(cell: str) -> list[str]:
    """Return a cell's lines as Python: ``pass`` for IPython's, empty for another language's."""
    lines = cell.splitlines() or [""]
    if not lines[0].startswith("%%"):
        return _without_magics(lines)
    words = lines[0][2:].split()
    other = bool(words) and words[0] not in _PYTHON
    other = other or words[:1] == ["writefile"] and not words[-1].endswith(".py")
    return ["", *([""] * (len(lines) - 1) if other else _without_magics(lines[1:]))]


def _without_magics(lines: list[str]) -> list[str]:
    python: list[str] = []
    continued = False  # a magic goes on in the next line
    for line in lines:
        kept = _RUNNING.sub(_statement, line)
        magic = None if continued else _MAGIC.match(kept)
        python.append("" if continued else f"{magic[1]}pass" if magic else kept)
        continued = (continued or bool(magic)) and line.rstrip().endswith("\\")
    return python


def _statement(magic: re.Match[str]) -> str:
    """Return what stands for a magic before its statement; each column stays where it is."""
    before, after = magic.string[: magic.start()], magic.string[magic.end() :]
    if before.strip():
        return " " * len(magic[0]) if before.rstrip().endswith("=") else magic[0]
    return "" if _COMPOUND.match(after) else "0" + " " * (len(magic[0]) - 2) + ";"

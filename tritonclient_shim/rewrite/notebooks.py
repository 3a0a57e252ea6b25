"""Rewrite the code cells of notebooks. Everything else stays."""

from __future__ import annotations

import ast
import json
from typing import Any

from tritonclient_shim.migrate.notebooks import python_of


class Notebook:
    """A notebook of format 4, whose code cells are rewritten."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._document = json.loads(text)
        cells = [cell for cell in self._document["cells"] if isinstance(cell, dict)]
        self._cells = [cell for cell in cells if cell.get("cell_type") == "code"]
        self._hidden: dict[str, str] = {}

    def sources(self) -> list[str]:
        """Return the Python of each code cell, with marks instead of IPython's lines."""
        return [self._python("".join(cell.get("source", ()))) for cell in self._cells]

    def _python(self, source: str) -> str:
        original = source.splitlines() or [""]
        lines = [self._line(old, new) for old, new in zip(original, python_of(source))]
        try:
            ast.parse("\n".join(lines) + "\n")
        except (SyntaxError, ValueError):  # a broken cell, which the scan reports
            lines = [self._line(line, "") for line in original]
        return "\n".join(lines)

    def _line(self, old: str, new: str) -> str:
        if old == new:
            return new
        mark = f"_ipython_line_{len(self._hidden)}_"
        if new.startswith("0 ") and ";" in new:  # a magic before a statement
            at = new.index(";")
            self._hidden[new[: at + 1]] = old[: at + 1]
            return new
        self._hidden[mark] = old
        if new.strip() == "pass":
            return new.replace("pass", mark)
        return f"{new}# {mark}" if not new.strip() else new

    def changed(self, sources: list[str]) -> str:
        """Return the notebook with other sources in its code cells."""
        for cell, new in zip(self._cells, sources):
            old = "".join(cell.get("source", ()))
            text = self._restored(new) + ("\n" if new and old.endswith("\n") else "")
            if text != old:
                whole = isinstance(cell.get("source"), str)
                cell["source"] = text if whole else text.splitlines(keepends=True)
        return self._dumped()

    def _restored(self, text: str) -> str:
        lines = text.split("\n")
        for mark, old in self._hidden.items():
            lines = [old if mark in line and mark[0] == "_" else line for line in lines]
            if mark[0] == "0":
                lines = [
                    old + line[len(mark) :] if line.startswith(mark) else line for line in lines
                ]
        return "\n".join(lines)

    def _dumped(self) -> str:
        indent = _indent(self._text)
        ascii_only = all(ord(letter) < 128 for letter in self._text)
        text = json.dumps(self._document, indent=indent, ensure_ascii=ascii_only)
        return text + ("\n" if self._text.endswith("\n") else "")


def _indent(text: str) -> Any:
    lines = text.splitlines()
    second = lines[1] if len(lines) > 1 else ""
    indent = second[: len(second) - len(second.lstrip())]
    return indent if indent else (None if len(lines) == 1 else 0)

"""Nodes of the standard library's syntax tree → nodes of libcst's."""

from __future__ import annotations

import ast
from typing import Tuple

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

Range = Tuple[int, int, int, int]  # line and column of the start and of the end
_Key = Tuple[Range, str]
_KINDS = (
    "Name",
    "Attribute",
    "Call",
    "Import",
    "ImportFrom",
    "FunctionDef",
    "Lambda",
    "Comparison",
    "Subscript",
)

_SPELT = {"Compare": "Comparison"}


class Places:
    """Finds nodes by where they are in the text of a file, or of the cells of a notebook."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self._text = "\n".join(lines)
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._nodes: dict[_Key, cst.CSTNode] = {}

    def add(self, module: cst.Module, before: int) -> None:
        """Know a module, which comes after so many lines."""
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._parents.update(wrapper.resolve(ParentNodeProvider))
        for node, place in wrapper.resolve(PositionProvider).items():
            kind = type(node).__name__
            if kind in _KINDS:
                self._nodes[_range(place, before), kind] = node

    def of(self, node: ast.AST) -> cst.CSTNode:
        """Return the same name, attribute, call or import; KeyError for what has none."""
        kind = type(node).__name__
        return self._nodes[self.range(node), _SPELT.get(kind, kind)]

    def range(self, node: ast.AST) -> Range:
        """Return the lines and columns where a node starts and ends."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        start = self._column(first, getattr(node, "col_offset", 0))
        return first, start, last, self._column(last, getattr(node, "end_col_offset", 0))

    def text(self, node: ast.AST) -> str:
        """Return the text of an expression."""
        return ast.get_source_segment(self._text, node) or str(getattr(node, "id", ""))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the node around a node."""
        return self._parents[node]

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the statement of a block, or of the module, that a node is in."""
        while not isinstance(self._parents[node], (cst.IndentedBlock, cst.Module)):
            node = self._parents[node]
        return node

    def _column(self, line: int, offset: int) -> int:
        return len(self._lines[line - 1].encode()[:offset].decode(errors="ignore"))


def _range(place: CodeRange, before: int) -> Range:
    start, end = place.start, place.end
    return start.line + before, start.column, end.line + before, end.column

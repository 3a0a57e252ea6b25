"""Nodes of the standard library's syntax tree → nodes of libcst's."""

from __future__ import annotations

import ast
from typing import Tuple

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

_Key = Tuple[int, int, int, int, str]
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
                (first, start), (last, end) = (
                    (at.line + before, at.column) for at in (place.start, place.end)
                )
                self._nodes[first, start, last, end, kind] = node

    def of(self, node: ast.AST) -> cst.CSTNode:
        """The same name, attribute, call or import; KeyError for what has none."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        start = self._column(first, getattr(node, "col_offset", 0))
        end = self._column(last, getattr(node, "end_col_offset", 0))
        return self._nodes[
            first, start, last, end, _SPELT.get(type(node).__name__, type(node).__name__)
        ]

    def text(self, node: ast.AST) -> str:
        """The text of an expression."""
        return ast.get_source_segment(self._text, node) or ""

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node around a node."""
        return self._parents[node]

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement of a block, or of the module, that a node is in."""
        while not isinstance(self._parents[node], (cst.IndentedBlock, cst.Module)):
            node = self._parents[node]
        return node

    def _column(self, line: int, offset: int) -> int:
        return len(self._lines[line - 1].encode()[:offset].decode(errors="ignore"))

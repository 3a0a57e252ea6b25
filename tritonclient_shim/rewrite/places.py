"""Nodes of the standard library's syntax tree → nodes of libcst's."""

from __future__ import annotations

import ast
from typing import Collection, Tuple

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
        self._lines_of: dict[tuple[int, int], cst.CSTNode] = {}  # statements by their starts

    def add(self, module: cst.Module, before: int) -> None:
        """Know a module, which comes after so many lines."""
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._parents.update(wrapper.resolve(ParentNodeProvider))
        for node, place in wrapper.resolve(PositionProvider).items():
            kind = type(node).__name__
            if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                self._lines_of[place.start.line + before, place.start.column] = node
            if kind in _KINDS:
                self._nodes[_range(place, before), kind] = node

    def of(self, node: ast.AST) -> cst.CSTNode:
        """The same name, attribute, call or import; KeyError for what has none."""
        kind = type(node).__name__
        return self._nodes[self.range(node), _SPELT.get(kind, kind)]

    def range(self, node: ast.AST) -> Range:
        """The lines and columns where a node starts and ends."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        start = self._column(first, getattr(node, "col_offset", 0))
        return first, start, last, self._column(last, getattr(node, "end_col_offset", 0))

    def text(self, node: ast.AST) -> str:
        """The text of an expression."""
        return ast.get_source_segment(self._text, node) or str(getattr(node, "id", ""))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node around a node."""
        return self._parents[node]

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement of a block, or of the module, that a node is in."""
        while not isinstance(self._parents[node], (cst.IndentedBlock, cst.Module)):
            node = self._parents[node]
        return node

    def whole(self, node: ast.stmt) -> cst.CSTNode | None:
        """The statement that a node is; None if it shares its line with others of its block."""
        found = self._lines_of.get((node.lineno, self._column(node.lineno, node.col_offset)))
        blocks = (cst.IndentedBlock, cst.Module)
        if found is None or not isinstance(self._parents[found], blocks):
            return None
        is_one = not isinstance(found, cst.SimpleStatementLine) or len(found.body) == 1
        return found if is_one else None

    def _column(self, line: int, offset: int) -> int:
        return len(self._lines[line - 1].encode()[:offset].decode(errors="ignore"))


def ranges(
    module: cst.Module, before: int, wanted: Collection[cst.CSTNode]
) -> dict[Range, cst.CSTNode]:
    """Where nodes are in the text of a module that comes after so many lines."""
    places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    return {_range(place, before): node for node, place in places.items() if node in wanted}


def _range(place: CodeRange, before: int) -> Range:
    start, end = place.start, place.end
    return start.line + before, start.column, end.line + before, end.column

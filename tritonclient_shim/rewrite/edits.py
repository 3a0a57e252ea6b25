"""Changes of a syntax tree, gathered first and made in one walk, from the inside outwards."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Callable, Sequence, Union

import libcst as cst

Change = Callable[[Any], cst.CSTNode]
_Statement = Union[cst.SimpleStatementLine, cst.BaseCompoundStatement]


class Edits:
    """What is to change: nodes, statements before and after statements, comments above them."""

    def __init__(self, module: cst.Module) -> None:
        self._config = module.config_for_parsing
        self.changes: dict[cst.CSTNode, list[Change]] = defaultdict(list)
        self.before: dict[cst.CSTNode, list[str]] = defaultdict(list)
        self.after: dict[cst.CSTNode, list[str]] = defaultdict(list)
        self.comments: dict[cst.CSTNode, list[str]] = defaultdict(list)
        self.removed: set[cst.CSTNode] = set()
        self.spaced: set[cst.CSTNode] = set()  # functions come after these: two lines stay blank

    @property
    def any(self) -> bool:
        """Whether there is anything to change."""
        return any((self.changes, self.before, self.after, self.comments, self.removed))

    def change(self, node: cst.CSTNode, change: Change) -> None:
        """Replace a node by what a function makes of it, when its parts have been changed."""
        self.changes[node].append(change)

    def expression(self, text: str) -> cst.BaseExpression:
        """The text of an expression, parsed."""
        return cst.parse_expression(text, self._config)

    def statements(self, text: str) -> Sequence[_Statement]:
        """The text of statements, parsed; the first one has what stands above it."""
        module = cst.parse_module(text, self._config)
        first, *rest = module.body
        return [first.with_changes(leading_lines=[*module.header, *first.leading_lines]), *rest]

    def made(self, module: cst.Module) -> cst.Module:
        """The module with all changes."""
        changed = module.visit(_Maker(self))
        assert isinstance(changed, cst.Module)
        return changed


class _Maker(cst.CSTTransformer):
    """Makes the changes."""

    def __init__(self, edits: Edits) -> None:
        super().__init__()
        self._edits = edits

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """What a node becomes."""
        node: Any = super().on_leave(original_node, updated_node)
        for change in self._edits.changes.get(original_node, ()):
            node = change(node)
        if isinstance(original_node, (cst.IndentedBlock, cst.Module)):
            return node.with_changes(body=self._body(original_node.body, node.body))
        return node

    def _body(self, originals: Sequence[Any], updated: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        kept: list[cst.EmptyLine] = []  # what stood above statements that are gone
        previous = None
        for original, node in zip(originals, updated):
            before = self._parsed(self._edits.before.get(original, ()))
            own = [] if original in self._edits.removed else [node]
            after = self._parsed(self._edits.after.get(original, ()))
            both = [*before, *own, *after]
            above = [*kept, *self._space(previous, node.leading_lines), *node.leading_lines]
            previous = original
            above += self._comments(original, above)
            kept = [] if both else [line for line in above if line.comment]
            if before or not own:
                both[1:] = [self._bare(one, original, node) for one in both[1:]]
            if both:
                both[0] = both[0].with_changes(leading_lines=above)
            found += both
        return found or list(self._edits.statements("pass"))

    def _space(self, previous: Any, lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
        blank = next((n for n, line in enumerate(lines) if line.comment), len(lines))
        missing = max(0, 2 - blank) if previous in self._edits.spaced else 0
        return [cst.EmptyLine(indent=False)] * missing

    @staticmethod
    def _bare(one: Any, original: Any, node: Any) -> Any:
        return one.with_changes(leading_lines=()) if one is node else one

    def _comments(self, original: Any, above: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
        there = {line.comment.value for line in above if line.comment}
        wanted = dict.fromkeys(self._edits.comments.get(original, ()))
        return [cst.EmptyLine(comment=cst.Comment(text)) for text in wanted if text not in there]

    def _parsed(self, texts: Sequence[str]) -> list[Any]:
        return [one for text in texts for one in self._edits.statements(text)]

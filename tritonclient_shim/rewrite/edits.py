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

    @property
    def any(self) -> bool:
        """True if there is anything to change."""
        return any((self.changes, self.before, self.after, self.comments, self.removed))

    def change(self, node: cst.CSTNode, change: Change) -> None:
        """Replace a node by what a function makes of it, when its parts have been changed."""
        self.changes[node].append(change)

    def expression(self, text: str) -> cst.BaseExpression:
        """Return the text of an expression, parsed."""
        return cst.parse_expression(text, self._config)

    def statements(self, text: str) -> Sequence[_Statement]:
        """Return the text of statements, parsed; the first one has what stands above it."""
        module = cst.parse_module(text, self._config)
        first, *rest = module.body
        return [first.with_changes(leading_lines=[*module.header, *first.leading_lines]), *rest]

    def made(self, module: cst.Module) -> cst.Module:
        """Return the module with all changes."""
        changed = module.visit(_Maker(self))
        assert isinstance(changed, cst.Module)
        return changed


class _Maker(cst.CSTTransformer):
    """Makes the changes."""

    def __init__(self, edits: Edits) -> None:
        super().__init__()
        self._edits = edits

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """Return what a node becomes."""
        node: Any = super().on_leave(original_node, updated_node)
        for change in self._edits.changes.get(original_node, ()):
            node = change(node)
        if isinstance(original_node, (cst.IndentedBlock, cst.Module)):
            header = original_node.header if isinstance(original_node, cst.Module) else ()
            body = self._body(original_node.body, node.body, header)
            if not body and isinstance(original_node, cst.IndentedBlock):
                body = [*self._edits.statements("pass")]
            return node.with_changes(body=body)
        return node

    def _body(
        self, originals: Sequence[Any], updated: Sequence[Any], header: Sequence[cst.EmptyLine]
    ) -> list[Any]:
        """Return the statements of a block; ``header``: what stands above a module's first one."""
        body: list[Any] = []
        kept: list[cst.EmptyLine] = []  # comments above statements that are gone
        is_first = True
        for original, node in zip(originals, updated):
            before = self._parsed(self._edits.before.get(original, ()))
            gone = original in self._edits.removed
            own = [] if gone else [node]
            both = [*before, *own, *self._parsed(self._edits.after.get(original, ()))]
            above = [*kept, *node.leading_lines]
            above += self._comments(original, [*header, *above] if is_first else above)
            is_first = False
            kept = [] if both else [line for line in above if line.comment]
            if before or not own:
                both[1:] = [self._bare(item, original, node) for item in both[1:]]
            if both:
                own_lines = both[0].leading_lines if gone and not before else ()
                both[0] = both[0].with_changes(leading_lines=[*above, *own_lines])
            body += both
        return body

    @staticmethod
    def _bare(statement: Any, original: Any, node: Any) -> Any:
        return statement.with_changes(leading_lines=()) if statement is node else statement

    def _comments(self, original: Any, above: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
        there = {line.comment.value for line in above if line.comment}
        wanted = dict.fromkeys(self._edits.comments.get(original, ()))
        return [cst.EmptyLine(comment=cst.Comment(text)) for text in wanted if text not in there]

    def _parsed(self, texts: Sequence[str]) -> list[Any]:
        return [statement for text in texts for statement in self._edits.statements(text)]

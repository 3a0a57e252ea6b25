"""Changes of a syntax tree, gathered first and made in one walk, from the inside outwards."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Callable, Sequence, Union

import libcst as cst

Change = Callable[[Any], cst.CSTNode]
_Statement = Union[cst.SimpleStatementLine, cst.BaseCompoundStatement]


class Edits:
    """What is to change: nodes, statements before and after statements, comments above them.

    ``entered``: an assignment that becomes a ``with`` statement → the last of the statements of its
    block that are inside of that, and the name that is assigned to.
    """

    def __init__(self, module: cst.Module) -> None:
        self._config = module.config_for_parsing
        self.changes: dict[cst.CSTNode, list[Change]] = defaultdict(list)
        self.before: dict[cst.CSTNode, list[str]] = defaultdict(list)
        self.after: dict[cst.CSTNode, list[str]] = defaultdict(list)
        self.comments: dict[cst.CSTNode, list[str]] = defaultdict(list)
        self.removed: set[cst.CSTNode] = set()
        self.dropped: set[cst.CSTNode] = set()  # removed, with comments on nothing else
        self.entered: dict[cst.CSTNode, tuple[cst.CSTNode, str]] = {}
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
            header = original_node.header if isinstance(original_node, cst.Module) else ()
            body = self._body(original_node.body, node.body, header)
            if not body and isinstance(original_node, cst.IndentedBlock):
                body = [*self._edits.statements("pass")]
            return node.with_changes(body=body)
        return node

    def _body(
        self, originals: Sequence[Any], updated: Sequence[Any], header: Sequence[cst.EmptyLine]
    ) -> list[Any]:
        """The statements of a block; ``header`` is what stands above the first one in a module."""
        found: list[tuple[Any, list[Any]]] = []
        kept: list[cst.EmptyLine] = []  # what stood above statements that are gone
        previous = None
        following = [*(one.leading_lines for one in updated[1:]), ()]
        for original, node, below in zip(originals, updated, following):
            before = self._parsed(self._edits.before.get(original, ()))
            gone = original in self._edits.removed or original in self._edits.dropped
            own = [] if gone else [node]
            after = self._parsed(self._edits.after.get(original, ()))
            both = [*before, *own, *after]
            above = [*kept, *self._space(previous, node.leading_lines), *node.leading_lines]
            above += self._comments(original, above if previous else [*header, *above])
            previous = original
            kept = [] if both else self._kept(original, above, below)
            if before or not own:
                both[1:] = [self._bare(one, original, node) for one in both[1:]]
            if both:
                own_lines = both[0].leading_lines if gone and not before else ()
                both[0] = both[0].with_changes(leading_lines=[*above, *own_lines])
            found.append((original, both))
        return self._entered(found)

    def _entered(self, found: list[tuple[Any, list[Any]]]) -> list[Any]:
        """Statements with what they have become → these, with some inside of others."""
        result: list[Any] = []
        while found:
            (original, nodes), found = found[0], found[1:]
            if original in self._edits.entered:
                last, name = self._edits.entered[original]
                end = next(n for n, one in enumerate(found) if one[0] is last) + 1
                inside, found = self._entered(found[:end]), found[end:]
                nodes = [*nodes[:-1], _entering(nodes[-1], name, inside)]
            result += nodes
        return result

    def _kept(
        self, original: Any, above: list[cst.EmptyLine], below: Sequence[cst.EmptyLine]
    ) -> list[cst.EmptyLine]:
        """The lines above a statement that is gone which stay, for what comes below."""
        if original not in self._edits.dropped:
            return [line for line in above if line.comment]
        if below and below[0].comment is None:  # it was the last one of its paragraph
            while above and above[-1].comment:
                above = above[:-1]
            return above if any(line.comment for line in above) else []
        return above

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


def _entering(assigned: cst.SimpleStatementLine, name: str, inside: list[Any]) -> cst.With:
    """``name = value`` and statements → ``with value as name:`` and these statements."""
    (assignment,) = assigned.body
    assert isinstance(assignment, cst.Assign)
    lines = inside[0].leading_lines
    comment = next((n for n, line in enumerate(lines) if line.comment), len(lines))
    first = inside[0].with_changes(leading_lines=lines[comment:])
    item = cst.WithItem(assignment.value, cst.AsName(cst.Name(name)))
    block = cst.IndentedBlock([first, *inside[1:]], header=assigned.trailing_whitespace)
    return cst.With([item], block, leading_lines=assigned.leading_lines)

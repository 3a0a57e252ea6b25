"""The text of a planned file: its body, then comments, unused variables and imports."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, replace

from tritonclient_shim.migrate.document import Document
from tritonclient_shim.migrate.edits import Comment, Remove
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.header import new_header
from tritonclient_shim.migrate.names import NewNames
from tritonclient_shim.migrate.plan import IMPORT, FilePlan
from tritonclient_shim.migrate.unused import removals
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.scan.sites import Site

#: The line of another file in a reason. A comment does without: the line moves.
_LINE = re.compile(r",(?: cell \d+,)? line \d+,")


@dataclass(frozen=True)
class Rendered:
    """The new text of a file.

    ``helpers``: the functions that it calls. ``helper_facts``: what is certain of it, by which they
    are chosen. ``definitions``: what is written into it of the helpers. ``imports_left``: imports
    of v1 that stay. ``removed``: uses in assignments that are removed, as nothing reads them.
    """

    text: str
    helpers: frozenset[str]
    helper_facts: frozenset[str]
    definitions: tuple[str, ...]
    imports_left: frozenset[Site]
    removed: frozenset[Site]


def render(facts: FileFacts, plan: FilePlan) -> Rendered:
    """Return the text of a file. Imports come last, because they depend on what the text reads."""
    edits = (*plan.edits, *_comments(facts, plan))
    names = NewNames(facts, plan.decisions)
    if names.aliases:
        names = replace(names, read=Document(facts, names, edits).read)
    body = Document(facts, names, edits)
    unused = removals(facts, body)
    gone = {edit.statement for edit in unused if isinstance(edit, Remove)}
    body = body.with_edits(unused)
    header = new_header(facts, body)
    imports = (site for site, outcome in plan.outcomes.items() if outcome == IMPORT)
    return Rendered(
        text=body.with_edits(header.edits).text(),
        helpers=header.helpers,
        helper_facts=body.names.helper_facts,
        definitions=header.definitions,
        imports_left=frozenset(filter(header.keeps, imports)),
        removed=frozenset(
            site for site in facts.sites if not gone.isdisjoint(facts.flows.around(site.node))
        ),
    )


def _comments(facts: FileFacts, plan: FilePlan) -> list[Comment]:
    """Return a comment with work to do above each statement with a use that stays."""
    ids: dict[tuple[ast.stmt, str], dict[str, None]] = defaultdict(dict)
    for site, outcome in plan.outcomes.items():
        if outcome.comment:
            ids[facts.layout.statement(site.whole), outcome.what][site.id] = None
    comments = []
    for (statement, what), own in reversed(ids.items()):
        reason = _LINE.sub("", what)
        text = f"# TODO({', '.join(own)}): {reason} ({ENTRIES[next(iter(own))].guide})"
        comments.append(Comment(statement, text))
    return comments

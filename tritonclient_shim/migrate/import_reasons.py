"""Why an import of v1 stays in a file whose other uses are all rewritten."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.imports import is_of_v1
from tritonclient_shim.scan.sites import Site

#: What tests a name for its truth, or compares it.
_TESTS = (ast.Compare, ast.If, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Assert)


def reason_of_import(site: Site, facts: FileFacts) -> str:
    """Return why an import stays, and what to do: a line or another file needs its names."""
    names = _names_of(site.node, facts)
    reads = _reads(names, facts)
    if reads:
        node = min(reads, key=lambda read: read.lineno)
        place = facts.source.place(node.lineno)
        if isinstance(facts.flows.parents[node], _TESTS):
            return (
                f"stays because {place} tests `{node.id}`; remove the test, then run migrate again"
            )
        return f"stays because {place} reads `{node.id}`; remove that, then run migrate again"
    reader = facts.beside.reader_of(names)
    if reader:
        file, name = reader
        return f"stays because {file} has `{name}` from this file; rewrite it first"
    return "stays because the file has its name in a text; remove that, then run migrate again"


def _names_of(node: ast.AST, facts: FileFacts) -> set[str]:
    """Return the names that an import of v1 binds; those of the star import for another node."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)) or node.names[0].name == "*":
        star = facts.evaluator.imports.star
        return {name for name, symbol in star.items() if is_of_v1(symbol)}
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _reads(names: set[str], facts: FileFacts) -> list[ast.Name]:
    """Return the reads of names that are part of no use, which is rewritten."""
    uses = {site.node for site in facts.sites}
    nodes = [node for node in facts.flows.parents if isinstance(node, ast.Name)]
    loads = [node for node in nodes if isinstance(node.ctx, ast.Load)]
    return [
        node
        for node in loads
        if node.id in names and uses.isdisjoint([node, *facts.flows.around(node)])
    ]

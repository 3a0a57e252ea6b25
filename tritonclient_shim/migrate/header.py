"""The imports of a file, once its body is rewritten.

A legacy import goes when nothing reads what it binds.
"""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass
from itertools import takewhile

from tritonclient_shim.migrate.document import Document
from tritonclient_shim.migrate.edits import Above, Below, Edit, Remove, new_text, replaced
from tritonclient_shim.migrate.emitted import FUNCTION, Part, block_of, import_text, parts_of
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.format import quote_of, with_quotes
from tritonclient_shim.migrate.import_block import (
    IMPORT,
    Import,
    LinesBelow,
    Place,
    added_imports,
    first_block,
    sorted_imports,
)
from tritonclient_shim.migrate.names import NewNames, symbol_of
from tritonclient_shim.scan.imports import is_of_v1
from tritonclient_shim.scan.scopes import with_readers
from tritonclient_shim.scan.sites import Site, module_entry

_PACKAGE = "tensorrtserver"
#: The names at the start of the lines of a module, which it binds.
_FIRST_NAMES = re.compile(r"^(?:def |class )?(\w+)", re.M)
#: Names of v1's star import, and the lines that import them; others are of ctypes.
_PROVIDED = {
    **{name: f"import {name}" for name in ("sys", "os", "struct", "threading", "pkg_resources")},
    "np": "import numpy as np",
    "partial": "from functools import partial",
    "IntEnum": "from enum import IntEnum",
    "ndpointer": "from numpy.ctypeslib import ndpointer",
    "text_format": "from google.protobuf import text_format",
    "iteritems": "iteritems = dict.items",
}
_OWN_ERROR = "from tritonclient.utils import "


@dataclass(frozen=True)
class NewHeader:
    """The edits of the imports, and what they leave.

    ``helpers``: the functions and constants of the helpers that the file reads. ``definitions``:
    those that are written into the file. ``left``: the imports that stay, each with the id of what
    it imports.
    """

    edits: tuple[Edit, ...]
    helpers: frozenset[str]
    definitions: tuple[str, ...]
    left: frozenset[tuple[ast.AST, str]]

    def keeps(self, site: Site) -> bool:
        """True if an import, or the import that a use needs, stays."""
        if isinstance(site.node, IMPORT):
            return (site.node, site.id) in self.left
        return site.id in {id for _, id in self.left}


@dataclass(frozen=True)
class _Needs:
    """What a rewritten body reads, and what binds it.

    ``read``: names that the file reads, or files that import it. ``helpers``: those of the helpers.
    ``definitions``: functions and constants of the helpers that the file lacks. ``lines``: imports.
    ``star``: imports of what only star imports bind, with '' for what only v1 has.
    """

    read: frozenset[str]
    helpers: frozenset[str]
    definitions: tuple[str, ...]
    lines: frozenset[str]
    star: tuple[str, ...]


@dataclass(frozen=True)
class _OldImports:
    """What becomes of v1's imports.

    ``lines``: imports in place of those of the module. ``anchor``: the first of the module that
    changes. ``left``: those that stay, as in `NewHeader`.
    """

    edits: tuple[Edit, ...]
    lines: frozenset[str]
    anchor: ast.stmt | None
    left: frozenset[tuple[ast.AST, str]]


def new_header(facts: FileFacts, document: Document) -> NewHeader:
    """Replace the legacy imports, and add the imports and helpers that the body needs."""
    needs = _needs(facts, document)
    old = _old_imports(facts, document, needs)
    left = set(old.left)
    lines = {*needs.lines, *old.lines}
    if "" in needs.star:
        left.add((facts.source.tree, "TS002"))
        # importers catch the errors of clients, too
        lines.update(line for line in needs.star if line.startswith(_OWN_ERROR))
    else:
        lines.update(needs.star)
    changed = document.with_edits(old.edits)
    edits = (*old.edits, *_new_imports(facts, changed, needs, old, lines))
    return NewHeader(edits, needs.helpers, needs.definitions, frozenset(left))


def _needs(facts: FileFacts, document: Document) -> _Needs:
    """Return what the rewritten body reads, and what binds it."""
    names = document.names
    read = document.read | facts.beside.imported
    helpers = {name for name in document.helpers if names.of_helper(name) in read}
    is_apart = bool(facts.options.helpers)
    parts = [] if is_apart else _missing_parts(helpers, names)
    lines = {line for name, line in document.imports.items() if name in read}
    if is_apart:
        lines.update(names.import_line(names.helper_import(name)) for name in helpers)
    lines.update(names.import_line(part.text) for part in parts if not part.source)
    star = facts.evaluator.imports.star
    old_names = (node for node in ast.walk(facts.source.tree) if isinstance(node, ast.Name))
    provided = {node.id for node in old_names if facts.evaluator.is_provided(node)}
    provided |= _imported_anew(facts.source.tree)
    names_of_star = read & star.keys() & (provided | facts.beside.imported)
    return _Needs(
        read=frozenset(read),
        helpers=frozenset(helpers),
        definitions=tuple(_texts(parts, names)),
        lines=frozenset(lines),
        star=tuple(_new_line(star[bound], bound, document) for bound in names_of_star),
    )


def _imported_anew(tree: ast.Module) -> set[str]:
    """Return names that v1's star import binds and the module imports, too, perhaps too late."""
    names = set()
    for node in tree.body:
        if isinstance(node, IMPORT):
            for alias in node.names:
                bound = alias.asname or alias.name
                if _PROVIDED.get(bound) == import_text(node, [alias]):
                    names.add(bound)
    return names


def _missing_parts(helpers: set[str], names: NewNames) -> list[Part]:
    """Return the parts of the helpers that the file needs and lacks."""
    missing = {name for name in helpers if not names.is_written(name)}
    return parts_of(missing, names.helper_facts)


def _texts(parts: list[Part], names: NewNames) -> list[str]:
    """Return functions and constants of the helpers that the file lacks, in its style."""
    new_names = {}
    for part in parts:
        for name in part.binds:
            is_own = bool(part.source)
            new_names[name] = names.of_helper(name) if is_own else names.of_import(part.text)
    quote = quote_of(names.facts.full_text)
    texts = []
    for part in parts:
        if part.source and not any(map(names.is_written, part.binds)):
            texts.append(with_quotes(part.renamed(new_names), quote))
    return texts


# ------------------------------------------------------------------------------- v1's imports


def _old_imports(facts: FileFacts, document: Document, needs: _Needs) -> _OldImports:
    """Return what becomes of v1's imports, by the names that the rewritten body reads."""
    edits: list[Edit] = []
    module_lines: set[str] = set()
    left: set[tuple[ast.AST, str]] = set()
    anchor: ast.stmt | None = None
    for node in ast.walk(facts.source.tree):
        if not isinstance(node, IMPORT) or _is_relative(node):
            continue
        kept: list[ast.alias] = []
        lines: list[str] = []
        for alias in node.names:
            instead = _instead(node, alias, document, needs)
            if "" in instead:
                kept.append(alias)
                left.add((node, module_entry(symbol_of(node, alias))))
            else:
                lines += instead
        if len(kept) == len(node.names):
            continue
        if facts.layout.is_of_module(node):
            anchor = anchor or node
            module_lines.update(lines)
        else:
            edits += [Above(node, new_text("{0}", line)) for line in sorted_imports(lines)]
        edits.append(replaced(node, "{0}", import_text(node, kept)) if kept else Remove(node))
    return _OldImports(tuple(edits), frozenset(module_lines), anchor, frozenset(left))


def _is_relative(node: Import) -> bool:
    """True for an import from the package of the file."""
    return isinstance(node, ast.ImportFrom) and bool(node.level)


def _instead(node: Import, alias: ast.alias, document: Document, needs: _Needs) -> list[str]:
    """Return the imports in place of a name of an import, with '' for what stays."""
    symbol = symbol_of(node, alias)
    if not is_of_v1(symbol):
        return [""]
    if alias.name == "*":
        return [""] if "" in needs.star else []
    bound = alias.asname or alias.name
    if isinstance(node, ast.Import) and not alias.asname:
        symbol = bound = _PACKAGE
    return [_new_line(symbol, bound, document)] if bound in needs.read else []


def _new_line(name: str, bound: str, document: Document) -> str:
    """Return the import of a name that an import of v1 binds; '' if only v1 has it."""
    if not is_of_v1(name):
        return _PROVIDED.get(bound, f"from ctypes import {bound}")
    successor = document.names.successor(name)
    if not successor:
        return ""
    owner, _, last = successor.rpartition(".")
    return f"from {owner} import {last}" + ("" if bound == last else f" as {bound}")


# -------------------------------------------------------------------- new imports and helpers


def _new_imports(
    facts: FileFacts, document: Document, needs: _Needs, old: _OldImports, lines: set[str]
) -> list[Edit]:
    """Return the edits that add imports and definitions that the file lacks, below its imports."""
    body = _body(facts, old.anchor)
    imports = [statement for statement in body if isinstance(statement, IMPORT)]
    made = {line for line in lines if " = " in line}  # iteritems
    definitions = [*needs.definitions, *sorted({*document.definitions, *made})]
    leading = list(takewhile(lambda part: isinstance(part, (*IMPORT, ast.Expr)), body))
    above = [part for part in leading if isinstance(part, IMPORT)] or imports[:1] or leading
    anchor = old.anchor or (above[-1] if above else None)
    block = first_block(body, anchor) if isinstance(anchor, IMPORT) else []
    # cells above the one with the import of v1 have run
    above_all = facts.source.tree.body
    missing = sorted(lines - made - _present(above_all, block[-1] if block else anchor))
    if not above or anchor is None:
        texts = [*sorted_imports(missing), *([block_of(definitions)] if definitions else []), ""]
        has_texts = bool(missing or definitions)
        return [Above(body[0], new_text("{0}", text)) for text in texts if has_texts]
    stars = [part for part in above if isinstance(part, IMPORT) and _is_star(part, old.left)]
    late = [line for line in missing if stars and _is_bound_anew(line, facts)]
    edits: list[Edit]
    if block:
        folder = os.path.dirname(os.path.abspath(facts.source.path))
        lines_below = LinesBelow(stars[-1], late) if late else None
        of_file = Place(folder, facts.options.helpers.partition(".")[0])
        edits = added_imports(missing, block, facts.layout, of_file, lines_below)
        anchor = block[-1]
    else:
        edits = [Below(anchor, text) for text in sorted_imports(missing)]
    anchor = max([anchor, *(stars if late else [])], key=lambda part: part.lineno)
    edits += [Remove(part) for part in _late_doubles(body, missing, facts)]
    if definitions:
        place = _place_of_definitions(definitions, body, anchor, document)
        blank = 2 if any(map(FUNCTION.search, definitions)) else 1
        rows_below = [""] * (blank - facts.layout.blank_rows(place))
        edits += [Below(place, text) for text in (block_of(definitions), *rows_below)]
    return edits


def _is_bound_anew(line: str, facts: FileFacts) -> bool:
    """True if a star import of the file may bind the name of a new import to something else."""
    name = re.split(r"[ .]", line)[-1]
    symbol = facts.evaluator.imports.star.get(name, "")
    if is_of_v1(symbol):
        return True
    return not facts.beside.star_bindings.get(name, frozenset()) <= {line}


def _present(body: list[ast.stmt], last: ast.stmt | None) -> set[str]:
    """Return the imports of the module down to the last statement of a block."""
    present: set[str] = set()
    for part in body:
        if last and isinstance(part, IMPORT) and part.lineno <= last.lineno:
            present.update(import_text(part, [name]) for name in part.names)
    return present


def _late_doubles(body: list[ast.stmt], missing: list[str], facts: FileFacts) -> list[Import]:
    """Return the imports of the module that are written above, too, and alone bind their name."""
    doubles = []
    for part in body:
        if isinstance(part, IMPORT) and len(part.names) == 1:
            alias = part.names[0]
            name = alias.asname or alias.name
            bindings = facts.evaluator.scopes.module.bindings.get(name, [])
            is_alone = [binding.node for binding in bindings if binding.binds] == [alias]
            if is_alone and import_text(part, [alias]) in missing:
                doubles.append(part)
    return doubles


def _body(facts: FileFacts, anchor: ast.stmt | None) -> list[ast.stmt]:
    """Return the statements of the file, or of the cell of a notebook with the import of v1."""
    source = facts.source
    if not source.places or anchor is None:
        return source.tree.body
    cells = {part: source.places[part.lineno - 1][0] for part in source.tree.body}
    return [part for part in source.tree.body if cells[part] == cells[anchor]]


def _is_star(node: Import, left: frozenset[tuple[ast.AST, str]]) -> bool:
    """True for a star import that stays."""
    is_left = any(node is other for other, _ in left)
    is_other = not is_of_v1(getattr(node, "module", None) or "")
    return node.names[0].name == "*" and (is_left or is_other)


def _place_of_definitions(
    definitions: list[str], body: list[ast.stmt], anchor: ast.stmt, document: Document
) -> ast.stmt:
    """Return the import below which definitions come: the last one before their first use."""
    words = {part: set(re.findall(r"\w+", document.new(part))) for part in body}
    names = with_readers(_FIRST_NAMES.findall("\n".join(definitions)), words)
    place = anchor
    for statement in body:
        is_above = statement.lineno < anchor.lineno
        if isinstance(statement, IMPORT):
            place = max(place, statement, key=lambda part: part.lineno)
        elif not is_above and words[statement] & names:
            break
    return place

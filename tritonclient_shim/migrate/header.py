"""The imports of a file, once its body is rewritten.

A legacy import goes when nothing reads what it binds.
"""

from __future__ import annotations

import ast
import os
import re
from itertools import takewhile

from tritonclient_shim.migrate.draft import ERROR, Draft
from tritonclient_shim.migrate.emitted import import_text, is_written, parts_of
from tritonclient_shim.migrate.format import quote_of, with_quotes
from tritonclient_shim.migrate.import_block import (
    IMPORT,
    add_imports,
    first_block,
    sorted_imports,
)
from tritonclient_shim.scan.imports import API, is_of_v1
from tritonclient_shim.scan.sites import Site, module_entry

_PACKAGE = "tensorrtserver"
_FUNCTION = re.compile(r"^(?:def|class) ", re.M)
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
#: Names and modules of v1 that tritonclient has, too.
_SUCCESSORS = {
    ERROR: "tritonclient.utils.InferenceServerException",
    f"{API}.model_config_pb2": "tritonclient.grpc.model_config_pb2",
    "tensorrtserver.shared_memory": "tritonclient.utils.shared_memory",
}

_OWN_ERROR = "from tritonclient.utils import "


class FileHeader:
    """Rewrites the imports of a draft, by the names that its rewritten body reads."""

    def __init__(self, draft: Draft) -> None:
        self._draft, star = draft, draft.evaluator.imports.star
        text = "\n".join((draft.edits.changed(), *draft.assignments.values()))
        names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
        loads = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
        self._read = loads | draft.beside.imported  # by the file or its importers
        draft.helpers = {name for name in draft.helpers if draft.called(name) in self._read}
        #: the functions and constants that are written into the file
        self.definitions, imported = _definitions(draft)
        self._needed = draft.imports_of(self._read | imported)
        nodes = (node for node in ast.walk(draft.source.tree) if isinstance(node, ast.Name))
        provided = {node.id for node in nodes if draft.evaluator.is_provided(node)}
        names_of_star = self._read & star.keys() & (provided | draft.beside.imported)
        #: the imports of what only star imports bind and is read
        self._star = [self._line(star[bound], bound) for bound in names_of_star]
        self._anchor: ast.stmt | None = None
        self._left: set[tuple[ast.AST, str]] = set()

    def stays(self, site: Site) -> bool:
        """True if an import, or the import that a use needs, stays."""
        if isinstance(site.node, IMPORT):
            return (site.node, site.id) in self._left
        return site.id in {id for _, id in self._left}

    def rewrite(self) -> None:
        """Replace the legacy imports, and add the imports that the body needs."""
        tree = self._draft.source.tree
        for node in ast.walk(tree):
            if isinstance(node, IMPORT) and not getattr(node, "level", 0):
                self._import(node)
        if "" in self._star:
            self._left.add((tree, "TS002"))
            # importers catch the errors of clients, too
            self._needed.update(line for line in self._star if line.startswith(_OWN_ERROR))
        else:
            self._needed.update(self._star)
        self._place()

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Replace the names of v1 in an import."""
        owner = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        draft, kept, lines = self._draft, [], []
        for alias in node.names:
            name = f"{owner}{alias.name}"
            instead = self._instead(alias, owner) if is_of_v1(name) else [""]
            if "" in instead:
                kept.append(alias)
                self._left.add((node, module_entry(name)))
            else:
                lines += instead
        if len(kept) == len(node.names):
            return
        if node in draft.source.tree.body:
            self._anchor = self._anchor or node
            self._needed.update(lines)
        else:
            draft.edits.before[node] += sorted_imports(lines)
        if kept:
            draft.write(node, import_text(node, kept))
        else:
            draft.edits.remove(node)

    def _instead(self, alias: ast.alias, owner: str) -> list[str]:
        """Return the imports of what an import of v1 binds, with '' for what only v1 has."""
        if alias.name == "*":
            return [""] if "" in self._star else []
        name = f"{owner}{alias.name}" if owner or alias.asname else _PACKAGE
        bound = alias.asname or name[len(owner) :]
        return [self._line(name, bound, not owner)] if bound in self._read else []

    def _line(self, name: str, bound: str, is_module: bool = False) -> str:
        """Return the import of a name that an import of v1 binds; '' if only v1 has it."""
        if not is_of_v1(name):
            return _PROVIDED.get(bound, f"from ctypes import {bound}")
        for old, new in _SUCCESSORS.items():
            if f"{name}.".startswith(f"{old}.") and old not in self._draft.kept:
                successor = new + name[len(old) :]
                owner, _, last = successor.rpartition(".")
                if is_module:
                    return f"import {successor} as {bound}"
                return f"from {owner} import {last}" + ("" if bound == last else f" as {bound}")
        return ""

    def _place(self) -> None:
        """Add missing imports below the imports."""
        body = self._body()
        imports = [statement for statement in body if isinstance(statement, IMPORT)]
        present = {import_text(part, [name]) for part in imports for name in part.names}
        made = {line for line in self._needed if " = " in line}  # iteritems
        assignments = [*self._draft.assignments.values(), *made]
        leading = list(takewhile(lambda part: isinstance(part, (*IMPORT, ast.Expr)), body))
        above = [part for part in leading if isinstance(part, IMPORT)] or imports[:1] or leading
        definitions = [*self.definitions, *sorted(set(assignments))]
        lines = sorted(self._needed - present - made)
        if above:
            anchor = self._anchor or above[-1]
            stars = [part for part in imports if part in above and self._is_star(part)]
            names = {re.split(r"[ .]", line)[-1] for line in lines}
            # a star import that stays would bind some of these names anew
            is_bound = names & self._draft.evaluator.imports.star.keys()
            if stars and is_bound or not isinstance(anchor, IMPORT):
                anchor = max([anchor, *stars], key=lambda part: part.lineno)
                self._draft.edits.after[anchor] += sorted_imports(lines)
                self._define(definitions, anchor)
                return
            block = first_block(body, anchor)
            folder = os.path.dirname(os.path.abspath(self._draft.source.path))
            add_imports(lines, block, self._draft.edits, folder)
            self._define(definitions, block[-1])
        elif lines or definitions:
            below = [_block(definitions)] if definitions else []
            self._draft.edits.before[body[0]] += [*sorted_imports(lines), *below, ""]

    def _body(self) -> list[ast.stmt]:
        """Return the statements of the file, or of the cell of a notebook with the import of v1."""
        source = self._draft.source
        anchor = self._anchor
        if not source.places or anchor is None:
            return source.tree.body
        cells = {part: source.places[part.lineno - 1][0] for part in source.tree.body}
        return [part for part in source.tree.body if cells[part] == cells[anchor]]

    def _is_star(self, node: ast.Import | ast.ImportFrom) -> bool:
        """True for a star import that stays."""
        is_left = any(node is left for left, _ in self._left)
        is_other = not is_of_v1(getattr(node, "module", None) or "")
        return node.names[0].name == "*" and (is_left or is_other)

    def _define(self, definitions: list[str], anchor: ast.stmt) -> None:
        """Add definitions below the imports that come before the first use."""
        if not definitions:
            return
        edits = self._draft.edits
        names = set(_FIRST_NAMES.findall("\n".join(definitions)))
        place = anchor
        for statement in self._body():
            is_above = statement.lineno < anchor.lineno
            if isinstance(statement, IMPORT):
                place = max(place, statement, key=lambda part: part.lineno)
            elif not is_above and names.intersection(re.findall(r"\w+", edits.new(statement))):
                break
        blank = 2 if any(map(_FUNCTION.search, definitions)) else 1
        rows_below = [""] * (blank - edits.blank_rows(place))
        edits.after[place] += [_block(definitions), *rows_below]


def _definitions(draft: Draft) -> tuple[list[str], set[str]]:
    """Return the functions and constants that the file needs and lacks, and what they import."""
    text, facts = draft.text_before, draft.facts
    missing = {name for name in draft.helpers if not is_written(name, facts, text)}
    parts = parts_of(missing, facts)
    names, imported = {}, set()
    for part in parts:
        for name in part.binds:
            names[name] = draft.called(name) if part.source else draft.imported(part.text)
            if not part.source:
                imported.add(names[name])
    definitions = []
    for part in parts:
        is_there = any(is_written(name, facts, text) for name in part.binds)
        if part.source and not is_there:
            definitions.append(with_quotes(part.renamed(names), quote_of(text)))
    return definitions, imported


def _block(definitions: list[str]) -> str:
    """Return definitions, with two empty lines around functions and classes."""
    text = ""
    was_function = False
    for definition in definitions:
        is_function = bool(_FUNCTION.search(definition))
        lines = "\n" * (1 + 2 * (is_function or was_function)) if text else "\n" * (1 + is_function)
        text += lines + definition
        was_function = is_function
    return text

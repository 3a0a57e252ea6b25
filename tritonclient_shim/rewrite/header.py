"""The imports of a file, once its body is rewritten.

A legacy import goes when nothing reads what it binds.
"""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import Iterable, Mapping

from tritonclient_shim.migrate.imports import API, is_of_v1
from tritonclient_shim.migrate.sites import Site, module_entry
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.emitted import MODULE, OTHERS, import_text

_IMPORT = (ast.Import, ast.ImportFrom)
_PACKAGE = "tensorrtserver"
#: Names of v1's star import, and the lines that import them; others are of ctypes.
_PROVIDED = {
    "np": "import numpy as np",
    **{name: f"import {name}" for name in ("sys", "os", "struct", "threading", "pkg_resources")},
    "partial": "from functools import partial",
    "IntEnum": "from enum import IntEnum",
    "ndpointer": "from numpy.ctypeslib import ndpointer",
    **{f"iter{name}": f"\niter{name} = dict.{name}" for name in ("items", "keys", "values")},
    "text_format": "from google.protobuf import text_format",
}
_ERROR = f"{API}.InferenceServerException"
#: Names and modules of v1 that tritonclient has, too.
_SUCCESSORS = {
    _ERROR: "tritonclient.utils.InferenceServerException",
    f"{API}.model_config_pb2": "tritonclient.grpc.model_config_pb2",
    "tensorrtserver.shared_memory": "tritonclient.utils.shared_memory",
}


class FileHeader:
    """Rewrites the imports of a draft.

    ``text``: the rewritten body. Its names decide which imports stay.
    """

    def __init__(self, draft: Draft, text: ast.Module) -> None:
        self._draft, taken = draft, draft.beside.taken
        names = (node for node in ast.walk(text) if isinstance(node, ast.Name))
        #: what this file or its importers read
        self._read = {*taken, *(x.id for x in names if not isinstance(x.ctx, ast.Store))}
        self._read.update(line.partition(" = ")[2].partition("(")[0] for line in draft.imports)
        called = {name: draft.called(name) for name in draft.helpers}
        called = {name: own for name, own in called.items() if own in self._read}
        self.helpers, self.protocols = frozenset(called), frozenset(draft.modules)
        clients = self._read.intersection(f"{name}client" for name in draft.modules)
        self._needed = {*draft.imports, *(f"import tritonclient.{c[:4]} as {c}" for c in clients)}
        if called:
            self._needed.add(_helpers_line(called, draft))
        nodes = (node for node in ast.walk(draft.source.tree) if isinstance(node, ast.Name))
        provided = {node.id for node in nodes if draft.evaluator.is_provided(node)} | taken
        star, self._symbols = draft.evaluator.imports.star, draft.evaluator.imports.symbols
        #: what only star imports bind and is read, and what it stands for
        self._star = {x: star[x] for x in provided & self._read & star.keys()}
        self._star_stays = any(
            is_of_v1(name) and (bound in taken or not self._successor(name))
            for bound, name in self._star.items()
        )
        self._anchor: ast.stmt | None = None
        self._left: set[tuple[ast.AST, str]] = set()

    def stays(self, site: Site) -> bool:
        """True if an import, or the import that a use needs, stays."""
        if isinstance(site.node, _IMPORT):
            return (site.node, site.id) in self._left
        return isinstance(site.node, ast.Call) or site.id in {id for _, id in self._left}

    def rewrite(self) -> None:
        """Replace the legacy imports, and add the imports that the body needs."""
        tree = self._draft.source.tree
        for node in ast.walk(tree):
            if isinstance(node, _IMPORT) and not getattr(node, "level", 0):
                self._import(node)
        if self._star_stays and not all(map(is_of_v1, self._star.values())):
            self._left.add((tree, "TS002"))
        if not any(alias.name == "*" and is_of_v1(name) for alias, name in self._symbols.items()):
            self._needed.update(self._provided())  # another file's star import bound them
        self._place()

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Replace the names of v1 in an import."""
        owner = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        kept, lines = [], []
        for alias in node.names:
            if is_of_v1(f"{owner}{alias.name}"):
                instead = self._instead(alias, owner)
                if instead is not None:
                    lines += instead
                    continue
                self._left.add((node, module_entry(self._symbols[alias])))
            kept.append(alias)
        if len(kept) < len(node.names):
            self._replace(node, kept, lines)

    def _instead(self, alias: ast.alias, owner: str) -> list[str] | None:
        """Return the lines instead of the import of something of v1; None if it stays."""
        if alias.name == "*":
            return None if self._star_stays else self._provided()
        bound = alias.asname or (alias.name if owner else _PACKAGE)
        if bound not in self._read:
            return []
        successor = self._successor(owner + alias.name) if owner or alias.asname else ""
        line = _import_line(successor, bound) if owner else f"import {successor} as {bound}"
        return [line] if successor else None

    def _successor(self, name: str) -> str:
        """Return the name in tritonclient of a name of v1; '' for none."""
        for old, new in _SUCCESSORS.items():
            stays = old == _ERROR and self._draft.errors_stay
            stays |= old in self._draft.kept
            if f"{name}.".startswith(f"{old}.") and not stays:
                return new + name[len(old) :]
        return ""

    def _provided(self) -> list[str]:
        """Return the imports of the names that only the star import bound."""
        if self._star_stays:
            return []
        return [
            _import_line(self._successor(name), bound)
            if is_of_v1(name)
            else _PROVIDED.get(bound, f"from ctypes import {bound}")
            for bound, name in self._star.items()
        ]

    def _replace(
        self, node: ast.Import | ast.ImportFrom, kept: list[ast.alias], lines: list[str]
    ) -> None:
        if node in self._draft.source.tree.body:
            self._anchor = self._anchor or node
            self._needed.update(lines)
        else:
            self._draft.edits.before[node] += _sorted(lines)
        if kept:
            self._draft.write(node, "{0}", import_text(node, kept))
        else:
            self._draft.edits.remove(node)

    def _place(self) -> None:
        """Add missing imports below the imports."""
        body = self._draft.source.tree.body
        imports = [statement for statement in body if isinstance(statement, _IMPORT)]
        present = {import_text(statement, statement.names) for statement in imports}
        leading = takewhile(lambda part: isinstance(part, (*_IMPORT, ast.Expr)), body)
        above = [part for part in leading if isinstance(part, _IMPORT)] or imports[:1]
        if above:
            self._draft.edits.after[self._anchor or above[-1]] += _sorted(self._needed - present)


def _import_line(name: str, bound: str) -> str:
    """Return the import of a name."""
    owner, _, last = name.rpartition(".")
    return f"from {owner} import {last}" + ("" if bound == last else f" as {bound}")


def _helpers_line(called: Mapping[str, str], draft: Draft) -> str:
    """Return the import of functions from the module beside the file."""
    names = sorted(name if own == name else f"{name} as {own}" for name, own in called.items())
    start = f"from {'.' if draft.beside.in_package else ''}{MODULE} import"
    line, lines = ", ".join(names), "".join(f"    {name},\n" for name in names)
    return f"{start} {line}" if len(f"{start} {line}") <= 100 else f"{start} (\n{lines})"


def _sorted(lines: Iterable[str]) -> list[str]:
    """Sort imports as formatters do: Python's modules, libraries, the program's."""

    def order(line: str) -> tuple[int, str]:
        if " = " in line:  # what is made once for the file
            return 3, line
        module = line.split()[1].split(".")[0]
        return (2 if module in ("", MODULE) else int(module in OTHERS), line)

    return sorted(lines, key=order)

"""The names that new text uses: of helpers, and of imports."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Mapping

from tritonclient_shim.migrate.decisions import Decisions
from tritonclient_shim.migrate.emitted import (
    OVER_BOTH,
    PLAIN_CLIENT,
    import_text,
    is_written,
    local_names,
    without,
)
from tritonclient_shim.migrate.facts import CONFIGS, ERROR, FileFacts
from tritonclient_shim.migrate.model_methods import has_plain_requests, unused_methods
from tritonclient_shim.migrate.rules.status import asks_for_states
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.imports import API

#: Names and modules of v1 that tritonclient has, too.
_SUCCESSORS = {
    ERROR: "tritonclient.utils.InferenceServerException",
    CONFIGS: "tritonclient.grpc.model_config_pb2",
    "tensorrtserver.shared_memory": "tritonclient.utils.shared_memory",
}
_ERROR_NAME = "InferenceServerException"


@dataclass(frozen=True)
class NewNames:
    """Chooses names that the file does not have for something else.

    ``read``: the names that the rewritten body reads.
    """

    facts: FileFacts
    decisions: Decisions
    read: frozenset[str] = frozenset()

    @cached_property
    def helper_facts(self) -> frozenset[str]:
        """Return what is certain of the file, by which the helpers are chosen."""
        certain = set()
        protocols = self.decisions.protocols | self.facts.beside.protocols
        if len(protocols) == 1:
            certain.add(f"over_{next(iter(protocols))}")
        if self.decisions.connects:
            certain.add(OVER_BOTH)
        if self._checks_arrays:
            certain.add("checked_arrays")
        if not self.facts.beside.linked and "cuda" not in self.facts.full_text:
            certain.add("system_memory")
        if not self.facts.may_ask_for_classes:
            certain.add("without_classes")
        if not self.facts.catches_errors:
            certain.add(PLAIN_CLIENT)
        if not self.decisions.sends_headers:
            certain.add("without_headers")
        if not self.decisions.shares_clients:
            certain.add("without_threads")
        if certain >= {"without_headers", "without_threads"}:
            certain.add("plain_clients")
        if has_plain_requests(self.facts, self.decisions):
            certain.add("plain_requests")
        if self.decisions.has_models_in_regions:
            certain.add("models_in_regions")
        if asks_for_states(self.facts):
            certain.add("only_states")
        if not self.decisions.asks_models:
            certain.add("without_reports")
        if "_ctx" in self.facts.flows.attributes:
            certain.add("asks_if_open")
        certain.update(map(without, unused_methods(self.facts, self.decisions)))
        return frozenset(certain)

    @property
    def _checks_arrays(self) -> bool:
        """True if requests check arrays as v1 did, now or since an earlier migration."""
        if not self.facts.options.allows(UnsafeChange.REFUSED_ARRAYS):
            return True
        return is_written("array_of", frozenset(["checked_arrays"]), self.facts.full_text)

    def is_written(self, helper: str) -> bool:
        """True if the file has a helper already, from an earlier migration."""
        if self.facts.options.helpers:
            return False
        names = {symbol.rpartition(".")[2]: own for symbol, own in self._own_names.items()}
        return is_written(helper, self.helper_facts, self.facts.full_text, names)

    def of_helper(self, helper: str) -> str:
        """Return the name of a helper in the file."""
        if self.facts.options.helpers:
            return self.of_import(self.helper_import(helper))
        return helper if self.is_written(helper) else self.facts.free_name(helper)

    def helper_import(self, helper: str) -> str:
        """Return the import of a helper from the module that has all of them."""
        return f"from {self.facts.options.helpers} import {helper}"

    def of_import(self, line: str) -> str:
        """Return the name that an import of one name binds in the file."""
        name = _bound(_imported(line))
        own = self._own_names.get(_symbol_of(line))
        if own:
            return own
        return name if self._has_import(name, line) else self.facts.free_name(name)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Return what tritonclient has in place of v1, by other names that the module gives it.

        Names that the helpers bind themselves are left out.
        """
        aliases: dict[str, str] = {}
        for statement in self.facts.source.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for alias in statement.names:
                    symbol = symbol_of(statement, alias)
                    new = symbol if symbol in _SUCCESSORS.values() else self.successor(symbol)
                    if new and alias.asname and alias.asname not in local_names():
                        aliases[alias.asname] = new
        return aliases

    @cached_property
    def _own_names(self) -> Mapping[str, str]:
        """Return the names that the body reads for what tritonclient has in place of v1."""
        names: dict[str, str] = {}
        for name, symbol in self.aliases.items():
            if name in self.read and self._has_import(name, _line_of(symbol)):
                names.setdefault(symbol, name)
        return names

    def successor(self, symbol: str) -> str:
        """Return what tritonclient has for a name of v1, by its dotted name; '' if v1's stays."""
        for old, new in _SUCCESSORS.items():
            if f"{symbol}.".startswith(f"{old}.") and old not in self.decisions.kept:
                return new + symbol[len(old) :]
        return ""

    def import_line(self, line: str) -> str:
        """Return an import of one name, with the name that it binds in the file."""
        statement = ast.parse(line).body[0]
        name = self.of_import(line)
        imported = _imported(line).name
        if name == imported:
            return line
        assert isinstance(statement, (ast.Import, ast.ImportFrom))
        return import_text(statement, [ast.alias(imported, name)])

    def _has_import(self, name: str, line: str) -> bool:
        """True if a name is only that of an import, or of the v1 name that it replaces."""
        if name == _ERROR_NAME and self.facts.errors_stay:
            return False
        evaluator = self.facts.evaluator
        scopes = evaluator.scopes.of_node.values()
        bindings = [x for scope in scopes for x in scope.bindings.get(name, ())]
        bindings = [binding for binding in bindings if binding.binds]
        if any(not self._is_import(binding.node, line) for binding in bindings):
            return False
        if bindings or name in evaluator.imports.star:
            return True
        nodes = self.facts.flows.parents
        is_read = any(isinstance(node, ast.Name) and node.id == name for node in nodes)
        return not is_read and self._is_shared(name, line)

    def _is_shared(self, name: str, line: str) -> bool:
        """True if files whose names star imports bring together bind a name only by an import."""
        lines = {line}
        if self.successor(f"{API}.{name}") == _symbol_of(line):
            lines.add(f"from {API} import {name}")
        return self.facts.beside.star_bindings.get(name, frozenset()) <= lines

    def _is_import(self, node: ast.AST, line: str) -> bool:
        """True for a name of an import, or of what it replaces: a name or module of v1."""
        if not isinstance(node, ast.alias):
            return False
        statement: Any = self.facts.flows.parents[node]
        symbol = symbol_of(statement, node)
        if _symbol_of(line) in (symbol, self.successor(symbol)):
            return True
        return import_text(statement, [node]) == line


def _imported(line: str) -> ast.alias:
    """Return what an import of one name imports."""
    statement: Any = ast.parse(line).body[0]
    name: ast.alias = statement.names[0]
    return name


def _symbol_of(line: str) -> str:
    """Return the dotted name of what an import of one name imports."""
    statement: Any = ast.parse(line).body[0]
    return symbol_of(statement, statement.names[0])


def _line_of(symbol: str) -> str:
    """Return the import of a dotted name."""
    owner, _, name = symbol.rpartition(".")
    return f"from {owner} import {name}"


def symbol_of(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return the dotted name of what an import imports; dots before it for the own package."""
    if isinstance(node, ast.ImportFrom):
        return f"{'.' * node.level}{node.module or ''}.{alias.name}"
    return alias.name


def _bound(name: ast.alias) -> str:
    return name.asname or name.name

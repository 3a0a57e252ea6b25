"""The names that new text uses: of helpers, and of imports."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tritonclient_shim.migrate.decisions import Decisions
from tritonclient_shim.migrate.emitted import OVER_BOTH, import_text, is_written, without
from tritonclient_shim.migrate.facts import CONFIGS, ERROR, FileFacts
from tritonclient_shim.migrate.model_methods import has_plain_requests, unused_methods
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.imports import API

#: The import that replaces an import of v1's configurations.
_CONFIGS_IMPORT = "from tritonclient.grpc import model_config_pb2"
_ERROR_NAME = "InferenceServerException"


@dataclass(frozen=True)
class NewNames:
    """Chooses names that the file does not have for something else."""

    facts: FileFacts
    decisions: Decisions

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
            certain.add("without_handlers")
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
        return is_written(helper, self.helper_facts, self.facts.full_text)

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
        for own in self._names_of_configs if line == _CONFIGS_IMPORT else ():
            if self._has_import(own, line):
                return own
        return name if self._has_import(name, line) else self.facts.free_name(name)

    @cached_property
    def _names_of_configs(self) -> tuple[str, ...]:
        """Return the names of v1's module of configurations in the module."""
        symbols = self.facts.evaluator.imports.symbols
        return tuple(
            _bound(name)
            for statement in self.facts.source.tree.body
            if isinstance(statement, (ast.Import, ast.ImportFrom))
            for name in statement.names
            if name.asname and symbols.get(name) == CONFIGS
        )

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
        if any(not self._is_import(binding.node, name, line) for binding in bindings):
            return False
        if bindings or name in evaluator.imports.star:
            return True
        nodes = self.facts.flows.parents
        is_read = any(isinstance(node, ast.Name) and node.id == name for node in nodes)
        return not is_read and self._is_shared(name, line)

    def _is_shared(self, name: str, line: str) -> bool:
        """True if files whose names star imports bring together bind a name only by an import."""
        lines = {line}
        is_configs = line == _CONFIGS_IMPORT and CONFIGS not in self.decisions.kept
        if name == _ERROR_NAME or is_configs:
            lines.add(f"from {API} import {name}")
        return self.facts.beside.star_bindings.get(name, frozenset()) <= lines

    def _is_import(self, node: ast.AST, name: str, line: str) -> bool:
        """True for a name of an import, or of what it replaces: v1's exception or a module."""
        if not isinstance(node, ast.alias):
            return False
        symbol = self.facts.evaluator.imports.symbols[node]
        if symbol == ERROR and name == _ERROR_NAME:
            return True
        if symbol == CONFIGS and line == _CONFIGS_IMPORT and CONFIGS not in self.decisions.kept:
            return True
        statement: Any = self.facts.flows.parents[node]
        return import_text(statement, [node]) == line


def _imported(line: str) -> ast.alias:
    """Return what an import of one name imports."""
    statement: Any = ast.parse(line).body[0]
    name: ast.alias = statement.names[0]
    return name


def _bound(name: ast.alias) -> str:
    return name.asname or name.name

"""What the rules for expressions, calls, classes and annotations ask of the evaluator.

The evaluator imports the rules. The rules import only this protocol, so no import is circular.
"""

from __future__ import annotations

import ast
from typing import Protocol

from tritonclient_shim.migrate.scope_builder import Scopes
from tritonclient_shim.migrate.scopes import Definition
from tritonclient_shim.migrate.values import LocalFunction, Value, Values


class Interpreter(Protocol):
    """The evaluator of a file, as its rules see it."""

    scopes: Scopes

    def of(self, node: ast.AST) -> Values:
        """Return the possible values of an expression; nothing if they are unknown."""

    def member(self, owner: Value, name: str) -> Values:
        """Return what an attribute of a value can be."""

    def definition(self, definition: Definition) -> Values:
        """Return what a binding gives to its name."""

    def returned(self, function: LocalFunction) -> Values:
        """Return what a function of the file returns: for a generator, a container of values."""

    def attribute_of_object(self, node: ast.ClassDef, name: str) -> Values:
        """Return what an attribute of the objects of a class of the file can be."""

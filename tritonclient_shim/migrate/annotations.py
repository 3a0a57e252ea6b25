"""Find the annotations of variables, parameters and results that are contexts of a group.

An annotation reads nothing of a context. So it becomes the class of what the context becomes.
"""

from __future__ import annotations

import ast
from typing import Iterator

from tritonclient_shim.migrate.decisions import Plan, Refused, rewrite
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.flows import Group
from tritonclient_shim.migrate.rules import CREATIONS
from tritonclient_shim.migrate.rules.lines import client_module
from tritonclient_shim.migrate.rules.models import Contexts, Form
from tritonclient_shim.migrate.rules.names import protocol_of
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.evaluator import decorators
from tritonclient_shim.scan.scopes import index, last_name
from tritonclient_shim.scan.sites import arguments
from tritonclient_shim.scan.values import LITERAL, Instance, Symbol, Values

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OPTIONAL = ("Optional", "Union")
#: Decorators that read no annotations.
_BLIND = frozenset(
    (
        "abstractmethod",
        "cached_property",
        "classmethod",
        "contextmanager",
        "lru_cache",
        "property",
        "staticmethod",
        "wraps",
    )
)


def annotations_of(group: Group, facts: FileFacts) -> list[ast.expr]:
    """Return the names of the class of a group in annotations of its contexts alone.

    No names if the clients of the group have several protocols, or one that the program chooses.
    """
    if not _protocol(group, facts):
        return []
    nodes: list[ast.expr] = []
    for node in facts.flows.parents:
        for annotation, values in _annotated(node, facts):
            if _are_of(values, group):
                nodes += (x for x in _classes(annotation) if _names(x, group, facts))
    return nodes


def annotation(node: ast.expr, facts: FileFacts, contexts: Contexts) -> Plan:
    """Return the plan for the class in an annotation of contexts."""
    if contexts.form is Form.OBJECT:
        return rewrite(node, "{InferModel}", what="the class InferModel")
    module = client_module(_protocol(contexts.group, facts))
    return rewrite(node, "{0}.InferenceServerClient", module, what="the class of the client")


def _protocol(group: Group, facts: FileFacts) -> str:
    """Return the protocol of all clients of a group; '' if they have none in common."""
    protocols = set()
    for call in group.creations:
        protocol = arguments(PARAMETERS[CREATIONS[group.kind]], call).get("protocol")
        try:
            protocols.add(protocol_of(protocol, facts) if protocol else "")
        except Refused:
            return ""
    return protocols.pop() if len(protocols) == 1 else ""


def _annotated(node: ast.AST, facts: FileFacts) -> Iterator[tuple[ast.expr, Values]]:
    """Yield an annotation that a node has, with the values of what it annotates."""
    evaluator = facts.evaluator
    if isinstance(node, ast.arg) and node.annotation:
        if _is_blind(evaluator.scopes.places[node].scope.node):
            yield node.annotation, evaluator.of(node)
    elif isinstance(node, ast.AnnAssign) and node.value:
        yield node.annotation, evaluator.of(node.value)
    elif isinstance(node, _FUNCTIONS) and node.returns:
        scope = evaluator.scopes.of_node[node]
        results = [evaluator.of(result) for result in scope.results]
        if all(results) and not scope.is_generator and _is_blind(node):
            yield node.returns, frozenset().union(*results)


def _is_blind(function: ast.AST) -> bool:
    """True for a function whose decorators read no annotations."""
    return decorators(function) <= _BLIND


def _are_of(values: Values, group: Group) -> bool:
    """True if values are contexts of a group, or None."""
    objects = [value for value in values if value is not LITERAL]
    contexts = {Instance(group.kind, call) for call in group.creations}
    return bool(objects) and contexts.issuperset(objects)


def _classes(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the classes of an annotation: itself, or those that it is a choice of."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _classes(node.left)
        yield from _classes(node.right)
    elif isinstance(node, ast.Subscript) and last_name(node.value) in _OPTIONAL:
        parts = index(node)
        for part in parts.elts if isinstance(parts, ast.Tuple) else [parts]:
            yield from _classes(part)
    else:
        yield node


def _names(node: ast.expr, group: Group, facts: FileFacts) -> bool:
    """True for the class of a group, by its name or in a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.rpartition(".")[2] == group.kind.rpartition(".")[2]
    return facts.evaluator.of(node) == {Symbol(group.kind)}

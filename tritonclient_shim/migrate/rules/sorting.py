"""Whether a program may sort its asynchronous requests. v1 numbered them; futures have no order."""

from __future__ import annotations

import ast
from typing import Iterator

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.scopes import ADDING, EXTENDING, Binding, index, last_name
from tritonclient_shim.scan.values import OTHER, REQUEST, Instance, Items, LocalFunction, element

_SORTING = frozenset(("sorted", "sort", "min", "max", "nsmallest", "nlargest"))
#: Containers and functions that keep what they are given in order.
_ORDERED = frozenset(("PriorityQueue", "heapify", "heappush", "heappop", "insort", "bisect"))
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
#: Methods that return what another place of the program has put into a container.
_TAKING = frozenset(("get", "get_nowait", "pop", "popleft", "popitem", "next"))
_FETCHING = "get_async_run_results"
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


def sorted_request(facts: FileFacts) -> ast.AST | None:
    """Return where the program may sort requests, or tuples that start with one."""
    requests = [node for node in facts.flows.parents if _is_request(node, facts)]
    for node in requests:
        parent = facts.flows.parents[node]
        if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], _ORDERS):
            return parent
    if not any(_is_put_away(node, facts) for node in requests):
        return None  # then it is only in variables
    for call in facts.evaluator.scopes.calls:
        name = last_name(call.func)
        if name in _ORDERED or name in _SORTING and _Sorting(facts).has_requests(call):
            return call
    return None


def _is_request(node: ast.AST, facts: FileFacts) -> bool:
    """True for an expression whose value may be a request."""
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    return any(group.kind == REQUEST for group in facts.flows.of(node))


def _is_put_away(node: ast.AST, facts: FileFacts) -> bool:
    """True if a request goes into a container, or into code that is not followed."""
    parent = facts.flows.parents[node]
    if isinstance(parent, ast.keyword):
        parent = facts.flows.parents[parent]
    if isinstance(parent, ast.Assign):
        return not all(isinstance(target, ast.Name) for target in parent.targets)
    if isinstance(parent, ast.Call):
        functions = facts.evaluator.of(parent.func)
        is_followed = any(isinstance(function, LocalFunction) for function in functions)
        return last_name(parent.func) != _FETCHING and not is_followed
    return not isinstance(parent, (ast.Expr, ast.Return, ast.Attribute, ast.Compare))


class _Sorting:
    """Looks for requests in what a call sorts."""

    def __init__(self, facts: FileFacts) -> None:
        self._facts = facts
        self._seen: set[ast.AST] = set()

    def has_requests(self, call: ast.Call) -> bool:
        """True if a call may sort requests, or tuples that start with one."""
        position = self._position(call)
        if position is None:
            return False
        containers = call.args if call.args else [getattr(call.func, "value", call.func)]
        return any(self._may_have(container, position) for container in containers)

    def _position(self, call: ast.Call) -> int | None:
        """Return which part of a tuple decides the order; None for an attribute or a result."""
        keys = [keyword.value for keyword in call.keywords if keyword.arg == "key"]
        if not keys:
            return 0
        key = keys[0].body if isinstance(keys[0], ast.Lambda) else keys[0]
        if not isinstance(key, ast.Subscript):
            return None if isinstance(key, (ast.Attribute, ast.Call)) else 0
        number = self._facts.constant(index(key))
        return number if isinstance(number, int) else 0

    def _may_have(self, container: ast.expr, position: int) -> bool:
        """True if an element of a container may be a request, or have one at a position."""
        values = element(self._facts.evaluator.of(container))
        firsts = set(values)
        for value in values:
            if isinstance(value, Items):
                firsts.remove(value)
                firsts |= dict(value.keyed).get(position, value.any) or {OTHER}
        if any(isinstance(value, Instance) and value.of == REQUEST for value in firsts):
            return True
        if firsts and OTHER not in firsts:
            return False
        return any(self._may_be(part, position) for part in self._parts(container))

    def _parts(self, container: ast.expr) -> Iterator[ast.AST]:
        """Yield what the program puts into a container, or into one of an equal name."""
        names = self._names_in(container)
        reads_values = any(getattr(node, "attr", "") == "values" for node in ast.walk(container))
        for node in (container, *self._facts.flows.parents):
            if isinstance(node, (*_COMPREHENSIONS, ast.DictComp, ast.List, ast.Dict, ast.Set)):
                if node is container or self._targets(node) & names:
                    yield from _elements(node, reads_values)
            elif isinstance(node, ast.Call) and last_name(node.func) in ADDING | EXTENDING:
                if last_name(getattr(node.func, "value", node.func)) in names:
                    yield from node.args
            elif isinstance(node, ast.Subscript) and _stored_in(node) in names:
                parent = self._facts.flows.parents[node]
                yield getattr(parent, "value", node) if reads_values else index(node)

    def _names_in(self, container: ast.expr) -> set[str]:
        """Return the names in an expression, and those in what their variables are given."""
        names = {last_name(node) for node in ast.walk(container)} - {""}
        size = 0
        while size < len(names):
            size = len(names)
            for node in self._facts.flows.parents:
                if isinstance(node, ast.Assign) and self._names_of(node) & names:
                    names |= {last_name(part) for part in ast.walk(node.value)} - {""}
        return names

    def _targets(self, node: ast.AST) -> set[str]:
        """Return the names that an expression is assigned to."""
        parent = self._facts.flows.parents.get(node)
        return self._names_of(parent) if isinstance(parent, ast.Assign) else set()

    def _names_of(self, assignment: ast.Assign) -> set[str]:
        """Return the names that an assignment binds."""
        return {last_name(target) for target in assignment.targets}

    def _may_be(self, node: ast.AST, position: int) -> bool:
        """True if an expression may be a request, or a tuple with one at a position."""
        if node in self._seen:
            return False
        self._seen.add(node)
        facts = self._facts
        if _is_request(node, facts):
            return True
        if isinstance(node, (ast.Tuple, ast.List)):
            return any(self._may_be(part, 0) for part in node.elts[position : position + 1])
        if isinstance(node, ast.Name):
            bindings = facts.evaluator.scopes.bindings(node)
            sources = [binding.node for binding in bindings if not self._is_part(binding)]
            return any(self._may_be(source, position) for source in sources)
        if isinstance(node, ast.arg):
            return any(self._may_be(value, position) for value in self._values_for(node))
        if not isinstance(node, ast.Call):
            return False
        functions = facts.evaluator.of(node.func)
        own = [value.node for value in functions if isinstance(value, LocalFunction)]
        if own:
            scopes = facts.evaluator.scopes.of_node
            results = [result for function in own for result in scopes[function].results]
            return any(self._may_be(result, position) for result in results)
        return last_name(node.func) in _TAKING

    def _is_part(self, binding: Binding) -> bool:
        """True for a part of a tuple whose requests are known."""
        values = self._facts.evaluator.of(binding.node)
        return bool(binding.steps) and any(isinstance(value, Items) for value in values)

    def _values_for(self, parameter: ast.arg) -> Iterator[ast.expr]:
        """Yield the arguments of calls that call the function of a parameter, or pass it on."""
        evaluator = self._facts.evaluator
        function = evaluator.scopes.places[parameter].scope.node
        for call in evaluator.scopes.calls:
            parts = [call.func, *call.args, *(keyword.value for keyword in call.keywords)]
            values = {value for part in parts for value in evaluator.of(part)}
            if any(isinstance(x, LocalFunction) and x.node is function for x in values):
                yield from parts[1:]


def _stored_in(node: ast.Subscript) -> str:
    """Return the name of the container whose element an assignment sets; '' for none."""
    return last_name(node.value) if isinstance(node.ctx, ast.Store) else ""


def _elements(node: ast.AST, reads_values: bool) -> Iterator[ast.AST]:
    """Yield the elements, or the keys or values, of a container that is written down."""
    if isinstance(node, _COMPREHENSIONS):
        yield node.elt
    elif isinstance(node, ast.DictComp):
        yield node.value if reads_values else node.key
    elif isinstance(node, ast.Dict):
        yield from (part for part in (node.values if reads_values else node.keys) if part)
    elif isinstance(node, (ast.List, ast.Set)):
        yield from node.elts

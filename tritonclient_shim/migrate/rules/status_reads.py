"""Which parts of a status a program reads, where the file shows all its reads.

A status of the helpers differs from v1's in ``uptime_ns``, and it is no message. Nor is the status
of shared memory. A program that reads only certain fields can notice none of this.
"""

from __future__ import annotations

import ast
from typing import Iterator, Mapping

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.scopes import Binding, last_name, parameters
from tritonclient_shim.scan.values import LocalFunction

#: A text, number or state, which the program may use in any way.
_VALUE = "value"
_STATUS = "status"
_MEMORY = "status of shared memory"
#: Fields of a part of a status, with the parts that they are.
_Fields = Mapping[str, Mapping[str, str]]
#: The fields of each part of a status whose values are v1's.
_FIELDS: _Fields = {
    _STATUS: {"id": _VALUE, "version": _VALUE, "ready_state": _VALUE, "model_status": "models"},
    "model": {"config": "config", "version_status": "versions"},
    "version": {
        "ready_state": _VALUE,
        "ready_state_reason": "reason",
        "model_execution_count": _VALUE,
        "model_inference_count": _VALUE,
        "last_inference_timestamp_milliseconds": _VALUE,
    },
    "reason": {"message": _VALUE},
    "config": {
        "name": _VALUE,
        "platform": _VALUE,
        "max_batch_size": _VALUE,
        "input": "tensors",
        "output": "tensors",
    },
    "tensor": {
        "name": _VALUE,
        "data_type": _VALUE,
        "format": _VALUE,
        "dims": "dims",
        "label_filename": _VALUE,
    },
    _MEMORY: {"shared_memory_region": "regions"},
    "region": {
        "name": _VALUE,
        "byte_size": _VALUE,
        "system_shared_memory": "place",
        "cuda_shared_memory": "place",
        "HasField": _VALUE,
        "WhichOneof": _VALUE,
    },
    "place": {"shared_memory_key": _VALUE, "offset": _VALUE, "device_id": _VALUE},
}
#: Those that only say if a server, models and versions are ready.
_STATES: _Fields = {
    _STATUS: _FIELDS[_STATUS],
    "model": {"version_status": "versions"},
    "version": {"ready_state": _VALUE, "ready_state_reason": "reason"},
    "reason": _FIELDS["reason"],
}
#: The elements of maps, by key, and of lists.
_MAPS = {"models": "model", "versions": "version"}
_LISTS = {"tensors": "tensor", "dims": _VALUE, "regions": "region"}
#: What an iteration yields: for maps, their keys.
_YIELDED = {
    **dict.fromkeys((*_MAPS, "keys"), _VALUE),
    **_LISTS,
    **{f"values of {name}": part for name, part in _MAPS.items()},
}
#: The pairs of a map, each with the part that is second.
_PAIRS = {f"items of {name}": part for name, part in _MAPS.items()}
#: Functions that keep the elements of their argument, and do not compare them.
_KEEPING = frozenset(("list", "tuple"))
#: Functions that take each element of their argument.
_TAKING = _KEEPING | {"sorted", "set", "max", "min", "any", "all", "sum"}


def reads_known_fields(call: ast.Call, facts: FileFacts) -> bool:
    """True if all uses of a status are in the file, and read fields whose values are v1's."""
    return _reads_known(call, facts, _STATUS, _FIELDS)


def reads_states(call: ast.Call, facts: FileFacts) -> bool:
    """True if all uses of a status are in the file, and read no more than states and names."""
    return _reads_known(call, facts, _STATUS, _STATES)


def reads_known_regions(call: ast.Call, facts: FileFacts) -> bool:
    """True if all uses of a status of shared memory are in the file, and read known fields."""
    return _reads_known(call, facts, _MEMORY, _FIELDS)


def _reads_known(call: ast.Call, facts: FileFacts, part: str, fields: _Fields) -> bool:
    """True if all uses of what a call returns are in the file, and read some fields alone."""
    return not facts.beside.linked and _Reads(facts, fields).are_known(call, part)


class _Reads:
    """Follows a status and its parts to where they are read."""

    def __init__(self, facts: FileFacts, fields: _Fields) -> None:
        self._facts = facts
        self._fields = fields
        self._parents = facts.flows.parents
        self._visited: set[tuple[ast.AST, str]] = set()

    def are_known(self, node: ast.AST, part: str) -> bool:
        """True if the program reads known fields of a part, and does no more with it."""
        if part == _VALUE or (node, part) in self._visited:
            return True
        self._visited.add((node, part))
        parent = self._parents[node]
        if isinstance(parent, ast.Attribute):
            return self._is_known_field(parent, part)
        if isinstance(parent, ast.Subscript):
            element = {**_MAPS, **_LISTS}.get(part)
            is_read = parent.value is node and isinstance(parent.ctx, ast.Load)
            is_slice = isinstance(parent.slice, ast.Slice)
            return is_read and not is_slice and bool(element) and self._of(parent, element)
        if isinstance(parent, ast.Compare):
            return self._is_known_test(parent, node, part)
        if isinstance(parent, (ast.For, ast.comprehension)):
            return parent.iter is node and self._are_known_elements(parent.target, part)
        if isinstance(parent, ast.Assign):
            return all(self._is_known_variable(target, part) for target in parent.targets)
        if isinstance(parent, ast.Call) and node in parent.args:
            return self._is_known_argument(parent, parent.args.index(node), part)
        return isinstance(parent, ast.Expr) and self._facts.is_dropped(node)

    def _of(self, node: ast.AST, part: str | None) -> bool:
        return part is not None and self.are_known(node, part)

    def _is_known_field(self, field: ast.Attribute, part: str) -> bool:
        """True for a known field of a part, or a method of a map that gives its elements."""
        if not isinstance(field.ctx, ast.Load):
            return False
        if part not in _MAPS:
            return self._of(field, self._fields.get(part, {}).get(field.attr))
        call = self._parents[field]
        if not isinstance(call, ast.Call) or call.func is not field:
            return False
        if call.keywords:
            return False
        element = _MAPS[part]
        if field.attr == "get":
            return len(call.args) == 1 and self.are_known(call, element)
        methods = {"keys": "keys", "values": f"values of {part}", "items": f"items of {part}"}
        return not call.args and self._of(call, methods.get(field.attr))

    def _is_known_test(self, test: ast.Compare, node: ast.AST, part: str) -> bool:
        """True for a test if a map has a key, or if a part is None."""
        if len(test.ops) != 1:
            return False
        if isinstance(test.ops[0], (ast.In, ast.NotIn)):
            return test.comparators[0] is node and part in (*_MAPS, "keys", "dims")
        other = test.comparators[0] if test.left is node else test.left
        is_none = isinstance(other, ast.Constant) and other.value is None
        return is_none and isinstance(test.ops[0], (ast.Is, ast.IsNot))

    def _are_known_elements(self, target: ast.expr, part: str) -> bool:
        """True for the target of a loop over a part."""
        if part not in _PAIRS:
            return part in _YIELDED and self._is_known_variable(target, _YIELDED[part])
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return False
        return self._is_known_variable(target.elts[1], _PAIRS[part])

    def _is_known_variable(self, target: ast.expr, part: str) -> bool:
        """True if all reads of a variable that gets a part read known fields."""
        if part == _VALUE:
            return True
        if not isinstance(target, ast.Name) or self._has_other_reads(target):
            return False
        bindings = self._facts.evaluator.scopes.bindings(target)
        return all(self.are_known(read, part) for read in self._reads_of(target.id, bindings))

    def _has_other_reads(self, target: ast.Name) -> bool:
        """True for a variable of a class, or one that another function binds as ``nonlocal``."""
        owner = self._facts.evaluator.scopes.owner(target)
        statements = (node for node in self._parents if isinstance(node, ast.Nonlocal))
        is_nonlocal = any(target.id in statement.names for statement in statements)
        return owner is None or isinstance(owner.node, ast.ClassDef) or is_nonlocal

    def _reads_of(self, name: str, bindings: list[Binding]) -> Iterator[ast.Name]:
        """Yield the places that read a variable with one of some bindings."""
        scopes = self._facts.evaluator.scopes
        names = (node for node in self._parents if isinstance(node, ast.Name) and node.id == name)
        for node in names:
            is_read = isinstance(node.ctx, ast.Load)
            if is_read and any(binding in bindings for binding in scopes.bindings(node)):
                yield node

    def _is_known_argument(self, call: ast.Call, position: int, part: str) -> bool:
        """True for a function of Python that takes the elements, or one of the file."""
        scopes = self._facts.evaluator.scopes
        values = self._facts.evaluator.of(call.func)
        functions = [value for value in values if isinstance(value, LocalFunction)]
        if functions and len(functions) == len(values):
            return all(self._is_known_in(item, position, part) for item in functions)
        is_builtin = isinstance(call.func, ast.Name) and scopes.owner(call.func) is None
        return is_builtin and self._is_known_result(call, last_name(call.func), part)

    def _is_known_result(self, call: ast.Call, function: str, part: str) -> bool:
        """True if a function of Python takes the elements of a part, and does not show them."""
        if part not in _YIELDED and part not in _PAIRS:
            return False
        if function == "len":
            return True
        if _YIELDED.get(part) == _VALUE:
            return function in _TAKING
        # the keys of pairs differ, so that no parts are compared
        is_sorted = function == "sorted" and part in _PAIRS and not call.keywords
        return (function in _KEEPING or is_sorted) and self.are_known(call, part)

    def _is_known_in(self, function: LocalFunction, position: int, part: str) -> bool:
        """True if a function of the file reads known fields of what it gets at a position."""
        names = parameters(function.node.args)
        number = position + function.bound
        if getattr(function.node, "decorator_list", []) or number >= len(names):
            return False
        parameter = names[number]
        scope = self._facts.evaluator.scopes.of_node[function.node]
        bindings = scope.bindings[parameter.arg]
        own = [binding for binding in bindings if binding.node is parameter]
        return all(self.are_known(read, part) for read in self._reads_of(parameter.arg, own))

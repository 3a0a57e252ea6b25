"""The variables that have the clients of a rewritten file, and what is done with them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Iterator, List

from tritonclient_shim.migrate.scopes import Binding, Kind, Scope, parameters
from tritonclient_shim.migrate.values import LocalFunction
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.emitted import names

Block = List[ast.stmt]
_TESTED = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.If, ast.While, ast.Assert)


@dataclass(eq=False)
class Variable:
    """A name of a scope that is bound to nothing but clients, or to one of other things, too.

    ``places``: where the client is read in the function that the variable is of; ``nested``: in
    functions inside of that. ``uses``: the calls that get the client, or call its methods, here or
    in a function that is called with it, each with the place in this function. ``unknown``: from
    where on it is not known what happens to the client.
    """

    scope: Scope
    name: str
    nodes: list[ast.Name]
    made: list[ast.Call] = field(default_factory=list)
    only_clients: bool = True
    uses: list[tuple[ast.Call, ast.AST]] = field(default_factory=list)
    places: list[ast.AST] = field(default_factory=list)
    nested: list[ast.AST] = field(default_factory=list)
    unknown: list[ast.AST] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        """Whether the program closes it."""
        methods = {getattr(call.func, "attr", "") for call, _ in self.uses}
        return bool(methods & {"close", "__exit__"})

    @property
    def deleted(self) -> bool:
        """Whether a statement unbinds it."""
        return any(isinstance(node.ctx, ast.Del) for node in self.nodes)


class Blocks:
    """The statements of a file, by the blocks that they are in."""

    def __init__(self, draft: Draft) -> None:
        self._parents = draft.flows.parents
        self.of: dict[ast.AST, tuple[Block, ast.AST]] = {}
        for node in ast.walk(draft.source.tree):
            for name in ("body", "orelse", "finalbody"):
                block: Block = getattr(node, name, [])
                if isinstance(block, list):  # the body of a lambda is an expression
                    self.of.update(dict.fromkeys(block, (block, node)))

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node is in."""
        while node not in self.of:
            node = self._parents[node]
        assert isinstance(node, ast.stmt)
        return node

    def around(self, node: ast.AST) -> Iterator[ast.stmt]:
        """The statements that a node is in, from the inside outwards."""
        current: ast.AST | None = node
        while current is not None:
            if current in self.of:
                assert isinstance(current, ast.stmt)
                yield current
            current = self._parents.get(current)

    def inside(self, block: Block, node: ast.AST) -> ast.stmt | None:
        """The statement of a block that a node is in."""
        return next((one for one in self.around(node) if self.of[one][0] is block), None)

    def common(self, nodes: list[ast.AST]) -> tuple[Block, ast.AST]:
        """The innermost block that all the nodes are in, and what it is a block of."""
        for one in self.around(nodes[0]):
            block, owner = self.of[one]
            if all(self.inside(block, node) for node in nodes):
                return block, owner
        raise AssertionError("a module is around everything")


class Variables:
    """Finds the variables of clients, which the calls that make them are assigned to."""

    def __init__(self, draft: Draft, made: list[ast.Call]) -> None:
        self.draft, self._made = draft, made
        self.names: dict[tuple[Scope, str], list[ast.Name]] = {}
        for node, place in draft.evaluator.scopes.places.items():
            owner = place.scope.owner(node.id) if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Name) and owner:
                self.names.setdefault((owner, node.id), []).append(node)
        self.helpers = {draft.called(name) for name in names()}

    def all(self) -> list[Variable]:
        """The variables, in the order of the file."""
        found: dict[tuple[Scope, str], Variable] = {}
        for call in self._made:
            target = self._target(call)
            owner = self.owner(target) if target else None
            if target is None or owner is None:
                continue
            key = (owner, target.id)
            if key not in found:
                found[key] = self._variable(*key)
            found[key].made.append(call)
        for one in found.values():
            stores = sum(isinstance(node.ctx, ast.Store) for node in one.nodes)
            one.only_clients = stores == len(one.made) == len(one.scope.bindings[one.name]) and all(
                binding.place.scope.frame is one.scope.frame
                for binding in one.scope.bindings[one.name]
            )
        return list(found.values())

    def _target(self, call: ast.Call) -> ast.Name | None:
        parent = self.draft.flows.parents[call]
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
            target = parent.targets[0]
            return target if isinstance(target, ast.Name) else None
        return None

    def owner(self, name: ast.Name) -> Scope | None:
        """The scope that a variable is of."""
        place = self.draft.evaluator.scopes.places.get(name)
        return place.scope.owner(name.id) if place else None

    def _variable(self, scope: Scope, name: str) -> Variable:
        variable = Variable(scope, name, self.names[scope, name])
        _Following(self, variable).follow(scope, name, None)
        return variable


class _Following:
    """Finds what is done with the value of a variable, and of those that get it."""

    def __init__(self, variables: Variables, variable: Variable) -> None:
        self._variables, self._variable = variables, variable
        self._evaluator = variables.draft.evaluator
        self._seen: set[Binding] = set()
        self._root: ast.AST | None = None  # where the client is read in the variable's function

    def follow(self, scope: Scope, name: str, binding: Binding | None) -> None:
        """Note what is done where a variable is read that may have been bound so."""
        frame = self._variable.scope.frame
        for node in self._variables.names.get((scope, name), ()):
            if isinstance(node.ctx, ast.Store) or not self._reaches(binding, node):
                continue
            here = self._evaluator.scopes.places[node].scope.frame
            outer = self._root
            if here is frame:
                self._variable.places.append(node)
                self._root = node
            elif here is not scope.frame:
                self._variable.nested.append(node)
            if not self._is_used(node):
                self._variable.unknown.append(node)
            self._root = outer

    def _reaches(self, binding: Binding | None, node: ast.Name) -> bool:
        return binding is None or binding in self._variables.draft.in_force(node)

    def _is_used(self, node: ast.Name) -> bool:
        """Note what uses a client; False if that is not known."""
        parent = self._around(node)
        if isinstance(parent, ast.Attribute):
            outer = self._around(parent)
            if isinstance(outer, ast.Call) and (outer.func is parent or self._is_helper(outer)):
                self._variable.uses.append((outer, self._root or outer))
                return True
            return parent.attr in (
                "name",
                "options",
                "stream",
                "last",
            )
        if isinstance(parent, ast.Call) and parent.func is not node:
            if self._is_helper(parent):
                self._variable.uses.append((parent, self._root or parent))
                return True
            return self._is_followed(node, parent)
        if isinstance(parent, ast.Assign):
            return self._is_renamed(parent)
        return isinstance(parent, _TESTED)

    def _around(self, node: ast.AST) -> ast.AST:
        parents = self._variables.draft.flows.parents
        return parents[parents[node]] if isinstance(parents[node], ast.keyword) else parents[node]

    def _is_helper(self, call: ast.Call) -> bool:
        return getattr(call.func, "id", "") in self._variables.helpers

    def _is_renamed(self, node: ast.Assign) -> bool:
        """Follow a client to another variable of the same function."""
        target = node.targets[0]
        owner = self._variables.owner(target) if isinstance(target, ast.Name) else None
        if owner is None or not isinstance(target, ast.Name):
            return False
        if self._evaluator.scopes.places[node].scope.frame is not owner.frame:
            return False
        return self._is_bound(owner, target.id, node.value)

    def _is_followed(self, node: ast.Name, call: ast.Call) -> bool:
        """Follow a client into the function of the file that is called with it."""
        values = self._evaluator.of(call.func)
        functions = [one.node for one in values if isinstance(one, LocalFunction)]
        if len(values) != 1 or not functions or not _is_plain(functions[0]):
            return False
        starred = any(isinstance(one, ast.Starred) for one in call.args)
        if not isinstance(call.func, ast.Name) or starred:
            return False
        names = [one.arg for one in parameters(functions[0])]
        given = {one.arg for one in call.keywords if one.value is node}
        given.update(name for name, one in zip(names, call.args) if one is node)
        scope = self._evaluator.scopes.of_node[functions[0]]
        return len(given) == 1 and self._is_bound(scope, str(given.pop()), None)

    def _is_bound(self, scope: Scope, name: str, value: ast.AST | None) -> bool:
        """Follow the binding of a variable to a value, or of a parameter."""
        bindings = scope.bindings.get(name, ())
        for one in bindings:
            definition = one.definition
            if definition.node is value or (value is None and definition.kind is Kind.PARAMETER):
                if one in self._seen:
                    return True
                self._seen.add(one)
                self.follow(scope, name, one)
                return True
        return False


def _is_plain(function: ast.AST) -> bool:
    """Whether a call of a function does all that the function does."""
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    return not any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in ast.walk(function))

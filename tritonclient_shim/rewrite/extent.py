"""What the functions that a file gets have to do in it: decode classes, and raise v1's errors."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.patterns import PARAMETERS, arguments
from tritonclient_shim.migrate.scopes import Kind
from tritonclient_shim.rewrite.draft import Draft

_REQUESTS = ("TS051", "TS052", "TS053", "TS054")


def extent(draft: Draft) -> set[str]:
    """The marks of the lines that a file has besides (see ``emitted``): "classes", "errors"."""
    ids = {site.id for site in draft.sites}
    classes = "TS063" in ids or any(
        _OutputFormats(draft).may_have_classes(
            arguments(PARAMETERS[site.id], site.call).get("outputs")
        )
        for site in draft.sites
        if site.id in _REQUESTS and site.call is not None
    )
    found = {"classes"} if classes else set()
    return found | ({"errors"} if "TS015" in ids or _errors_matter(draft) else set())


def _errors_matter(draft: Draft) -> bool:
    """Whether errors of requests may be caught: here, or in a file that imports this one."""
    nodes = list(ast.walk(draft.source.tree))
    if any(isinstance(node, ast.ExceptHandler) for node in nodes):
        return True
    is_program = any(isinstance(node, ast.Name) and node.id == "__name__" for node in nodes)
    defines = any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in nodes)
    return defines and not is_program


class _OutputFormats:
    """Follows the outputs of a request to where they are made."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._seen: set[int] = set()
        self._raw = {id(site.node) for site in draft.sites if site.id == "TS062"}

    def may_have_classes(self, node: ast.AST | None) -> bool:
        """Whether a part of them is made where this file does not show that it is RAW."""
        if id(node) in self._seen:
            return False
        self._seen.add(id(node))
        if id(node) in self._raw or isinstance(node, ast.Constant):
            return False
        if isinstance(node, ast.Name):
            return self._variable(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        parts = _parts(node)
        return parts is None or any(map(self.may_have_classes, parts))

    def _variable(self, node: ast.Name) -> bool:
        bindings = [one.definition for one in self._draft.bindings(node)]
        shown = all(one.kind is Kind.VALUE and not one.steps for one in bindings)
        if not bindings or not shown:
            return True
        return any(self.may_have_classes(one.node) for one in bindings) or self._stored(node.id)

    def _attribute(self, node: ast.Attribute) -> bool:
        values = [
            one.value
            for one in ast.walk(self._draft.source.tree)
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Attribute) and target.attr == node.attr
        ]
        return not values or any(map(self.may_have_classes, values)) or self._stored(node.attr)

    def _stored(self, name: str) -> bool:
        """The same of what is put into a variable or attribute under a key."""
        return any(
            self.may_have_classes(one.value)
            for one in ast.walk(self._draft.source.tree)
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Subscript) and _name(target.value) == name
        )


def _name(node: ast.AST) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


def _parts(node: ast.AST | None) -> list[ast.AST] | None:
    """The expressions that the formats of outputs are from; None where that is not known."""
    if isinstance(node, ast.Dict):
        return [*node.values]
    if isinstance(node, ast.DictComp):
        return [node.value]
    if isinstance(node, ast.Tuple):
        return [*node.elts[:1]]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call) and _name(node.func) in ("dict", "fromkeys", "OrderedDict"):
        formats = node.args[1:] if _name(node.func) == "fromkeys" else node.args
        return [*formats, *(one.value for one in node.keywords)]
    return None

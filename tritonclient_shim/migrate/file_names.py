"""The names that a file of a program reads and binds, found in its syntax tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Iterator, Mapping, NamedTuple

from tritonclient_shim.migrate.emitted import import_text
from tritonclient_shim.migrate.flows import CONTEXTS
from tritonclient_shim.scan.imports import API, star_of
from tritonclient_shim.scan.scopes import Binding, Scope, Scopes, last_name
from tritonclient_shim.scan.sources import Unreadable, parsed

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Base classes of Python's that add no method with a name of v1's.
_PLAIN_BASES = ("object", "ABC")
_CLASS_NAMES = frozenset(symbol.rpartition(".")[2] for symbol in CONTEXTS)


class ImportedModule(NamedTuple):
    """A module that a file imports, with the number of dots before it."""

    level: int
    module: str


class FileNames(NamedTuple):
    """Names of a file."""

    free: frozenset[str]  # variables that it binds by imports or not at all, and names in texts
    attributes: frozenset[str]  # but those of objects of its own classes
    methods: frozenset[str]  # of its classes, which may replace those of their base classes
    replaced: dict[str, int]  # classes of v1 that it may replace in other files, with lines
    bound: frozenset[str]  # but those of its imports
    #: names of the module, with the texts of the imports that bind them, '' for anything else
    bindings: Mapping[str, frozenset[str]]
    read: frozenset[str]  # variables that it reads and does not bind
    #: names that it reads only below its import of them, with the module
    origins: frozenset[tuple[str, ImportedModule]]
    #: its classes and their methods; None for a class in which v1 may have a part
    classes: dict[str, frozenset[str] | None]
    #: of its classes that do not derive from v1's
    own_methods: frozenset[str]


def names_in(path: str, text: bytes) -> FileNames:
    """Return the names of a file; those of an empty file if it cannot be parsed."""
    try:
        tree = parsed(path, text).tree
    except Unreadable:
        tree = ast.Module([], [])
    scopes = Scopes(tree)
    nodes = list(scopes.places)
    star = set(star_of(API)) if has_star_of_v1(text) else set()
    imported = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    bound = {name for scope in scopes.of_node.values() for name in _bound(scope.bindings)}
    modules = _imported_modules(nodes, scopes.module.bindings)
    variables = {node.id for node in nodes if isinstance(node, ast.Name)}
    own = set(_own_attributes(nodes))
    attributes = [x for x in nodes if isinstance(x, ast.Attribute) and x not in own]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.bases]
    texts = set(filter(str.isidentifier, map(_last_word, nodes)))  # for getattr and mocks
    return FileNames(
        free=frozenset((variables - bound - star - modules) | imported | texts),
        attributes=frozenset(node.attr for node in attributes),
        methods=frozenset(name for x in classes for name in scopes.of_node[x].bindings),
        replaced=dict(_replaced_classes([x for x in nodes if x not in own])),
        bound=frozenset(_bound(scopes.module.bindings)),
        bindings=_bindings_of(tree, scopes),
        read=frozenset(_read(scopes)),
        origins=frozenset(_origins(tree, nodes)),
        classes=_classes_of(scopes),
        own_methods=own_methods_of(scopes),
    )


def has_star_of_v1(text: bytes) -> bool:
    """True if a file star-imports v1's module."""
    return f"{API} import *".encode() in text


def _replaced_classes(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield the classes of v1 that a file may replace in others, each with the last such line."""
    for node in nodes:
        names = {_last_word(node)}
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        for name in names & _CLASS_NAMES:
            yield name, getattr(node, "lineno", 1)


def _bound(bindings: dict[str, list[Binding]]) -> Iterator[str]:
    """Yield the names that a scope binds, but those of its imports."""
    for name, own in bindings.items():
        if not any(isinstance(binding.node, ast.alias) for binding in own):
            yield name


def _bindings_of(tree: ast.Module, scopes: Scopes) -> dict[str, frozenset[str]]:
    """Return the names of a module, with the texts of imports that bind them, '' for the rest."""
    statements = {
        alias: node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    texts: dict[str, frozenset[str]] = {}
    for name, bindings in scopes.module.bindings.items():
        nodes = [binding.node for binding in bindings if binding.binds]
        texts[name] = frozenset(
            import_text(statements[node], [node]) if isinstance(node, ast.alias) else ""
            for node in nodes
        )
    return texts


def _read(scopes: Scopes) -> Iterator[str]:
    """Yield the variables that a file reads and does not bind."""
    for node in scopes.places:
        if isinstance(node, ast.Name) and scopes.owner(node) is None:
            yield node.id


def own_methods_of(scopes: Scopes) -> frozenset[str]:
    """Return the methods of the classes of a file that do not derive from v1's."""
    derived = set(_CLASS_NAMES)
    methods: set[str] = set()
    for node, scope in scopes.of_node.items():
        if not isinstance(node, ast.ClassDef):
            continue
        if any(last_name(base) in derived for base in node.bases):
            derived.add(node.name)
        else:
            methods.update(scope.bindings)
    return frozenset(methods)


def _classes_of(scopes: Scopes) -> dict[str, frozenset[str] | None]:
    """Return the classes of a file and their methods; None where v1 may have a part in a class.

    v1 has none in a class without base classes, nor in one that derives from such classes.
    """
    classes: dict[str, frozenset[str] | None] = {}
    for node, scope in scopes.of_node.items():
        if isinstance(node, ast.ClassDef):
            is_new = node.name not in classes
            methods = _own_methods(node, scope, classes)
            classes[node.name] = methods if is_new else None
    for name, bindings in scopes.module.bindings.items():
        if name in classes and len(bindings) > 1:
            classes[name] = None
    return classes


def _own_methods(
    node: ast.ClassDef, scope: Scope, classes: dict[str, frozenset[str] | None]
) -> frozenset[str] | None:
    """Return the methods of a class and its base classes; None if v1 may have a part in it."""
    if node.keywords or any(last_name(mark) != "dataclass" for mark in node.decorator_list):
        return None
    methods = {
        name
        for name, bindings in scope.bindings.items()
        if all(isinstance(binding.node, _FUNCTIONS) for binding in bindings)
    }
    for base in node.bases:
        inherited = frozenset() if last_name(base) in _PLAIN_BASES else classes.get(last_name(base))
        if inherited is None:
            return None
        methods |= inherited
    return frozenset(methods)


def _origins(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[tuple[str, ImportedModule]]:
    """Yield the names that one import binds above all that read or bind them, with its module.

    The import is a statement of the module, so it runs whenever the module does.
    """
    first: dict[str, int] = {}  # name → the first line that reads or assigns it
    imports: dict[str, int] = defaultdict(int)  # name → how many imports bind it
    for node in nodes:
        if isinstance(node, ast.Name):
            first[node.id] = min(node.lineno, first.get(node.id, node.lineno))
        elif isinstance(node, ast.alias):
            imports[node.asname or node.name] += 1
            imports[node.name] += bool(node.asname and node.asname != node.name)
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        for alias in statement.names:
            name = alias.asname or alias.name
            is_above = statement.lineno < first.get(name, statement.lineno + 1)
            if is_above and imports[name] == 1:
                yield name, ImportedModule(statement.level, statement.module or "")


def _imported_modules(nodes: list[ast.AST], bindings: dict[str, list[Binding]]) -> set[str]:
    """Return the names of a file that only ``import sys`` binds: no other file provides these."""
    imports = [node for node in nodes if isinstance(node, ast.Import)]
    aliases = {alias for node in imports for alias in node.names}
    binding = {name: [x.node for x in own if x.binds] for name, own in bindings.items()}
    return {name for name, own in binding.items() if aliases.issuperset(own)}


def _own_attributes(nodes: list[ast.AST]) -> Iterator[ast.Attribute]:
    """Yield the attributes of ``self`` that a class without base classes assigns itself."""
    for node in nodes:
        if isinstance(node, ast.ClassDef) and not node.bases:
            attributes = [x for x in ast.walk(node) if isinstance(x, ast.Attribute)]
            of_self = [x for x in attributes if last_name(x.value) == "self"]
            assigned = {x.attr for x in of_self if isinstance(x.ctx, ast.Store)}
            yield from (x for x in of_self if x.attr in assigned)


def _last_word(node: ast.AST) -> str:
    """Return the last name in a literal text such as ``"client.InferContext"``."""
    text = node.value if isinstance(node, ast.Constant) else ""
    return text.rpartition(".")[2] if isinstance(text, str) else ""

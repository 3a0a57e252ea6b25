"""One meaning for each name: no two classes of the package are called the same."""

from __future__ import annotations

import ast
from collections import defaultdict

from source import PACKAGES, trees

#: Names that more than one class may have, each with the reason.
SHARED: dict[str, str] = {
    "Asked": "temporary: renamed with the gateway and translate",
    "Connection": "temporary: renamed with the backends and the gateway",
    "Details": "temporary: Details and _Details",
    "Entry": "temporary: renamed with the gateway and the service",
    "Options": "temporary: renamed with the gateway and translate",
    "Request": "temporary: renamed with the backends and the session",
    "Route": "temporary: renamed with the backends and the gateway",
    "Row": "temporary: Row and _Row of the backends",
    "Session": "temporary: _Session of the gateway and of the stub",
    "Unary": "temporary: Unary and _Unary",
}


def classes(*files: ast.Module) -> list[str]:
    """The classes of some files, nested ones too; the leading underscore tells none apart."""
    nodes = (node for tree in files for node in ast.walk(tree))
    return [node.name.lstrip("_") for node in nodes if isinstance(node, ast.ClassDef)]


def shared() -> dict[str, list[str]]:
    """Names of more than one class, with the files that have them."""
    found = defaultdict(list)
    for path, tree in trees(*PACKAGES).items():
        for name in classes(tree):
            found[name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_name_is_given_to_two_classes() -> None:
    """Each class of the two packages has a name of its own; exceptions have a reason."""
    assert not {name: paths for name, paths in shared().items() if name not in SHARED}


def test_exceptions_are_needed() -> None:
    """Each exception is still the name of more than one class."""
    assert not SHARED.keys() - shared().keys()


def test_classes_are_found() -> None:
    """Classes inside classes and functions count, and an underscore does not."""
    source = "class A:\n    class B: pass\ndef f():\n    class _A: pass\n"
    assert sorted(classes(ast.parse(source))) == ["A", "A", "B"]

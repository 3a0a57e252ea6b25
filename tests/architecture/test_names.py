"""One meaning for each name: no two types of the package are called the same."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import Iterator

from tests.architecture.source import PACKAGES, trees

#: Names that more than one type may have, each with the reason.
SHARED: dict[str, str] = {}
_CLASS_LIKE = re.compile(r"_?[A-Z]\w*[a-z]\w*")


def types(tree: ast.Module) -> Iterator[str]:
    """The classes of a file, nested ones too, and its type aliases, each without ``_`` before."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name.lstrip("_")
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if _CLASS_LIKE.fullmatch(name):
                yield name.lstrip("_")


def shared() -> dict[str, list[str]]:
    """Names of more than one type, with the files that have them."""
    found = defaultdict(list)
    for path, tree in trees(*PACKAGES).items():
        for name in types(tree):
            found[name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_name_is_given_to_two_types() -> None:
    """Each class and type alias has a name of its own; exceptions have a reason."""
    assert not {name: paths for name, paths in shared().items() if name not in SHARED}


def test_exceptions_are_needed() -> None:
    """Each exception is still the name of more than one type."""
    assert not SHARED.keys() - shared().keys()


def test_types_are_found() -> None:
    """Classes inside classes and functions count, and aliases do; constants do not."""
    source = "class A:\n    class B: pass\ndef f():\n    class _A: pass\n_Cd = int\nLIMIT = T = 1\n"
    assert sorted(types(ast.parse(source))) == ["A", "A", "B", "Cd"]

"""Every test can fail, and says what it requires."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, Union

import pytest

from tests.architecture.source import trees

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Modules = Dict[str, ast.Module]  # by path

#: Calls that assert, besides those whose names begin with ``assert``.
ASSERTING = {"raises", "warns", "fail", "deprecated_call", "check_call", "check_output"}
#: Exceptions of so many kinds of failure that one of them alone says nothing.
BROAD = {
    *("BaseException", "Exception", "OSError", "RuntimeError", "TypeError", "ValueError"),
    *("AttributeError", "ImportError", "KeyError", "LookupError"),
    *("InferenceServerException", "Fault", "SettingsError", "RpcError"),
}
ANYTHING = {"", ".", ".*", ".+", "(?s).*"}


def functions(tree: ast.AST) -> list[Function]:
    """Every function in a tree, methods and inner functions too."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def each_test(modules: Modules) -> Iterator[tuple[str, Function]]:
    """The test functions: path, and the function. Legacy programs are data, whatever they name."""
    for path, tree in modules.items():
        if path.startswith(("tests/migrate/programs/", "tests/migrate/styles/")):
            continue
        yield from ((path, one) for one in functions(tree) if one.name.startswith("test_"))


def called(node: ast.AST) -> str:
    """``raises`` for ``pytest.raises(…)``, nothing for what is no call."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def asserts(node: ast.AST) -> bool:
    """Whether this node by itself can fail a test."""
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.Raise) and node.exc is not None:
        return called(node.exc) == "AssertionError"
    checked = isinstance(node, ast.Call) and any(one.arg == "check" for one in node.keywords)
    return checked or called(node) in ASSERTING or called(node).startswith("assert")


class Calls:
    """Which functions assert: themselves, or through functions of the tests that they call."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[tuple[str, str], bool] = {}
        self._own = {path: functions(tree) for path, tree in modules.items()}
        self._imported = {path: dict(_imported(tree)) for path, tree in modules.items()}

    def assert_something(self, path: str, function: Function) -> bool:
        """Whether a function asserts."""
        nodes = list(ast.walk(function))
        return any(map(asserts, nodes)) or any(self._leads_on(path, node) for node in nodes)

    def _leads_on(self, path: str, node: ast.AST) -> bool:
        """Whether a node calls a function that asserts: ours, an imported one, a method's."""
        if not isinstance(node, ast.Call):
            return False
        imported = self._imported[path]
        if isinstance(node.func, ast.Name):
            return self._named(*imported.get(node.func.id, (path, node.func.id)))
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            owner, name = node.func.value.id, node.func.attr
            if owner == "self":
                return self._named(path, name)
            folder, module = imported.get(owner, ("", ""))
            return self._named(f"{folder[:-3]}/{module}.py", name)
        return False

    def _named(self, path: str, name: str) -> bool:
        """Whether a function of this name in this module asserts."""
        if (path, name) not in self._known:
            self._known[path, name] = False  # for those that call themselves
            found = [one for one in self._own.get(path, ()) if one.name == name]
            self._known[path, name] = any(self.assert_something(path, one) for one in found)
        return self._known[path, name]


def _imported(tree: ast.AST) -> Iterator[tuple[str, tuple[str, str]]]:
    """What a module takes from the tests: its name here, the path of its module, its name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
            path = f"{(node.module or '').replace('.', '/')}.py"
            yield from ((one.asname or one.name, (path, one.name)) for one in node.names)


def silent(modules: Modules) -> list[str]:
    """The tests that assert nothing."""
    calls = Calls(modules)
    return [
        f"{path}:{one.lineno} {one.name}"
        for path, one in each_test(modules)
        if not calls.assert_something(path, one)
    ]


def indifferent(tree: ast.AST) -> list[int]:
    """The lines of ``raises`` that any failure would satisfy."""
    inspected = {
        id(item.context_expr)
        for function in functions(tree)
        for item in _items(function)
        if isinstance(item.optional_vars, ast.Name) and _reads(function, item.optional_vars.id)
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) == "raises"
        if _is_broad(node) and id(node) not in inspected
    ]


def _items(function: Function) -> Iterator[ast.withitem]:
    for node in ast.walk(function):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            yield from node.items


def _reads(function: Function, name: str) -> bool:
    """Whether a function looks at a variable."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    return any(node.id == name and isinstance(node.ctx, ast.Load) for node in names)


def _is_broad(call: ast.Call) -> bool:
    """Whether a broad exception may come with any text."""
    for one in call.keywords:
        if one.arg == "match":
            return isinstance(one.value, ast.Constant) and one.value.value in ANYTHING
    given = call.args[0]
    kinds = given.elts if isinstance(given, ast.Tuple) else [given]
    names = {
        one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in kinds
    }
    return not names.isdisjoint(BROAD)


def test_every_test_asserts() -> None:
    """Each test asserts something, directly or by calling what does."""
    modules = trees("tests")
    assert len(list(each_test(modules))) > 1000
    assert silent(modules) == []


def test_every_expected_error_is_named() -> None:
    """No test is content with any error: broad ones have a text, or are looked at."""
    found = {path: indifferent(tree) for path, tree in trees("tests").items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_test_says_what_it_requires() -> None:
    """Each test has a docstring, which begins with its requirement in one line."""
    untold = [
        f"{path}:{one.lineno} {one.name}"
        for path, one in each_test(trees("tests"))
        if not (ast.get_docstring(one) or "").partition("\n")[0].endswith((".", "…", "?"))
    ]
    assert untold == []


HELPER = "def told(x):\n    assert x\ndef quiet(x):\n    print(x)\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("f()", True),
        ("print(1)", True),
        ("helper.quiet(1)", True),
        ("quiet(1)", True),
        ("again()", True),
        ("other.told(1)", True),
        ("assert f()", False),
        ("with pytest.raises(OSError): f()", False),
        ("np.testing.assert_array_equal(a, b)", False),
        ("subprocess.run(a, check=True)", False),
        ("raise AssertionError('no')", False),
        ("helper.told(1)", False),
        ("told(1)", False),
        ("known(1)", False),
        ("mine()", False),
    ],
)
def test_silent_tests_are_seen(body: str, found: bool) -> None:
    """A test asserts if it or a helper does; namesakes elsewhere do not count."""
    text = (
        "from tests.a import helper\nfrom tests.a.helper import quiet, told, told as known\n"
        "def mine():\n    told(1)\ndef again():\n    again()\n"
        f"def test_it():\n    {body}\n"
    )
    modules = {"tests/a/helper.py": ast.parse(HELPER), "tests/a/test_b.py": ast.parse(text)}
    assert silent(modules) == (["tests/a/test_b.py:7 test_it"] if found else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("with raises(Exception): g()", True),
        ("with raises((KeyError, errors.Fault)): g()", True),
        ("with raises(InferenceServerException, match=''): g()", True),
        ("with raises(ForeignFault, match='.'): g()", True),
        ("with raises(OSError) as caught: g()", True),
        ("with raises(ForeignFault): g()", False),
        ("with raises(Exception, match='no'): g()", False),
        ("with raises(Exception, match=text): g()", False),
        ("with raises(OSError) as caught: g()\n    print(caught.value)", False),
    ],
)
def test_indifferent_tests_are_seen(text: str, found: bool) -> None:
    """A broad exception needs a text, or somebody who looks at it."""
    assert indifferent(ast.parse(f"def test_it():\n    {text}\n")) == ([2] if found else [])

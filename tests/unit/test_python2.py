"""Syntax errors of Python 2 sources, distinguished from other syntax errors."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tritonclient_shim.cli import _runner as runner
from tritonclient_shim.migrate import sources
from tritonclient_shim.migrate.python2 import feature, named_handlers

OLD = {
    "print 'a %d' % 5": "a print statement",
    "if x: print x": "a print statement",
    "exec code in space": "an exec statement",
    "try: pass\nexcept (KeyError, OSError), error: pass": "'except error, name'",
    "try: pass\nexcept KeyError, error:\n  pass": "'except error, name'",
    "try: pass\nexcept socket.error, (number, text):\n  pass": "'except error, name'",
    "e = 1\ntry: pass\nexcept KeyError, e:\n  f(e)": "'except error, name'",
    "from x import *\ntry: pass\nexcept Error, error:\n  pass": "'except error, name'",
    "raise ValueError, 'no'": "'raise error, text'",
    "raise errors.Error, 'no'": "'raise error, text'",
    "def f(a, (b, c)): pass": "a tuple among the parameters",
    "f(lambda (a, b): a)": "a tuple among the parameters",
    "if a <> b: pass": "the operator <>",
    "x = `y`": "backticks for repr",
    "os.chmod(p, 0755)": "an octal number without 0o",
    "x = 10L": "a number with L",
    "x = 0xffL": "a number with L",
    "x = ur'y'": "a string with ur",
    "if x:\n\ty()\n        z()": "tabs and spaces mixed in the indentation",
}
NEW = (
    "def f(:\n  pass",
    "x = (1, 2",
    "x = '<>",
    "f(a b, '0755')",
    "x = 'print it' y",
    "try: pass\nexcept (A, B) as: pass",
    "raise ValueError('a', 'b'",
    "def f(a=(1, 2) b): pass",
    "for x in 1.05 2: pass",
)


#: Two error classes without brackets, as since Python 3.14 (PEP 758); no Python 2.
PAIRS = (
    "try: pass\nexcept KeyError, ValueError: pass",
    "from socket import error\ntry: pass\nexcept KeyError, error: raise error(1)",
    "class problem(Exception): pass\ntry: pass\nexcept KeyError, problem: raise problem",
    "from errors import *\ntry: pass\nexcept KeyError, ServerError: pass",
    "def f(errors):\n  try: pass\n  except KeyError, errors: pass",
    "errors = (OSError, EOFError)\ntry: pass\nexcept KeyError, errors: pass",
    "try: pass\nexcept KeyError, socket.error: pass",
    "try: pass\nexcept KeyError, ValueError, EOFError: pass",
)


def error_of(source: str) -> SyntaxError:
    with pytest.raises(SyntaxError) as caught:
        runner.compiled(source.encode(), "script.py")
    return caught.value


@pytest.mark.parametrize(("source", "what"), OLD.items())
def test_python_2_is_recognised(source: str, what: str) -> None:
    """Each statement and literal that Python 3 removed is named, on every Python."""
    assert feature(error_of(source + "\n")) == what


@pytest.mark.parametrize("source", NEW)
def test_other_errors_are_not_python_2(source: str) -> None:
    """A syntax error of Python 3 is not attributed to Python 2."""
    assert feature(error_of(source + "\n")) == ""


@pytest.mark.parametrize("source", [item for item in OLD if "except" in item])
def test_scan_says_so(source: str, tmp_path: Path) -> None:
    """`scan` reports Python 2 files in the same words, and other unreadable files differently."""
    (tmp_path / "old.py").write_text(source + "\n", "utf-8")
    with pytest.raises(sources.Unreadable, match="'except error, name', which is Python 2"):
        sources.read(str(tmp_path / "old.py"))


@pytest.mark.parametrize("source", PAIRS)
def test_two_kinds_of_errors_are_not_python_2(source: str) -> None:
    """Two builtin errors without brackets are Python 3.14, and no Python 2."""
    if sys.version_info >= (3, 14):
        runner.compiled(source.encode(), "script.py")
    elif "KeyError, ValueError" in source:
        assert feature(error_of(source)) == ""
    else:
        assert error_of(source).lineno


def parsed(source: str) -> ast.Module:
    """Return the source as Python 3.14 parses it, where two errors need no brackets."""
    if sys.version_info >= (3, 14):
        return ast.parse(source)
    tree = ast.parse(re.sub(r"except ([^:(]+, .+):", r"except (\1):", source))
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple):
            node.type.col_offset = node.type.elts[0].col_offset  # the pair begins here
    return tree


NAMED = [name for name, what in OLD.items() if "except KeyError" in name or "except socket" in name]
USED = "errors = OSError\ntry: pass\nexcept KeyError, errors: "


@pytest.mark.parametrize("source", NAMED)
def test_handler_that_names_the_error(source: str) -> None:
    """A pair that Python 3.14 accepts is Python 2 if the handler uses its second name."""
    assert len(list(named_handlers(parsed(source)))) == 1


@pytest.mark.parametrize("source", PAIRS)
def test_handler_of_two_kinds(source: str) -> None:
    """Builtins, classes, imports and other names that may be a class count as error classes."""
    assert not list(named_handlers(parsed(source)))


@pytest.mark.parametrize(("body", "count"), [("print(errors)", 1), ("retry()", 0)])
def test_name_that_has_a_value(body: str, count: int) -> None:
    """A name that may also be a class is the error's variable if the handler reads it."""
    assert len(list(named_handlers(parsed(USED + body)))) == count


@pytest.mark.parametrize("pair", ["(KeyError, error)", "(KeyError, error) as e", "KeyError"])
def test_brackets_make_it_python_3(pair: str) -> None:
    """A tuple in brackets is Python 3 on every version, for all names."""
    tree = ast.parse(f"try: pass\nexcept {pair}: pass\n")
    assert not list(named_handlers(tree))

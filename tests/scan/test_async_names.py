"""``async`` as a name, as before Python 3.7."""

from __future__ import annotations

import pytest

from tritonclient_shim.scan.sources import rewritten


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

"""Changed files for the commands: sources, notebooks, TOML and JSON."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.backends.odd_answers import changed, cut, json_text

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = [
    path.read_text("utf-8")
    for path in sorted((ROOT / "tests/migrate/programs").rglob("*.py"))
    if path.name != "python2.py"
]
NOTEBOOK = json.loads((ROOT / "tests/migrate/programs/notebook.ipynb").read_text("utf-8"))

#: Expressions and statements that replace others in a program.
_EXPRESSIONS = [
    *("None", "0", "-1", "x", "*x", "**x"),
    *("(yield)", "[]", "{}", "{**x}", "lambda: 0", "...", "()"),
    *("[x for x in y]", "{x: y for x in z}", "x if y else z", "f'{x!r:>{y}}'", "b'a'", "x[1:]"),
    *("(await x)", "not x", "x or y", "(x := y)", "'a' 'b'", "x.y.z", "x()", "x(*y, **z)", "x, y"),
    *("InferContext", "InferContext.ResultFormat.RAW", "ProtocolType.HTTP", "ctx", "self.ctx"),
    *("'\\ud800'", "'é😀'", "1e999", "9" * 50, "[*x]", "(x)(y)", "print", "__import__('x')"),
]
_WRAPPERS = [
    *("if x:", "while x:", "for x in y:", "try:", "with x:", "def f():", "async def f():"),
    *("class A:", "if x:  # comment", "with x as y, z:", "def f(*a, b=1, **c) -> None:", "else:"),
]
_ODD_SOURCES = [
    *(b"", b"\xff", b"\0", b"\xef\xbb\xbfx = 1", b"# coding: nothing\n", b"# coding: utf-16\nx"),
    *(b"# coding: rot13\n", b"\x0c", b"x = (" * 300, b"(" * 5000, b"-" * 50_000 + b"1"),
    *(b"x = " + b"9" * 5000, b"if 1:\n" * 99, b"a = b'\\xff'\r", b"f'{" * 40, b"print 'x'\n"),
    *(b"# coding: utf-8-sig\nx", b"# -*- coding: undefined -*-\n", b"# coding: unicode_escape\n\\"),
    b"import tensorrtserver.api\n" + b"x." * 3000 + b"y\n",
    b"from tensorrtserver.api import *\n" + b"x = " + b"+".join([b"InferContext"] * 2000),
    b"# coding: hex\n", b"# coding: idna\n", b"# coding: punycode\n\xff",
]  # fmt: skip


def _nodes(source: str, kind: Any) -> list[Any]:
    return [item for item in ast.walk(ast.parse(source)) if isinstance(item, kind)]


def _span(source: str, node: Any) -> tuple[int, int]:
    """Return the first and last place of a node in the bytes of a source."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    begin = starts[node.lineno - 1] + node.col_offset
    return begin, starts[node.end_lineno - 1] + node.end_col_offset


def _with(source: str, node: Any, text: str) -> str:
    begin, end = _span(source, node)
    data = source.encode()
    return (data[:begin] + text.encode() + data[end:]).decode()


def _text(source: str, node: Any) -> str:
    begin, end = _span(source, node)
    return source.encode()[begin:end].decode()


def _expression_changed(draw: Any, source: str) -> str:
    nodes = _nodes(source, ast.expr)
    chosen = draw(st.sampled_from(nodes))
    other = draw(st.booleans())
    text = _text(source, draw(st.sampled_from(nodes))) if other else ""
    return _with(source, chosen, text or draw(st.sampled_from(_EXPRESSIONS)))


def _statement_changed(draw: Any, source: str) -> str:
    nodes = _nodes(source, ast.stmt)
    chosen, other = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
    text, how = (
        _text(source, chosen),
        draw(st.sampled_from(["drop", "twice", "wrap", "swap", "join"])),
    )
    indent = " " * chosen.col_offset
    if how == "drop":
        return _with(source, chosen, "pass")
    if how == "twice":
        return _with(source, chosen, f"{text}\n{indent}{text}")
    if how == "join":
        return _with(source, chosen, f"{text}; {_text(source, other)}")
    if how == "swap":
        return _with(source, chosen, _text(source, other))
    deeper = text.replace("\n", "\n    ")
    return _with(source, chosen, f"{draw(st.sampled_from(_WRAPPERS))}\n{indent}    {deeper}")


@st.composite
def sources(draw: Any) -> bytes:
    """Draw a program of the old client, changed in its expressions, statements or bytes."""
    if draw(st.integers(0, 19)) == 0:
        return bytes(draw(st.sampled_from(_ODD_SOURCES)))
    source = draw(st.sampled_from(PROGRAMS))
    for _ in range(draw(st.integers(1, 3))):
        how = draw(st.sampled_from([_expression_changed, _expression_changed, _statement_changed]))
        result = how(draw, source)
        try:
            ast.parse(result)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            break
        source = result
    data = source.encode()
    how = draw(st.sampled_from(["", "", "", "", "", "cut", "\r\n", "tabs"]))
    if how == "cut":
        return bytes(cut(draw, data))
    if how == "tabs":
        return bytes(data.replace(b"    ", b"\t"))
    return bytes(data.replace(b"\n", b"\r\n") if how else data)


@st.composite
def notebooks(draw: Any) -> bytes:
    """Return a notebook, changed as JSON or in its bytes."""
    text = json_text(changed(draw, NOTEBOOK))
    return text if draw(st.integers(0, 4)) else bytes(cut(draw, text))

"""Changed programs of the old client, and changed notebooks."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.backends.odd_answers import changed, cut, json_text

_FOLDER = Path(__file__).resolve().parents[1] / "migrate/programs"
PROGRAMS = [
    path.read_bytes() for path in sorted(_FOLDER.rglob("*.py")) if path.name != "python2.py"
]
NOTEBOOK = json.loads((_FOLDER / "notebook.ipynb").read_text("utf-8"))

#: Expressions that replace others in a program.
_EXPRESSIONS = [
    *("None", "-1", "*x", "**x", "(yield)", "{**x}", "lambda: 0", "...", "()", "[*x]", "(x := y)"),
    *("[x for x in y]", "{x: y for x in z}", "x if y else z", "f'{x!r:>{y}}'", "b'a'", "x[1:]"),
    *("(await x)", "not x", "'a' 'b'", "x.y.z", "x(*y, **z)", "x, y", "'\\ud800'", "'é😀'"),
    *("1e999", "9" * 50, "InferContext", "ProtocolType.HTTP", "ctx", "self.ctx", "__import__('x')"),
]
_WRAPPERS = [
    *("if x:", "while x:", "for x in y:", "try:", "with x as y, z:", "async def f():", "class A:"),
    *("def f(*a, b=1, **c) -> None:", "if x:  # comment", "else:"),
]
_ODD_SOURCES = [
    *(b"", b"\xff", b"\0", b"\xef\xbb\xbfx = 1", b"# coding: nothing\n", b"# coding: utf-16\nx"),
    *(b"# coding: rot13\n", b"\x0c", b"x = (" * 300, b"(" * 5000, b"-" * 50_000 + b"1"),
    *(b"x = " + b"9" * 5000, b"if 1:\n" * 99, b"a = b'\\xff'\r", b"f'{" * 40, b"print 'x'\n"),
    b"import tensorrtserver.api\n" + b"x." * 3000 + b"y\n",
    b"from tensorrtserver.api import *\n" + b"x = " + b"+".join([b"InferContext"] * 2000),
    b"# coding: idna\n", b"# coding: punycode\n\xff",
]  # fmt: skip


def _place(source: bytes, node: Any) -> slice:
    """Return the place of a node in the bytes of a source."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    begin = starts[node.lineno - 1] + node.col_offset
    return slice(begin, starts[node.end_lineno - 1] + node.end_col_offset)


def _with_change(draw: Any, source: bytes) -> bytes:
    """Return a program with one other expression or statement."""
    kind = draw(st.sampled_from([ast.expr, ast.expr, ast.stmt]))
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kind)]
    node, other = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
    place = _place(source, node)
    text, indent = source[place].decode(), "\n" + " " * node.col_offset
    if kind is ast.expr:
        new = draw(st.sampled_from(_EXPRESSIONS))
    else:
        deeper = text.replace("\n", "\n    ")
        wrapped = f"{draw(st.sampled_from(_WRAPPERS))}{indent}    {deeper}"
        new = draw(st.sampled_from(["pass", f"{text}{indent}{text}", wrapped]))
    new_bytes: bytes = draw(st.sampled_from([new.encode(), source[_place(source, other)]]))
    return source[: place.start] + new_bytes + source[place.stop :]


@st.composite
def sources(draw: Any) -> bytes:
    """Draw a program of the old client, changed in its expressions, statements or bytes."""
    if draw(st.integers(0, 19)) == 0:
        return bytes(draw(st.sampled_from(_ODD_SOURCES)))
    source: bytes = draw(st.sampled_from(PROGRAMS))
    for _ in range(draw(st.integers(1, 3))):
        result = _with_change(draw, source)
        try:
            ast.parse(result)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            break
        source = result
    how = draw(st.sampled_from(["", "", "", "", "", "cut", "\r\n", "tabs"]))
    if how == "cut":
        return cut(draw, source)
    if how == "tabs":
        return source.replace(b"    ", b"\t")
    return source.replace(b"\n", b"\r\n") if how else source


@st.composite
def notebooks(draw: Any) -> bytes:
    """Return a notebook, changed as JSON or in its bytes."""
    text = json_text(changed(draw, NOTEBOOK))
    return text if draw(st.integers(0, 4)) else cut(draw, text)

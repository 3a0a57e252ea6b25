"""Text that is not rewritten keeps its format."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import STAR, body
from tritonclient_shim.migrate.files import migrate
from tritonclient_shim.migrate.options import MigrateOptions

_CONTEXT = "c = InferContext('u', 1, 'm')\n"
_CLIENT = "c = grpcclient.InferenceServerClient('u')\n"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("c.run(\n  i,  # a, b\n  o,\n  1,\n)", "infer(\n  c, 'm', i,  # a, b\n  o,\n)"),
        ("c.run((i), outputs = (o))", "infer(c, 'm', (i), (o))"),
        ("c.run(lambda a, b: 0, o)", "infer(c, 'm', lambda a, b: 0, o)"),
        ("c.run(i, o, timeout_us=t  # a\n)", "infer(c, 'm', i, o, timeout=int(t)  # a\n)"),
        ("é = 'ü'; print('ä', c.run(i, o))", "é = 'ü'; print('ä', infer(c, 'm', i, o))"),
    ],
)  # fmt: skip
def test_arguments(call: str, expected: str) -> None:
    """Comments, lines and parentheses of the arguments that stay are kept."""
    assert body(f"{_CONTEXT}{call}\n") == f"{_CLIENT}{expected}\n"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "r = c.run({'a': x,\n           'b': y},\n"
            "          {'c': RAW,\n           'd': RAW}, 1)",
            "r = infer(c, 'm', {'a': x,\n                   'b': y},\n"
            "          {'c': RAW,\n           'd': RAW})",
        ),
        (
            "if x:\n    r = c.run(inputs=i,\n              outputs={'c': RAW,\n"
            "                       'd': RAW})",
            "if x:\n    r = infer(c, 'm', i,\n              {'c': RAW,\n               'd': RAW})",
        ),
        (
            "c.async_run(f, {'a': x,\n                'b': y},\n            o, 1)",
            "future = pool.submit(infer, c, 'm', deepcopy({'a': x, 'b': y}), o)\n"
            "future.add_done_callback(in_turn(f, c))",
        ),
        ("r = c.run(\n    i,\n    o, 1)", "r = infer(\n    c, 'm', i,\n    o)"),
        (
            "r = c.run(i, '''\n            ''')",
            "r = infer(c, 'm', i, '''\n            ''')",
        ),
    ],
)
def test_lines_stay_aligned(call: str, expected: str) -> None:
    """Lines that are aligned with a bracket of a call stay aligned with it."""
    source = f"{_CONTEXT}{call.replace('RAW', 'InferContext.ResultFormat.RAW')}\n"
    assert body(source).endswith(f"{_CLIENT}{expected}\n")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if x:\n    import tensorrtserver.api\n", "if x:\n    pass\n"),
        ("import tensorrtserver.api; x = 1\n", "pass; x = 1\n"),
        ("if x: import tensorrtserver.api\n", "if x: pass\n"),
        ("# above\n\nimport tensorrtserver.api\n\nx = 1\n", "# above\n\nx = 1\n"),
    ],
)
def test_imports_that_go(source: str, expected: str) -> None:
    """A removed import leaves a statement where Python needs one, and the comments above it."""
    assert body(source) == expected


def test_imports_of_a_file_without_imports() -> None:
    """A file that imports v1 in a function alone gets its imports at the top."""
    source = b"def f():\n    import tensorrtserver.api as t\n    t.ServerHealthContext('u', 1)\n"
    lines = migrate("script.py", source, MigrateOptions()).after.decode().splitlines()
    assert lines[:3] == ["import tritonclient.grpc as grpcclient", "", "def f():"]


def test_two_imports_at_the_top() -> None:
    """Both go. The first takes the line break between them."""
    source = b"import tensorrtserver.api\nimport tensorrtserver.api\nx = 1\n"
    assert migrate("script.py", source, MigrateOptions()).after == b"x = 1\n"


@pytest.mark.parametrize(
    "statement",
    [
        "x = 1; y = ServerHealthContext(*u)",
        "x = 1;\\\n  y = ServerHealthContext(*u)",
        "@d\ndef f(c=ServerHealthContext(*u)):\n    pass",
    ],
)
def test_comment_above_a_statement(statement: str) -> None:
    """A comment with work to do is above the first line of its statement."""
    text = body(f"{statement}\n")
    assert text.startswith("# TODO(TS020): ")
    assert text.endswith(f")\n{statement}\n")


def test_line_breaks_of_windows() -> None:
    """Line breaks stay those of the file."""
    source = f"{STAR}{_CONTEXT}c.run(\n    i,\n    o)\n"
    texts = [
        migrate("script.py", text.encode(), MigrateOptions()).after
        for text in (source, source.replace("\n", "\r\n"))
    ]
    assert texts[1] == texts[0].replace(b"\n", b"\r\n")


def test_mixed_line_breaks() -> None:
    """An added line has the line break of its neighbour."""
    source = f"{STAR}\r\nh = ServerHealthContext(*u)\nprint(1)\n"
    after = migrate("script.py", source.encode(), MigrateOptions()).after
    assert after.count(b"\r\n") == 1
    assert after.count(b"# TODO(TS020)") == 1


def test_tabs() -> None:
    """An added line has the indentation of its block, also if that uses tabs."""
    statement = "if a:\n\twith d():\n\t\tServerHealthContext(*u)\n"
    assert body(statement).splitlines()[2].startswith("\t\t# TODO(TS020): ")


def test_use_in_an_f_string() -> None:
    """A use in an f-string stays: older Pythons do not say where it is."""
    source = f"{_CONTEXT}print(f'{{c.run(i, o)}}')\n"
    assert "give it a statement of its own" in body(source)

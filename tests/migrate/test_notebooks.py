"""Notebooks: the code of cells is rewritten, and everything else stays byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, Ran, run
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import Migrated, migrate, scan
from tritonclient_shim.migrate.options import MigrateOptions
from tritonclient_shim.scan import sources

#: Runs the cells of a notebook in one namespace, as IPython does, but without its magics.
_RUNNER = r"""
import ast, json, re, sys
names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    text = "".join(cell["source"])
    if cell["cell_type"] != "code" or text.startswith("%%bash"):
        continue
    text = re.sub(r"(?m)^((?:\w+ = )?)%time ", r"\1", text)
    text = re.sub(r"(?m)^[%!](.*\\\n)*.*", "pass", text)
    body = ast.parse(text).body
    shown = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    value = eval(compile(ast.Expression(shown.value), "cell", "eval"), names) if shown else None
    if value is not None:
        print("Out:", repr(value))
"""
_START = ["%matplotlib inline\n", "import numpy as np\n", STAR.strip()]
_CELLS: tuple[list[str], ...] = (
    _START,
    ["# contexts\n", 'URL = "{url}"\n', '!echo "is it up?"\n', "!ls \\\n", "   -l"],
    ['%time ctx = InferContext(URL, ProtocolType.HTTP, "simple")'],
    [
        "%%time\n",
        'rows = {"INPUT0": [np.arange(16, dtype=np.int32)], "INPUT1": [np.ones(16, np.int32)]}\n',
        "%time sums = ctx.run(rows, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)",
    ],
    ["%%bash\n", "echo ctx.run"],
    ["print('größer', sums['OUTPUT0'][0].tolist())\n"],
    ["ctx.run(rows, {'OUTPUT1': InferContext.ResultFormat.RAW})['OUTPUT1'][0].shape"],
    [],
    ["ctx.close()"],
)


def _document(cells: tuple[list[str], ...]) -> dict[str, Any]:
    """Return a notebook with text above its cells, and an output below each."""
    code = [
        {
            "cell_type": "code",
            "execution_count": number,
            "id": f"id-{number}",
            "metadata": {"tags": ["ctx.run"]},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["ctx.run(i, o)\n"]}],
            "source": source,
        }
        for number, source in enumerate(cells)
    ]
    title = {"cell_type": "markdown", "id": "t", "metadata": {}, "source": ["# ctx.run ü"]}
    return {"cells": [title, *code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _written(path: Path, *cells: list[str], **layout: Any) -> bytes:
    """Write a notebook, by default as Jupyter does, and return its bytes."""
    jupyter = {"indent": 1, "ensure_ascii": False, **layout}
    path.write_text(json.dumps(_document(cells), **jupyter) + "\n", "utf-8")
    return path.read_bytes()


def _migrated(path: Path, *cells: list[str], **options: Any) -> Migrated:
    """Write a notebook whose first cell imports v1, and migrate it."""
    data = _written(path, _START, *cells)
    return migrate(str(path), data, MigrateOptions("grpc", **options))


def _sources(data: bytes) -> list[str]:
    """Return the texts of the code cells."""
    cells = json.loads(data)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _reasons(migration: Migrated) -> dict[str, str]:
    """Return what is said of each use that is left, by its id."""
    return {row.entry.id: outcome.what for row, outcome in migration.uses if outcome.todo}


@pytest.mark.parametrize("unsafe", [False, True])
def test_prints_the_same(unsafe: bool, triton: TritonServer, tmp_path: Path) -> None:
    """A migrated notebook runs without v1, and shows what it showed before."""
    book, runner = tmp_path / "book.ipynb", tmp_path / "runner.py"
    runner.write_text(_RUNNER, "utf-8")
    cells = [[line.replace("{url}", triton.http) for line in cell] for cell in _CELLS]
    data = _written(book, *cells)
    before = run(runner, str(book))
    assert before.status == 0, before.output
    assert "Out: (16,)" in before.output
    migration = migrate(str(book), data, MigrateOptions(unsafe=unsafe))
    assert _reasons(migration) == {}
    book.write_bytes(migration.after)
    assert b"tensorrtserver" not in migration.after
    assert run(runner, str(book)) == Ran(0, before.output)


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"indent": None},
        {"indent": 4, "ensure_ascii": True},
        {"indent": 2, "sort_keys": True, "separators": (" , ", " : ")},
    ],
)
def test_bytes_that_stay(layout: dict[str, Any], tmp_path: Path) -> None:
    """Cells without v1, outputs, ids, metadata and the layout of the JSON stay as they are."""
    data = _written(tmp_path / "book.ipynb", *_CELLS, **layout)
    migration = migrate("book.ipynb", data, MigrateOptions())
    document = json.loads(data)
    new = json.loads(migration.after)
    changed = 0
    for old_cell, new_cell in zip(document["cells"], new["cells"]):
        changed += old_cell["source"] != new_cell["source"]
        old_cell["source"] = new_cell["source"]
    assert changed == 4
    jupyter = {"indent": 1, "ensure_ascii": False, **layout}
    assert migration.after.decode() == json.dumps(document, **jupyter) + "\n"


def test_cell_that_is_one_text(tmp_path: Path) -> None:
    """The source of a cell that is one text stays one text."""
    document = _document((_START, ["ctx = ServerHealthContext('ü', 1)\n", "ctx.is_live()\n"]))
    for cell in document["cells"]:
        cell["source"] = "".join(cell["source"])
    data = json.dumps(document).encode()
    after = migrate("book.ipynb", data, MigrateOptions()).after
    texts = [cell["source"] for cell in json.loads(after)["cells"]]
    assert texts[2] == "ctx = grpcclient.InferenceServerClient('ü')\nctx.is_server_live()\n"
    for cell, text in zip(document["cells"], texts):
        cell["source"] = text
    assert after == json.dumps(document).encode()


def test_functions_stand_in_the_cell_of_the_import(tmp_path: Path) -> None:
    """Imports and functions are in the cell that imported v1, also above imports of others."""
    cells = (["import os"], ["ctx = InferContext('u', 1, 'm')\n", "print(ctx.run(i, o))"])
    first, second, third = _sources(_migrated(tmp_path / "b.ipynb", *cells).after)
    assert first.startswith("%matplotlib inline\n")
    assert "import tritonclient.grpc as grpcclient\n" in first
    assert "def infer(" in first
    assert not first.endswith("\n")
    assert second == "import os"
    assert third.endswith("print(infer(ctx, 'm', i, o))")


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("ctx = InferContext('u', 1, 'm')\nctx", "print a text of your own in cell 3, line 2"),
        ("ServerStatusContext('u', 1).get_server_status()", "print a text of your own in cell 3"),
        ("p = ProtocolType.GRPC\n1, [('p', p)]", "print a text of your own in cell 3, line 2"),
        ("{'m': ServerStatusContext('u', 1).get_server_status()}", "print a text of your own in"),
        ("class Own:\n  p = ProtocolType.GRPC\nOwn()", "print a text of your own in cell 3"),
        ("{'O': InferContext.ResultFormat.RAW}", "print a text of your own in cell 3, line 1"),
        ("%time InferContext('u', 1,\n  'm').run(i, o)", "write the statement of cell 3, line 1"),
        ("%%writefile x.py\nInferContext('u', 1, 'm')", "cell 3 does not run in the notebook"),
        ("%%sql\nInferContext('u', 1, 'm')", "cell 3 does not run in the notebook"),
        ("print 'old'", "repair cell 3: line 1: "),
        ("x = 1\r\nInferContext('u', 1, 'm')", "end all lines of the cells with \\n"),
    ],
)
def test_notebook_that_stays(cell: str, reason: str, tmp_path: Path) -> None:
    """What is not certain keeps the notebook as it is. The reason names the cell."""
    migration = _migrated(tmp_path / "book.ipynb", [cell], unsafe=True)
    assert migration.after == migration.before
    assert _reasons(migration)["TS001"].startswith(reason)


@pytest.mark.parametrize(
    "shown",
    [
        *("'done'", "3", "np.float32", "len(images), np.argmax", "arrays", "arrays[0].shape"),
        *("arrays[0].shape, arrays[0].argmax()", "(1, [(name, len(arrays))])"),
        *("config.max_batch_size, [i.name for i in config.input]", "{'best': arrays[0].max()}"),
    ],
)
def test_values_that_a_notebook_shows(shown: str, tmp_path: Path) -> None:
    """Numbers, texts, arrays, and tuples, lists and dicts of these, are shown as before."""
    cells = (
        ["ctx = InferContext('u', 1, name)\n", "status = ServerStatusContext('u', 1, name)"],
        ["arrays = ctx.run(i, {'O': InferContext.ResultFormat.RAW})['O']"],
        ["config = status.get_server_status().model_status[name].config\n", shown],
    )
    migration = _migrated(tmp_path / "book.ipynb", ["name = 'm'"], *cells, unsafe=True)
    assert _reasons(migration) == {}
    assert _sources(migration.after)[4].endswith(shown)


def test_lines_of_several_rows_with_a_magic(tmp_path: Path) -> None:
    """A statement with a magic that would need more lines keeps the notebook."""
    cell = [
        "ctx = InferContext('u', 1, 'm')\n",
        "%time from tensorrtserver.api import InferContext",
    ]
    migration = _migrated(tmp_path / "book.ipynb", cell)
    assert migration.after == migration.before
    assert _reasons(migration)["TS050"] == "write the statement of cell 3, line 2 without a magic"


def test_a_reason_names_the_cell(tmp_path: Path) -> None:
    """A use that stays because of another line has the cell in its reason, and a comment."""
    cell = ["ctx = InferContext('u', 1, 'm')\n", "ctx.get_ready_async_request(True)"]
    migration = _migrated(tmp_path / "book.ipynb", cell)
    assert _reasons(migration)["TS050"].startswith("stays because of cell 3, line 2: ")
    assert "# TODO(TS056): " in _sources(migration.after)[1]


def test_result_that_is_shown(tmp_path: Path) -> None:
    """Results at the end of a cell, which the notebook shows, stay a dict with arrays."""
    arrays = "{'INPUT0': [x], 'INPUT1': [x]}, {'OUTPUT0': InferContext.ResultFormat.RAW}"
    cell = ["ctx = InferContext('u', ProtocolType.GRPC, 'm')\n", f"ctx.run({arrays}, 2)"]
    text = _sources(_migrated(tmp_path / "book.ipynb", cell, unsafe=True).after)[1]
    assert text.endswith("{'OUTPUT0': list(answer.as_numpy('OUTPUT0'))}")


def test_scan_says_what_is_automatic(tmp_path: Path) -> None:
    """``scan`` says which uses of a notebook migrate rewrites."""
    _written(tmp_path / "book.ipynb", _START, ["h = ServerHealthContext('u', 1)"])
    rows = scan(sources.read(str(tmp_path / "book.ipynb")))
    assert [row.rewritable for row in rows] == [True, True]


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command writes notebooks, and finds nothing when it runs again."""
    monkeypatch.chdir(tmp_path)
    _written(tmp_path / "book.ipynb", *_CELLS)
    assert main(["migrate", "--write", "."]) == 0
    assert "book.ipynb:cell 4:1:" in capsys.readouterr().out
    assert main(["migrate", "--check", "."]) == 0

"""A file that gives a builtin's name to something else stays where written code reads that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import migrated, run, todo
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import migrate
from tritonclient_shim.migrate.options import MigrateOptions

_REQUEST = """
import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType
{}
row = np.arange(16, dtype=np.int32)
ctx = InferContext(sys.argv[1], ProtocolType.GRPC, "simple")
result = ctx.run(
    {{"INPUT0": [row], "INPUT1": [row]}}, {{"OUTPUT0": InferContext.ResultFormat.RAW}}, 1
)
print(result["OUTPUT0"][0].sum())
"""
#: Ways to give the name ``len`` to something else.
BINDINGS = {
    "assignment": "len = 4",
    "function": "def len(row):\n    return row.sum()",
    "class": "class len:\n    pass",
    "import": "from os.path import basename as len",
    "loop": "for len in range(3):\n    pass",
    "global": "def count():\n    global len\n    len = 4\ncount()",
    "star import": "from lengths import *",
    "star import of a star import": "from lengths_of_others import *",
}
#: Lines that give no builtin's name away, or one that nothing reads.
HARMLESS = {
    "another name": "length = 4",
    "name that nothing reads": "input = 4",
    "builtin itself": "from builtins import len, list",
    "builtin of Python 2": "try:\n    len = unicode\nexcept NameError:\n    pass",
    "local variable": "def count():\n    len = 4\n    return len",
    "attribute": "class Row:\n    len = 4",
    "star import of Python's": "from os import *",
    "star import of the program": "from rows import *",
}


@pytest.mark.parametrize("name", BINDINGS)
def test_file_with_another_builtin(name: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program prints the same before and after if it binds the name of a builtin."""
    script = tmp_path / "script.py"
    script.write_text(_REQUEST.format(BINDINGS[name]))
    (tmp_path / "lengths.py").write_text("len = 4\n")
    (tmp_path / "lengths_of_others.py").write_text("from lengths import *\n")
    before = run(script, triton.grpc)
    assert before.status == 0, before.output
    for options in ([], ["--unsafe"]):
        main(["migrate", "--write", "--to", "grpc", *options, str(script)])
        assert run(script, triton.grpc) == before


def test_reason_of_a_file_that_stays() -> None:
    """The reason names the line and what is bound there."""
    migration = migrated(_REQUEST.format("len = 4"), unsafe=False)
    reasons = {outcome.what for _, outcome in migration.uses}
    assert reasons == {"line 5 binds `len`, which written code reads; give it another name"}
    assert not migration.changed


def test_reason_of_an_unknown_star_import() -> None:
    """A file stays for a star import of a module that is not known."""
    migration = migrated(_REQUEST.format("from pandas import *"), unsafe=False)
    (reason,) = {outcome.what for _, outcome in migration.uses}
    assert reason == (
        "line 5 may bind `TypeError`, which written code reads; import the names that are needed"
    )


@pytest.mark.parametrize("name", HARMLESS)
def test_other_names(name: str, tmp_path: Path) -> None:
    """A file is rewritten if what it binds does not matter."""
    (tmp_path / "rows.py").write_text("rows = 4\n")
    script = tmp_path / "script.py"
    script.write_text(_REQUEST.format(HARMLESS[name]))
    migration = migrate(str(script), script.read_bytes(), MigrateOptions())
    assert not todo(migration)


def test_written_lines_that_read_a_builtin() -> None:
    """A file stays if a function binds what the written lines in it read."""
    source = (
        "from tensorrtserver.api import *\ndef main(row):\n    {} = str\n"
        "    ctx = InferContext('u', ProtocolType.GRPC, 'simple')\n"
        "    return ctx.run({{'A': [row] * 2}}, {{'B': InferContext.ResultFormat.RAW}}, 2)\n"
    )
    assert "list(" in migrated(source.format("rows")).after.decode()
    assert not migrated(source.format("list")).changed

"""Legacy uses found in source, without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.scan_runs import STAR, uses_in
from tritonclient_shim.cli import main
from tritonclient_shim.scan import sources

CASES = {
    "whole path": (
        "import tensorrtserver.api\ntensorrtserver.api.ServerHealthContext\n",
        ["1:TS009", "2:TS020"],
    ),
    "telling method of anything": (STAR + "x[0].get_server_status()\n", ["1:TS001", "2:TS026"]),
    "common method of anything": (STAR + "x[0].run(a, b)\nx.load('m')\n", ["1:TS001"]),
    "numpy from the star": (STAR + "np.object\nnp.zeros(1)\n", ["1:TS001", "2:TS201", "3:TS002"]),
    "star names only once": (STAR + "sys.exit(0)\nsys.exit(1)\n", ["1:TS001", "2:TS002"]),
    "star names bound here": (STAR + "import sys\nsys.exit(0)\n", ["1:TS001"]),
    "async attribute": (STAR + "if FLAGS.async:\n    pass\n", ["1:TS001", "2:TS202"]),
    "future": (STAR + "from future.utils import iteritems\n", ["1:TS001", "2:TS203"]),
}


@pytest.mark.parametrize("name", CASES)
def test_found(tmp_path: Path, name: str) -> None:
    """Each form is reported as it is expected, beside those of the programs in scan_corpus."""
    text, expected = CASES[name]
    assert sorted(uses_in(tmp_path / "script.py", text)) == expected


ARGUMENTS = {
    "InferContext('http://x:1', 0, 'm')": "TS101",
    "InferContext(u, 0, 'm', http_headers=h)": "TS102",
    "InferContext(u, 0, 'm', 1)": "TS106",
    "InferContext(u, 0, 'm', -1, True)": "TS103",
    "InferContext(u, 0, 'm', None, False, 7)": "TS105",
    "InferContext(u, 1, 'm', None, False, 0, True)": "TS104",
    "ServerStatusContext(u, 0, 'm', True)": "TS103",
    "c.run(i, o, 4)": "TS109",
    "c.run(i, o, batch_size=n)": "TS109",
    "c.run(i, o, 1, InferRequestHeader.FLAG_SEQUENCE_START)": "TS110",
    "c.run(i, o, corr_id=5)": "TS111",
    "c.run(i, o, priority=2)": "TS112",
    "c.run(i, o, timeout_us=9)": "TS113",
    "c.run({'A': h}, o)": "TS114",
    "c.run({'A': (h, [16])}, o)": "TS114",
    "c.run(i, {'B': (InferContext.ResultFormat.RAW, h)})": "TS115",
    "c.async_run(cb, i, o, 4)": "TS109",
}
HARMLESS = (
    "InferContext('x:1', 0, 'm', None, False, 0, False, [])",
    "InferContext(u, p, 'm', -1, verbose=0, http_headers=None)",
    "c.run(i, o, 1, 0, 0, 0, 0)",
    "c.run({'A': [a]}, {'B': InferContext.ResultFormat.RAW})",
    "c.run(*arguments)",
)
CONTEXT = (
    STAR + "import tensorrtserver.shared_memory as shm\n"
    "c = InferContext(u, p, m)\nh = shm.create_shared_memory_region('a', '/a', 4)\n"
)


@pytest.mark.parametrize(("call", "pattern"), ARGUMENTS.items())
def test_usage_patterns(tmp_path: Path, call: str, pattern: str) -> None:
    """Each usage pattern is reported at its line."""
    assert f"5:{pattern}" in uses_in(tmp_path / "script.py", CONTEXT + call + "\n")


@pytest.mark.parametrize("call", HARMLESS)
def test_defaults_show_no_pattern(tmp_path: Path, call: str) -> None:
    """Values that are v1's defaults are not reported."""
    uses = uses_in(tmp_path / "script.py", f"{CONTEXT}{call}\n")
    assert [item for item in uses if item.startswith("5:TS1")] == []


@pytest.mark.parametrize(
    "imported", ["from . import *", "from .mine import InferContext", "from nowhere import *"]
)
def test_not_ours(tmp_path: Path, imported: str) -> None:
    """Names of the user's own package, and of modules elsewhere, are not v1's."""
    assert uses_in(tmp_path / "script.py", f"{imported}\nInferContext(u, p, m)\n") == []


def test_star_import_from_the_folder_above(tmp_path: Path) -> None:
    """Each further dot of a relative star import is one folder up."""
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "common.py").write_text(STAR)
    text = "from ..common import *\nInferContext\n"
    assert "2:TS050" in uses_in(package / "inner" / "script.py", text)
    (package / "common.py").rename(package / "inner" / "common.py")  # now with a dot too many
    assert uses_in(package / "inner" / "script.py", text) == []


def test_neighbour_that_cannot_be_read(tmp_path: Path) -> None:
    """A neighbour in Python 2 hides no use of the file itself."""
    (tmp_path / "common.py").write_text(STAR + "print 'old'\n")
    text = "from common import *\nimport tensorrtserver.api as api\napi.InferContext\n"
    assert uses_in(tmp_path / "script.py", text) == ["2:TS009", "3:TS050"]


def test_folders_leave_out_what_is_not_the_users(tmp_path: Path) -> None:
    """Folders are searched recursively, except caches, hidden folders and installed packages."""
    for folder in ("src", ".git", "__pycache__", "site-packages"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(STAR)
    (tmp_path / "notes.txt").write_text(STAR)
    assert list(sources.files([str(tmp_path)])) == [str(tmp_path / "src" / "a.py")]


@pytest.mark.parametrize("command", ["scan", "migrate"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.py", STAR + "x" + ".y" * 2_000),
        ("deep.py", STAR + "x = " + "-" * 50_000 + "1"),
        ("deep.ipynb", "[" * 50_000 + '"tensorrtserver"'),
    ],
    ids=["attributes", "signs", "notebook"],
)
def test_deep_nesting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, name: str, text: str
) -> None:
    """A file that is nested too deeply is named, and other files are scanned."""
    (tmp_path / name).write_text(text)
    (tmp_path / "script.py").write_text(STAR)
    assert main([command, str(tmp_path)]) == 3
    output = capsys.readouterr()
    assert f"{name}: " in output.err and "a bug of" not in output.err
    assert "TS001" in output.out

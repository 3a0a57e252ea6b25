"""What migrate writes passes a review: short lines, the file's quotes, sorted imports."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.migrate.migrating import migrate
from tests.migrate.sources_migrated import CONTEXT, STAR, body, migrated
from tests.migrate.table import PROGRAMS_FOLDER, STYLES_FOLDER
from tritonclient_shim.migrate.emitted import FACTS, parts_of
from tritonclient_shim.migrate.format import with_quotes, with_short_lines

_RUFF = shutil.which("ruff") or ""
#: Programs of several files.
_FOLDERS = [path for path in sorted(STYLES_FOLDER.iterdir()) if path.is_dir()]
_SCRIPTS = [path for folder in (PROGRAMS_FOLDER, STYLES_FOLDER) for path in folder.glob("*.py")]
#: A program that asks at run time which names its star import bound.
_ODD = "real_status_counts/real_status_counts.py"
#: Star imports of a program stay above what they may bind anew: not where isort has them.
_STARS = (
    "real_package/triton_wrap.py",
    "star_through_files/main.py",
    "star_through_files/other.py",
)
_LONG = "infer_array_s, grpcclient.InferenceServerClient(flags.url), flags.model_name, version, x"


@pytest.mark.skipif(not _RUFF, reason="ruff is not installed")
@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("to", ["grpc", "http"])
def test_ruff_finds_nothing_new(to: str, unsafe: bool, tmp_path: Path) -> None:
    """Ruff finds nothing in a migrated file that was not there before."""
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        for script in _SCRIPTS:
            (folder / script.stem).mkdir(parents=True)
            shutil.copy(script, folder / script.stem)
        for program in _FOLDERS:
            shutil.copytree(program, folder / program.name)
    assert migrate(after, to, unsafe).returncode in (0, 1)
    old = _findings(before)
    for name in _STARS:
        old.setdefault(name, Counter())["I001"] += 1
    new = {name: codes - old.get(name, Counter()) for name, codes in _findings(after).items()}
    assert {name: codes for name, codes in new.items() if codes and name != _ODD} == {}


def _findings(folder: Path) -> dict[str, Counter[str]]:
    """Return how often each default rule of ruff, or that for imports, finds something."""
    command = [_RUFF, "check", "--isolated", "--no-cache", "--extend-select", "I"]
    done = subprocess.run(
        [*command, "--output-format", "json", "."], cwd=folder, capture_output=True, text=True
    )
    findings: dict[str, Counter[str]] = {}
    for row in json.loads(done.stdout):
        code = "F405" if row["code"] == "F821" else row["code"]
        name = str(Path(row["filename"]).relative_to(folder.resolve()))
        findings.setdefault(name, Counter())[code] += 1
    return findings


@pytest.mark.parametrize("unsafe", [False, True])
def test_lines_are_short(unsafe: bool, tmp_path: Path) -> None:
    """No line that migrate writes has more than 100 columns."""
    for script in _SCRIPTS:
        (tmp_path / script.stem).mkdir()
        shutil.copy(script, tmp_path / script.stem)
    migrate(tmp_path, "grpc", unsafe)
    for script in _SCRIPTS:
        old = script.read_text("utf-8").splitlines()
        new = (tmp_path / script.stem / script.name).read_text("utf-8").splitlines()
        assert [line for line in new if len(line) > 100 and line not in old] == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"ctx = partial({_LONG})\n", f"ctx = partial(\n    {_LONG}\n)\n"),
        (
            f"ctx = partial({_LONG}, keep=True)\n",
            "ctx = partial(\n    infer_array_s,\n    grpcclient.InferenceServerClient(flags.url),\n"
            "    flags.model_name,\n    version,\n    x,\n    keep=True,\n)\n",
        ),
        (
            f"f(x for y in z({_LONG}))\n",
            f"f(\n    x for y in z(\n        {_LONG}\n    )\n)\n",
        ),
        (f"x = '{_LONG * 2}'\n", ""),  # nowhere to break it
        (f"f(  # why\n    {_LONG}, {_LONG})\n", f"f(  # why\n    {_LONG},\n    {_LONG})\n"),
        (f"call({_LONG}).close(\n    x)\n", f"call(\n    {_LONG}\n).close(\n    x)\n"),
        (
            f"call({_LONG}).close({_LONG}, x)\n",
            f"call(\n    {_LONG}\n).close(\n    {_LONG}, x\n)\n",
        ),
        (
            f"with f({_LONG}) as x, \\\n     g(y) as y:\n    pass\n",
            f"with f(\n    {_LONG}\n) as x, \\\n     g(y) as y:\n    pass\n",
        ),
        (f"x[{_LONG}, {_LONG}]\n", None),
        (f"x = (y + f(f'{{a[0]}}, (', {_LONG}))\n", None),
    ],
)
def test_long_lines(line: str, expected: str | None) -> None:
    """Long lines are broken inside of brackets, and mean what they meant."""
    new = with_short_lines(line, "")
    assert ast.dump(ast.parse(new)) == ast.dump(ast.parse(line))
    if expected is not None:
        assert new == (expected or line)


def test_lines_that_were_long_before() -> None:
    """A long line that migrate does not write stays."""
    line = f"f({_LONG}, {_LONG})\n"
    assert with_short_lines(line, f"x = 1\n{line}") == line


@pytest.mark.parametrize("fact", sorted(FACTS))
def test_quotes_of_helpers(fact: str) -> None:
    """Helpers have the quotes of the file, and no other change."""
    names = ("infer", "InferModel", "get_server_status", "InferStub", "infer_in_regions")
    for part in parts_of([*names, "connect", "protocol_of"], frozenset([fact])):
        single = with_quotes(part.text, "'")
        assert ast.dump(ast.parse(single)) == ast.dump(ast.parse(part.text))
        assert with_quotes(single, '"') == part.text


def test_quotes_of_a_file() -> None:
    """Texts that migrate writes have the quotes that most texts of the file have."""
    source = "c = InferContext('http://u:1', ProtocolType.HTTP, 'm', 3)\nc.run({'a': x}, o)\n"
    assert '"' not in body(source)


def test_imports_join_those_of_the_file() -> None:
    """New imports are where isort has them. An import of a module gets more names."""
    source = (
        "import sys\nfrom functools import wraps\n\nimport requests\n"
        "from tensorrtserver.api import *\n\nx = InferContext(sys.argv[1], 1, a or b)\n"
        "x.run(i, o)\n"
    )
    lines = migrated(source).after.decode().splitlines()
    assert lines[:5] == [
        "import sys",
        "import weakref",
        "from functools import wraps",
        "",
        "import numpy as np",
    ]
    assert lines[5:7] == ["import requests", "import tritonclient.grpc as grpcclient"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("protocol = ProtocolType.HTTP\nServerHealthContext('u', protocol)\n", ""),
        (
            "protocol = ProtocolType.from_str(name)\nServerHealthContext('u', protocol)\n",
            "protocol_name(name)\n",
        ),
        ("p = ProtocolType.HTTP\n__all__ = ['p']\nServerHealthContext('u', p)\n", "p = 'http'\n"),
    ],
)
def test_protocol_of_the_module_that_nothing_reads(source: str, expected: str) -> None:
    """A protocol in a variable of the module goes with its last use, unless others may read it."""
    text = body(source, "http")
    assert text.startswith(expected)
    assert ("protocol = " in text or "p = " in text) is expected.startswith("p =")


def test_module_that_the_file_has() -> None:
    """A module that replaces one of v1 is imported once, also if functions need it, too."""
    source = (
        "from tensorrtserver.api import model_config_pb2\n"
        "s = ServerStatusContext('u', 0, 'm').get_server_status()\n"
        "print(s.ready_state, model_config_pb2.DataType)\nInferContext('u', 0, x).run(i, o)\n"
    )
    text = migrated(STAR + source).after.decode()
    assert "model_config_pb2_" not in text
    assert text.count("import model_config_pb2\n") == 1


def test_part_of_a_value_that_nothing_reads() -> None:
    """A variable that gets a part of a value, and that nothing reads any more, starts with _."""
    source = (
        f"{CONTEXT}ctx.async_run(done, i, o)\n"
        "def wait():\n    (own, id) = results.get()\n    return own.get_async_run_results(id)\n"
    )
    assert "    (_own, id) = results.get()\n    return id.result()\n" in body(source)


def test_variable_that_nothing_reads() -> None:
    """A variable of a function goes with its last use. An expression with effects stays."""
    source = (
        "def f(n):\n    version = -1\n    protocol = ProtocolType.from_str(n)\n"
        "    ServerHealthContext('u', protocol).is_live()\n"
        "    InferContext('u', protocol, 'm', version).run(i, o)\n"
    )
    assert "version" not in body(source, "grpc").partition("def f(n)")[2]
    assert "    protocol_name(n)\n" in body(source, "grpc")
    assert "protocol =" not in migrated(STAR + source, "grpc").after.decode()

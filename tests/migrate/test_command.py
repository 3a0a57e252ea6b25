"""``tritonclient-shim migrate``: its output, the files that it writes, its exit status."""

from __future__ import annotations

import ast
import json
import re
import resource
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR
from tritonclient_shim.cli import main
from tritonclient_shim.migrate import rules, uses
from tritonclient_shim.migrate.decisions import Plan
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.rules import infer
from tritonclient_shim.migrate.rules.models import Contexts

SOURCE = f"{STAR}{CONTEXT}# a comment\nr = ctx.run(i,  o)\n"
LEFT = f"{SOURCE}print(ctx.get_last_request_id())\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with one file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(SOURCE, "utf-8")
    return tmp_path


def test_diff_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an option the changes are printed as a diff, and the report below."""
    assert main(["migrate", "a.py"]) == 1
    out = capsys.readouterr().out
    assert '-r = ctx.run(i,  o)\n+r = infer(ctx, "simple", i,  o)\n' in out
    assert "a.py:2:7: TS050 rewritten: grpc client\n" in out
    assert "1 file read; 1 with changes. " in out
    assert out.endswith("\nNothing is written; --write writes the changes.\n")
    assert (folder / "a.py").read_text("utf-8") == SOURCE


def test_remedies_for_many_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report says how a file gets fewer lines of functions, and the options do it."""
    (folder / "a.py").write_text(SOURCE.replace("ProtocolType.GRPC", "ProtocolType.from_str(p)"))
    hint = r"(\d+) lines of a.py are functions for its requests. --helpers MODULE writes them into "
    either = re.compile(rf"{hint}a module; with --to grpc or --to http they are fewer\.\n")
    assert main(["migrate", "--check", "a.py"]) == 1
    for_both = either.search(capsys.readouterr().out)
    assert main(["migrate", "--check", "--to", "grpc", "a.py"]) == 1
    for_one = re.search(rf"{hint}a module\.\n", capsys.readouterr().out)
    assert for_both and for_one and int(for_one[1]) < int(for_both[1])
    assert main(["migrate", "--write", "--helpers", "for_requests", "a.py"]) == 0
    assert "lines of" not in capsys.readouterr().out
    assert "def " not in (folder / "a.py").read_text()


def test_check_prints_the_report_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--check ends with 1 while something would change, and with 0 afterwards."""
    assert main(["migrate", "--check", "."]) == 1
    assert "---" not in capsys.readouterr().out
    assert main(["migrate", "--write", "."]) == 0
    assert main(["migrate", "--check", "."]) == 0


def test_server_that_does_not_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --server, a server that does not answer is an error. Nothing is written."""
    assert main(["migrate", "--server", "127.0.0.1:9", "--unsafe", "--write", "a.py"]) == 2
    assert "--server 127.0.0.1:9: over http" in capsys.readouterr().err
    assert (folder / "a.py").read_text("utf-8") == SOURCE


def test_written_file_keeps_its_mode(folder: Path) -> None:
    """A script that can be executed still can."""
    (folder / "a.py").chmod(0o755)
    assert main(["migrate", "--write", "a.py"]) == 0
    assert stat.S_IMODE((folder / "a.py").stat().st_mode) == 0o755
    assert sorted(path.name for path in folder.iterdir()) == ["a.py"]


def test_a_file_without_room_stays_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be written whole keeps its old content, and the status is 3."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        assert main(["migrate", "--write", "a.py"]) == 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (folder / "a.py").read_text("utf-8") == SOURCE
    assert [path.name for path in folder.iterdir()] == ["a.py"]
    assert "a.py: cannot be written: File too large" in capsys.readouterr().err


def test_uses_that_are_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --write the exit status is 1 if a use is left."""
    (folder / "a.py").write_text(LEFT, "utf-8")
    assert main(["migrate", "--write", "a.py"]) == 1
    assert "TS059 to do: unsafe: a server" in capsys.readouterr().out


def test_unreadable_file_does_not_stop_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that cannot be parsed is named. The other files are written."""
    (folder / "b.py").write_text("def f(:  # tensorrtserver\n", "utf-8")
    assert main(["migrate", "--write", "b.py", "a.py", "missing.py"]) == 3
    err = capsys.readouterr().err
    assert "tritonclient-shim migrate: b.py: line 1: " in err
    assert "missing.py: No such file or directory" in err
    assert "infer" in (folder / "a.py").read_text("utf-8")


@pytest.mark.parametrize("command", ["scan", "migrate"])
def test_empty_path(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty path is a file that does not exist. The other files are read."""
    assert main([command, "", "a.py"]) == 3
    captured = capsys.readouterr()
    assert "No such file or directory" in captured.err
    assert "TS051" in captured.out


def test_bug_of_a_rule_does_not_stop_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that makes a rule fail is reported as a bug. The other files are written."""
    real = infer.run

    def fails(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
        if facts.source.path == "b.py":
            raise KeyError("no such key")
        return real(call, facts, contexts)

    monkeypatch.setattr(rules, "METHODS", {**rules.METHODS, "TS051": fails})
    monkeypatch.setattr(uses, "METHODS", rules.METHODS)
    (folder / "b.py").write_text(SOURCE, "utf-8")
    assert main(["migrate", "--write", "b.py", "a.py"]) == 3
    err = capsys.readouterr().err
    assert "migrate: b.py: a bug of migrate" in err
    assert "KeyError: 'no such key' (test_command.py, line " in err
    assert "report it with the lines that do and the output of `tritonclient-shim doctor`" in err
    assert (folder / "b.py").read_text("utf-8") == SOURCE
    assert "infer" in (folder / "a.py").read_text("utf-8")


def test_report_for_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--format json``, stdout is a document with each use and its outcome."""
    main(["migrate", "a.py", "--format", "json"])
    document: Any = json.loads(capsys.readouterr().out)
    outcomes = {element["id"]: element["outcome"] for element in document["uses"]}
    assert outcomes == dict.fromkeys(("TS001", "TS010", "TS050", "TS051"), "safe")
    assert document["files"]["changed"] == ["a.py"]


def test_chosen_ids(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--select rewrites uses of its ids, and contexts whose uses all have such ids."""
    health = 'h = ServerHealthContext("u", 1)\nh.is_live()\n'
    (folder / "a.py").write_text(SOURCE + health, "utf-8")
    assert main(["migrate", "--write", "--select", "ts020,TS021", "a.py"]) == 1
    text = (folder / "a.py").read_text("utf-8")
    assert "h.is_server_live()" in text
    assert "r = ctx.run(i,  o)" in text
    assert "TS050 to do: --select has other ids" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["migrate", "--select", "TS999", "a.py"])
    assert "no such id: TS999; expected ids such as" in capsys.readouterr().err


def test_other_ids_get_no_comment(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A use that --select leaves out gets no comment, also if no rule could rewrite it."""
    refused = 'import numpy as np\nInferContext("u", 1, "m").run(i)\nprint(np.sctypes)\n'
    (folder / "a.py").write_text(SOURCE + refused, "utf-8")
    assert main(["migrate", "--write", "--select", "TS050", "a.py"]) == 1
    out = capsys.readouterr().out
    assert "a.py:6:1: TS051 to do: --select has other ids" in out
    assert "TS201 to do: --select has other ids" in out
    assert "TODO" not in (folder / "a.py").read_text("utf-8")


def test_reasons_name_the_first_creation(capsys: pytest.CaptureFixture[str]) -> None:
    """Of several constructors whose contexts stay together, the reason names the first, always."""
    program = str(Path(__file__).parent / "styles" / "sequence_both_ways.py")
    for _ in range(5):
        main(["migrate", "--check", "--select", "TS020", program])
        reasons = capsys.readouterr().out
        assert ":62:20: TS050 to do: --select has other ids" in reasons
        assert "TS052 to do: stays because of line 62: --select has other ids" in reasons

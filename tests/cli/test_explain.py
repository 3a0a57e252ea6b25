"""``tritonclient-shim explain`` by id, symbol and part of a symbol."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.cli_scripts import started
from tritonclient_shim.cli import main
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.registry.entry import RegistryEntry

SOURCES = Path(__file__).resolve().parents[2]
GUIDE = (SOURCES / "migration_guide.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("what", "ids"),
    [
        ("tensorrtserver.api.InferContext.run", ["TS051"]),
        ("InferContext.run", ["TS051"]),
        ("is_live", ["TS021"]),
        ("create_shared_memory_region", ["TS081", "TS086"]),
        ("timeout_us", ["TS113"]),
        ("np.object", ["TS201"]),
        ("np.float_", ["TS201"]),
        ("np.zeros", []),
        ("numpy.object", ["TS201"]),
        ("tensorrtserver.api.InferContext", ["TS050"]),
        ("ctx.run", ["TS051"]),
        ("InferContext.run()", ["TS051"]),
    ],
)
def test_symbols_by_their_ends_and_parts(
    what: str, ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole symbol is explained. An end or a part explains every match."""
    assert main(["explain", what]) == int(not ids)
    text = capsys.readouterr().out
    assert [line[:5] for line in text.splitlines() if line.startswith("TS")] == ids


def blocks(section: str) -> list[str]:
    """Return the lines of the code blocks in a section of the guide."""
    text = GUIDE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [line for code in text.split("```")[1::2] for line in code.splitlines()[1:]]


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.id)
def test_before_and_now_are_the_guides(
    entry: RegistryEntry, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each id prints its entry, and code of its section in the guide, if the section has code."""
    assert main(["explain", entry.id.lower()]) == 0
    text = capsys.readouterr().out
    for part in (entry.id, entry.symbol, entry.grpc, entry.http, entry.pytriton, entry.guide):
        assert part in text
    shown = [line.strip() for line in text.splitlines()]
    code = blocks(entry.heading)
    if code:
        assert "v1" in shown
        assert "tritonclient, gRPC  (import tritonclient.grpc as grpcclient)" in shown
        assert any(line and line.strip() in shown for line in code)
    else:
        assert "| of 2019 | now | gone since |" in shown


@pytest.mark.parametrize(
    ("id", "before", "grpc", "http"),
    [
        ("TS051", "results = context.run(", 'client.infer("simple"', "httpclient.InferInput("),
        ("TS045", "get_shared_memory_status()", "get_system_shared_memory_status()", '["name"]'),
        ("TS115", "InferContext.ResultFormat.RAW, region)", "get_contents_as_numpy", "http"),
        ("TS003", "config.max_batch_size", "config.max_batch_size", 'config["max_batch_size"]'),
    ],
)
def test_the_pair_is_the_one_about_the_symbol(
    id: str, before: str, grpc: str, http: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A section with several pairs shows the pair with the symbol, without PyTriton's code."""
    assert main(["explain", id]) == 0
    old, now, other = re.split(r"\n  tritonclient, .*\n", capsys.readouterr().out)
    assert before in old and grpc in now and http in other
    assert "import tritonclient" not in old and "ModelClient(" not in now + other


def test_one_unknown_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown words have status 1. The message says what was expected. The rest is explained."""
    assert main(["explain", "TS021", "InferContxt", "TS999", "TS022", "TS021"]) == 1
    shown = capsys.readouterr()
    assert [line[:5] for line in shown.out.splitlines() if line[:2] == "TS"] == ["TS021", "TS022"]
    assert "nothing is called 'InferContxt'; did you mean InferContext, " in shown.err
    assert "nothing is called 'TS999'; give an id, which notices, reports and" in shown.err


def test_a_word_that_fits_many_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A part of many symbols lists a line for each, without code, and what to do next."""
    assert main(["explain", "context"]) == 0
    text = capsys.readouterr().out
    assert "TS051  tensorrtserver.api.InferContext.run" in text
    assert "\n  v1" not in text.partition("\n  give")[0]
    assert "give one of these ids" in text


@pytest.mark.parametrize(
    "command",
    [("explain", *ENTRIES), ("guide",), ("guide", "--list"), ("doctor",), ("scan", "demo/legacy")],
)
def test_a_reader_that_stops_reading(command: tuple[str, ...]) -> None:
    """`| head` ends the command without a traceback."""
    reader, writer = os.pipe()
    os.close(reader)  # before the command starts: a pipe takes a short output without any reader
    with started(SOURCES, *command, stdout=writer) as process:
        os.close(writer)
        errors = process.stderr.read()  # gRPC's threads in this process may write to it at a fork
        assert "Traceback" not in errors and "BrokenPipe" not in errors
        assert process.wait() == 141  # as a shell reports SIGPIPE


@pytest.mark.parametrize(
    ("words", "heading"),
    [
        (("explain", "Connect Failed"), "### `GRPC client failed: 14: Connect Failed`"),
        (("explain", "server-status"), "## Server status\n"),
        (("guide", "InferContext.run"), "## Inference\n"),
    ],
)
def test_the_other_command(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], heading: str
) -> None:
    """``explain`` accepts what ``guide`` accepts, and ``guide`` accepts a symbol."""
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(heading)


def test_a_misspelt_symbol(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt symbol names the symbol that is written almost so."""
    assert main(["explain", "InferContext.runn"]) == 1
    assert "did you mean InferContext.run" in capsys.readouterr().err

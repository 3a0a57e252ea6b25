"""``tritonclient-shim guide``, and the pointers to the guide in other commands."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Iterator

import pytest

from tests.cli.cli_scripts import ROOT
from tritonclient_shim.cli import guide, main

SOURCES = Path(__file__).resolve().parents[2]
GUIDE = (SOURCES / "migration_guide.md").read_text("utf-8")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the output of a command that must succeed."""
    assert main(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["inference", "Inference", "#inference", "migration_guide.md#inference", "TS051", "ts051"],
)
def test_a_section(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Anchor, heading, old pointer and id print the section up to the next heading."""
    text = printed(capsys, "guide", name)
    assert text.startswith("## Inference\n")
    (section,) = re.findall(r"^## Inference\n.*?(?=^## Batches\n)", GUIDE, re.MULTILINE | re.DOTALL)
    assert text == guide.shown(section)


def test_code_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A block is indented below its label, with the import of its client."""
    text = printed(capsys, "guide", "health")
    assert text.startswith("## Health\n\n  v1\n    context = ServerHealthContext(")
    for kind in ("grpc", "http"):
        heading = f"  tritonclient, {kind.upper().replace('GRPC', 'gRPC')}"
        code = f'client = {kind}client.InferenceServerClient("localhost:'
        assert f"{heading}  (import tritonclient.{kind} as {kind}client)\n    {code}" in text
    assert "\n  PyTriton\n    with ModelClient(" in text
    assert not re.search(r"^```|^\*\*.+\*\*$", printed(capsys, "guide"), re.MULTILINE)


@pytest.mark.parametrize(
    ("message", "heading"),
    [
        ("[ 0] GRPC client failed: 14: Connect Failed", "`GRPC client failed: 14: Connect Failed`"),
        ("Connect Failed", "`GRPC client failed: 14: Connect Failed`"),
        ("Couldn't connect to server", "`GRPC client failed: 14: Connect Failed`"),
        ("[ 0] GRPC client failed: 2: Stream removed", "`GRPC client failed: 2: Stream removed`"),
        ("invalid size 40 bytes for input 'a', expects 8 bytes", "`invalid size`"),
        ("[triton 1] no status available for unknown model 'x'", "`no status available for"),
        ("AttributeError: module 'numpy' has no attribute 'float'.", "`module 'numpy' has no"),
        ("[triton 2] Unable to find shared memory region: 'r'", "`Unable to find shared"),
        ("Invalid offset + byte size for shared memory region: 'r'", "`Invalid offset + byte"),
        ("[ 0] InferContext is closed", "`is closed`, such as"),
        (
            "values must be specified as a list of numpy arrays or",
            "`values must be specified",
        ),
        ("unable to unlink the shared memory region", "`unable to get shared memory desc"),
        ("unable to set device successfully", "`unable to set device successfully`"),
        ("[request id: <id_unknown>] no such model", "`[request id: <id_unknown>] …`"),
    ],
)
def test_an_error_text(capsys: pytest.CaptureFixture[str], message: str, heading: str) -> None:
    """An error, or a part of it, prints the entry of the FAQ."""
    assert printed(capsys, "guide", message).startswith(f"### {heading}")


def test_an_unknown_section(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown section has status 1, and prints the command that names all sections."""
    assert main(["guide", "zzzzzz"]) == 1
    assert "no section 'zzzzzz'; expected" in capsys.readouterr().err
    assert "\n  inference\n" in printed(capsys, "guide", "--list")


def messages() -> Iterator[str]:
    """Yield every text of several words in both packages, except docstrings."""
    for package in ("tensorrtserver", "tritonclient_shim"):
        for path in (ROOT / package).rglob("*.py"):
            nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
            docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            for node in nodes:
                value = getattr(node, "value", None)
                if isinstance(value, str) and id(node) not in docs and " " in value:
                    yield value


def test_no_message_names_a_page_that_pip_does_not_bring() -> None:
    """Messages name commands that print pages. An installation with pip has no docs/."""
    texts = [*messages()]
    assert sum("tritonclient-shim guide settings" in text for text in texts) > 3
    cited = re.compile(r"docs/v\d-\w+\.md \S+")  # the registry cites sections for contributors
    named = [text for text in texts if re.search(r"docs/\w|migration_guide|README", text)]
    assert [text for text in named if not cited.fullmatch(text)] == []


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """The list begins each line with a name or an error that prints the section."""
    lines = printed(capsys, "guide", "--list").splitlines()
    assert len(lines) == len(guide.sections())
    for line, section in zip(lines, guide.sections().values()):
        assert printed(capsys, "guide", shlex.split(line)[0]) == guide.shown(section.text)
        assert len(line) < 120


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("async", "asyncio"),
        ("shared memory", "system-shared-memory"),
        ("InferContext", "inference"),
        ("infrence", "inference"),
    ],
)
def test_candidates(capsys: pytest.CaptureFixture[str], what: str, name: str) -> None:
    """A text that means several sections, a symbol or a misspelt section names candidates."""
    assert main(["guide", what]) == 1
    near = capsys.readouterr().err.partition("did you mean ")[2]
    assert name in near.rstrip("?\n").split(", ")


@pytest.mark.parametrize(
    "error",
    [
        "[ 0] expecting 2 invocations of SetRaw for input 'a', have 0",
        "[ 0] HTTP client failed: SSL connect error",
        "[ 0] unknown output 'a' for 'm'",
        "[ 0] run batch-size 20 exceeds maximum batch size 8 allowed for model 'm'",
        "[triton 1] Unable to open shared memory region: '/k'",
        "[triton 1] unexpected shape for input 'a' for model 'm'. Expected [-1,1], got [1,2].",
    ],
)
def test_errors_of_a_legacy_call(capsys: pytest.CaptureFixture[str], error: str) -> None:
    """The guide answers the errors that a first script meets."""
    assert printed(capsys, "guide", error).startswith("### ")

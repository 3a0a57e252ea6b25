"""The pytest plugin counts the uses of a suite, and fails tests that use chosen ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_scripts import python

SUITE = """\
import pytest
from tensorrtserver.api import ProtocolType, ServerHealthContext

@pytest.fixture
def context():
    return ServerHealthContext("localhost:1", 0)

def test_health(context):
    pass

def test_protocol():
    assert ProtocolType.from_str("http") == 0

def test_protocol_again():
    assert ProtocolType.from_str("http") == 0

def test_modern():
    pass

def test_failing():
    ProtocolType.from_str("http")
    assert False, "its own failure"
"""


def suite(folder: Path, *options: str, text: str = SUITE) -> Any:
    """Run the suite with the plugin."""
    (folder / "test_suite.py").write_text(text)
    plugin = ("-p", "tritonclient_shim.pytest_plugin", "-p", "no:cacheprovider")
    return python(
        folder, "-m", "pytest", "-q", *plugin, *options, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )


def outcome(done: Any) -> str:
    """Return pytest's last line, without the time."""
    line: str = done.stdout.strip().splitlines()[-1]
    return line.partition(" in ")[0]


def test_without_options_nothing_changes(tmp_path: Path) -> None:
    """Without options, the plugin counts nothing and fails nothing."""
    done = suite(tmp_path)
    assert "tritonclient-shim: " not in done.stdout
    assert outcome(done).startswith("1 failed, 4 passed")


def test_fails_each_test_that_uses_an_id(tmp_path: Path) -> None:
    """Every test that uses a chosen id fails, also in a fixture. The text names the line."""
    done = suite(tmp_path, "--tritonshim-fail-on=all")
    assert outcome(done).startswith("4 failed, 1 passed")
    assert "TS020 tensorrtserver.api.ServerHealthContext at test_suite.py:6" in done.stdout
    done = suite(tmp_path, "--tritonshim-fail-on=ts011")
    assert outcome(done).startswith("3 failed, 2 passed")
    assert "TS011 tensorrtserver.api.ProtocolType.from_str at test_suite.py:12" in done.stdout
    assert "at test_suite.py:15" in done.stdout
    assert "its own failure" in done.stdout


def test_report(tmp_path: Path) -> None:
    """The report has the uses of the whole suite. pytest's summary counts them."""
    done = suite(tmp_path, "--tritonshim-report=usage.json")
    uses = json.loads((tmp_path / "usage.json").read_text())["uses"]
    assert [(use["id"], use["line"], use["count"]) for use in uses] == [
        *(("TS020", 6, 1), ("TS011", 12, 1), ("TS011", 15, 1), ("TS011", 21, 1))
    ]
    assert "tritonclient-shim: 4 places use 2 legacy symbols" in done.stdout


def test_workers_hand_over_their_uses(tmp_path: Path) -> None:
    """With pytest-xdist, the report has the uses of all workers, those of session fixtures too."""
    pytest.importorskip("xdist")
    text = SUITE + (
        "@pytest.fixture(scope='session', autouse=True)\n"
        "def session():\n"
        "    yield\n"
        "    ProtocolType.from_str('http')\n"
    )
    options = ("-p", "xdist", "-n", "2", "--dist=each", "--tritonshim-report=usage.json")
    done = suite(tmp_path, *options, text=text)
    uses = json.loads((tmp_path / "usage.json").read_text())["uses"]
    assert [(use["id"], use["line"], use["count"]) for use in uses] == [
        *(("TS020", 6, 2), ("TS011", 12, 2), ("TS011", 15, 2), ("TS011", 21, 2), ("TS011", 26, 2))
    ]
    assert "tritonclient-shim: 5 places use 2 legacy symbols" in done.stdout


@pytest.mark.parametrize(
    ("use", "says"),
    [
        ("", "no report is written. INCOMPLETE: gw0"),
        ("ProtocolType.from_str('http')", "1 place uses 1 legacy symbol"),
    ],
)
def test_uses_of_a_crashed_worker_are_unknown(tmp_path: Path, use: str, says: str) -> None:
    """If a worker crashes, no report claims that there is no use, and each names the worker."""
    pytest.importorskip("xdist")
    text = f"import os\nfrom tensorrtserver.api import *\n{use}\ndef test(): os._exit(1)\n"
    options = ("-p", "xdist", "-n", "1", "--max-worker-restart=1", "--tritonshim-report=usage.txt")
    done = suite(tmp_path, *options, text=text)
    assert says in done.stdout
    assert "INCOMPLETE: gw0" in done.stdout
    assert "No use of the legacy API" not in done.stdout
    report = tmp_path / "usage.txt"
    assert report.exists() == bool(use)
    assert not use or "INCOMPLETE: gw0" in report.read_text()


def test_says_what_is_not_counted(tmp_path: Path) -> None:
    """The summary and the report say that processes of tests are not counted."""
    done = suite(tmp_path, "--tritonshim-report=usage.txt", text="def test(): pass\n")
    says = "Processes that tests start are not counted."
    assert f"No use of the legacy API. {says}" in done.stdout
    assert says in (tmp_path / "usage.txt").read_text()


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--tritonshim-fail-on=TS999", "no such id: TS999"),
        ("--tritonshim-report=usage.html", "no report is written as .html; expected .txt, .json"),
    ],
)
def test_refused(tmp_path: Path, option: str, says: str) -> None:
    """An unknown id and an unknown format of a report are errors before any test runs."""
    done = suite(tmp_path, option)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert says in done.stderr

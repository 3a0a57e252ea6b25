"""Quickstart and how-to pages: their commands run against a genuine server."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Iterator, Mapping

import numpy as np
import pytest

from testbed import TritonServer
from tests.cli.cli_scripts import shim
from tests.installation import distributions
from tests.pages.blocks import ROOT, environment, execute, text

HOW_TO = sorted(path.name for path in (ROOT / "docs" / "how-to").glob("*.md"))
SUMS = str(np.arange(16) + 1)

#: The commands of README's "Leaving the old API": their exit status, and a part of their output.
LEAVING = {
    "run": (0, SUMS),
    "scan": (1, "script.py:6:10: TS051"),
    "explain": (0, "TS051"),
    "guide": (0, "InferInput"),
    "migrate": (1, "TS051 rewritten"),
    "doctor": (0, "without remarks: covered"),
}


@pytest.fixture(scope="module")
def instead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Yield the addresses of a server with the models of the pages, and a copy of the checkout."""
    checkout = distributions.checkout(tmp_path_factory.mktemp("source") / "checkout")
    with TritonServer.start(models=("simple", "simple_string")) as server:
        yield {
            "localhost:8000": server.http,
            "localhost:8001": server.grpc,
            "path/to/this/checkout": str(checkout),
        }


def test_quickstart(tmp_path: Path, instead: Mapping[str, str]) -> None:
    """Every command of the quickstart ends as the page says. The sums are right."""
    where = environment(tmp_path / "environment")
    outputs = execute(text("docs/quickstart.md"), where, instead)
    assert sum(output.startswith(SUMS) for output in outputs) == 2
    assert "TS051" in (where.folder / "work" / "usage.txt").read_text("utf-8")


def test_the_readme_has_the_same_script() -> None:
    """The script of the README is the script of the quickstart."""
    script = text("docs/quickstart.md").partition("# script.py\n")[2].partition("```")[0]
    assert "InferContext" in script and script in text("README.md")


def test_diff_of_the_readme(tmp_path: Path) -> None:
    """``migrate`` prints the lines of README's diff for the script of README."""
    script = text("docs/quickstart.md").partition("# script.py\n")[2].partition("```")[0]
    (tmp_path / "script.py").write_text(script, "utf-8")
    shown = text("README.md").partition("```diff\n")[2].partition("```")[0].splitlines()
    printed = shim(tmp_path, "migrate", "script.py").stdout.splitlines()
    assert len(shown) == 7
    assert [line for line in shown if line not in printed] == []


@pytest.mark.release
def test_leaving_the_old_api(tmp_path: Path, instead: Mapping[str, str]) -> None:
    """Each command of "Leaving the old API" has the documented effect on the script."""
    where = environment(tmp_path / "environment")
    where.install(instead["path/to/this/checkout"])
    script = text("docs/quickstart.md").partition("# script.py\n")[2].partition("```")[0]
    script = script.replace("localhost:8001", instead["localhost:8001"])
    for name in ("script.py", "src/script.py", "notebooks/script.py"):
        path = where.folder / "work" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(script, "utf-8")
    part = text("README.md").partition("## Leaving the old API")[2].partition("\n## ")[0]
    typed = re.findall(r"^    tritonclient-shim (.*?) +#.*$", part, re.MULTILINE)
    assert [line.split()[0] for line in typed] == list(LEAVING)
    for line in typed:
        address = instead["localhost:8001"]
        done = where.run("sh", "-c", f"tritonclient-shim {line.replace('HOST:PORT', address)}")
        status, shown = LEAVING[line.split()[0]]
        assert (done.returncode, shown in done.stdout) == (status, True), (line, done)
    page = text("docs/migrate.md").partition("script of the [quickstart](quickstart.md):")[2]
    example = page.partition("$ tritonclient-shim migrate ")[2].partition("\n\nEach")[0]
    options, *printed = [line.strip() for line in example.splitlines()]
    done = where.run("sh", "-c", f"tritonclient-shim migrate {options}")
    assert {line for line in printed if line != "…"} <= {
        line.strip() for line in done.stdout.splitlines()
    }


@pytest.mark.release
@pytest.mark.parametrize("name", HOW_TO)
def test_how_to(tmp_path: Path, instead: Mapping[str, str], name: str) -> None:
    """Every command of a how-to page ends as the page says."""
    where = environment(tmp_path / "environment")
    where.install(instead["path/to/this/checkout"])
    assert execute(text(f"docs/how-to/{name}"), where, instead)


@pytest.mark.release
@pytest.mark.skipif(
    sys.version_info < (3, 9),
    reason="CONTRIBUTING asks for 3.9: on 3.8 pip has to compile parts of tritonclient[all]",
)
def test_contributing(tmp_path: Path) -> None:
    """The commands of CONTRIBUTING lead from a clone to the first green test."""
    clone = tmp_path / "environment" / "work"
    where = environment(tmp_path / "environment")
    del where.variables["PIP_NO_DEPS"]
    shutil.rmtree(clone)
    distributions.checkout(clone)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests", clone / "tests", ignore=ignored)
    shutil.copytree(ROOT / "testbed", clone / "testbed", ignore=ignored)
    outputs = execute(text("CONTRIBUTING.md"), where, {})
    assert " passed" in outputs[-1] and "failed" not in outputs[-1]


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/install.md"])
def test_no_stranger_is_installed(page: str) -> None:
    """Commands install from a path: no package index has a release."""
    lines = [line.strip() for line in text(page).splitlines()]
    installs = [line for line in lines if line.startswith("pip install")]
    assert installs and not [line for line in installs if line.split()[-1] == "tritonclient-shim"]


def test_no_extra_of_a_stranger_is_installed() -> None:
    """No page and no message installs an extra of this package from an index."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    paths += (ROOT / "tritonclient_shim").rglob("*.py")
    command = re.compile(r"pip install ['\"]?tritonclient-shim\[")
    assert [path for path in paths if command.search(path.read_text("utf-8"))] == []


def test_commands_of_the_readme_can_be_pasted() -> None:
    """What explains a command follows `#`, so that a shell ignores it."""
    commands = re.findall(r"^    ((?:scripts/|tritonclient-shim ).*)$", text("README.md"), re.M)
    assert len(commands) == 8
    assert [line for line in commands if not re.fullmatch(r"\S+(?: \S+)* +# \S.*", line)] == []

"""The project's papers say what is true: their links, paths and versions exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

PAPERS = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md"),
    *("ARCHITECTURE.md", "LICENSE", ".editorconfig", ".pre-commit-config.yaml"),
    *(".github/PULL_REQUEST_TEMPLATE.md", ".github/workflows/ci.yml"),
    *(".github/ISSUE_TEMPLATE/bug.md", ".github/ISSUE_TEMPLATE/difference.md"),
)
FOLDERS = (".", "docs", "newsfragments", ".github", ".github/ISSUE_TEMPLATE")
LINK = re.compile(r"\]\((?!https?://|mailto:|#|<)([^)#\s]+)[^)]*\)")
#: What looks like a path of the repository in code font.
PATH = re.compile(r"`((?:docs|tests|scripts|tritonclient_shim|tensorrtserver|release)/[\w./-]+)`")


def pages() -> list[Path]:
    """Every page in Markdown but fragments, which come and go."""
    found = {path for folder in FOLDERS for path in (ROOT / folder).glob("*.md")}
    return sorted(path for path in found if not path.name.startswith("+"))


def test_papers_are_there() -> None:
    """Each paper exists and says something."""
    assert [name for name in PAPERS if not (ROOT / name).read_text("utf-8").strip()] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link of a page leads to a file."""
    targets = LINK.findall(page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_paths_exist(name: str) -> None:
    """Each file or folder of the repository that a paper names is there."""
    found = PATH.findall((ROOT / name).read_text("utf-8"))
    assert found
    assert [path for path in found if not (ROOT / path.rstrip("/")).exists()] == []


def test_ruff_has_one_version() -> None:
    """pre-commit and scripts/check run the same ruff."""
    (pinned,) = re.findall(r"ruff==([\d.]+)", (ROOT / "tox.ini").read_text("utf-8"))
    hooks = re.findall(r"ruff==([\d.]+)", (ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert hooks and set(hooks) == {pinned}


def test_hosted_runs_have_every_environment() -> None:
    """The workflow calls scripts/check, and scripts/test for every environment that it has."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    (listed,) = re.findall(
        r"^env_list =\n((?:    .+\n)+)", (ROOT / "tox.ini").read_text("utf-8"), re.M
    )
    wanted = [name for name in listed.split() if name != "check"]
    assert re.findall(r"environment: ([\w-]+)}", text) == wanted
    commands = re.findall(r"- run: (\S+)", text)
    assert {"scripts/check", "scripts/test"} <= set(commands)
    assert [command for command in commands if not (ROOT / command).exists()] == []

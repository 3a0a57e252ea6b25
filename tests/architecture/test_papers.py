"""The links, paths and versions in the project's papers exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

import pytest

from tests.architecture.source import ROOT

FOLDERS = (".", "docs", "newsfragments", ".github", ".github/ISSUE_TEMPLATE")
LINK = re.compile(r"\]\((?!https?://|mailto:|#|<)([^)#\s]+)[^)]*\)")
#: A file or a folder in code font, with or without the folders above it.
NAME = re.compile(r"`((?:[\w.-]+/)+|(?:[\w.-]+/)*\w[\w-]*\.(?:py|md|cfg|toml|ini))`")
#: A path of the repository in code font.
PATH = re.compile(r"`((?:docs|tests|scripts|tritonclient_shim|tensorrtserver|release)/[\w./-]+)`")


def pages() -> list[Path]:
    """Return every page in Markdown except news fragments."""
    result = {path for folder in FOLDERS for path in (ROOT / folder).glob("*.md")}
    return sorted(path for path in result if not path.name.startswith("+"))


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link of a page leads to a file."""
    targets = LINK.findall(page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_paths_exist(name: str) -> None:
    """Each file or folder of the repository that a paper names exists."""
    result = PATH.findall((ROOT / name).read_text("utf-8"))
    assert result
    assert [path for path in result if not (ROOT / path.rstrip("/")).exists()] == []


def files_named(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield each name that ARCHITECTURE.md has in code font, with its possible folders.

    A row about folders names their files, and files of their inner folders, without the path.
    """
    for part in re.split(r"\n(?=\n|\|)", text):
        first, _, second = part.lstrip("\n|").partition("|")
        of_row = NAME.findall(first) if second else []
        inner = [name for name in NAME.findall(second) if name.endswith("/")]
        folders = ["", "tritonclient_shim/", *of_row]
        folders += [f"tritonclient_shim/{name}" for name in of_row]
        folders += [f"{folder}{name}" for folder in folders for name in inner]
        yield from ((folders, name) for name in NAME.findall(part))


def test_files_of_the_architecture_exist() -> None:
    """Each file and folder that ARCHITECTURE.md names exists, also in a folder's row."""
    named = list(files_named((ROOT / "ARCHITECTURE.md").read_text("utf-8")))
    assert len(named) > 60
    missing = [
        name
        for folders, name in named
        if not any((ROOT / folder / name).exists() for folder in folders)
    ]
    assert missing == []


def test_every_folder_has_its_row() -> None:
    """The table of folders has each folder of the package and of the repository's sources."""
    rows = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("\n## Folders\n")[2]
    folders = {
        name for row in re.findall(r"^\|([^|]+)\|", rows, re.M) for name in NAME.findall(row)
    }
    inside = {path.parent.name for path in (ROOT / "tritonclient_shim").glob("*/__init__.py")}
    beside = {"tensorrtserver", "deploy", "docs", "testbed", "demo", "benchmarks"}
    assert {f"{name}/" for name in inside | beside} - folders == set()

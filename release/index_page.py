"""The README as a package index shows it: away from the files that its relative links lead to.

``[tool.release]`` in pyproject.toml has the public address of the repository. With one, relative
links become links to the files of the released tag, and the metadata name the address. As long
as there is none, they become plain text: the name of the file, which the source distribution has.
Pictures become such links, too: the address of a file leads to a page about it and no picture.
"""

from __future__ import annotations

import configparser
import re
from pathlib import Path

from release.commands import Refused

_LINK = re.compile(r"!?\[([^\]]+)\]\((?!https?://|mailto:|#)([^)\s]+)\)")
_REPOSITORY = re.compile(r'^repository = "([^"]*)"', re.MULTILINE)
_FILES = re.compile(r'^files = "([^"]*)"', re.MULTILINE)


def addresses(root: Path) -> tuple[str, str]:
    """The address of the repository, and the pattern of its files' addresses; empty where unset."""
    text = (root / "pyproject.toml").read_text("utf-8")
    _, found, section = text.partition("\n[tool.release]\n")
    repository, files = _REPOSITORY.search(section), _FILES.search(section)
    if not found or repository is None or files is None:
        raise Refused("pyproject.toml has no [tool.release] with repository = and files =")
    if repository[1] and not repository[1].startswith("https://"):
        raise Refused(f"repository = {repository[1]!r} in pyproject.toml: it begins with https://")
    return repository[1].rstrip("/"), files[1]


def shown(readme: str, repository: str, files: str, version: str) -> str:
    """The README's text with links that work on an index's page, or none."""

    def replace(link: re.Match[str]) -> str:
        text, target = link[1], link[2]
        if repository:
            return f"[{text}]({files.format(repository=repository, version=version, path=target)})"
        return text if text == target else f"{text} ({target})"

    return _LINK.sub(replace, readme)


def relative_links(readme: str) -> list[str]:
    """What an index's page could not follow."""
    return [target for _, target in _LINK.findall(readme)]


def prepare(sources: Path, version: str) -> str:
    """Rewrite README and metadata of what is about to be built → what was done, in words."""
    repository, files = addresses(sources)
    path = sources / "README.md"
    path.write_text(shown(path.read_text("utf-8"), repository, files, version), "utf-8")
    if not repository:
        return (
            "no public address: README's links to files become their names, and the metadata name "
            "no address ([tool.release] in pyproject.toml sets one)"
        )
    urls = {
        "Source": repository,
        "Changelog": files.format(repository=repository, version=version, path="CHANGELOG.md"),
    }
    _write_urls(sources / "setup.cfg", urls)
    return f"README's links and the metadata lead to {repository}"


def _write_urls(path: Path, urls: dict[str, str]) -> None:
    configuration = configparser.ConfigParser(interpolation=None)
    configuration.read(path, "utf-8")
    lines = "".join(f"\n{name} = {url}" for name, url in urls.items())
    configuration["metadata"]["project_urls"] = lines
    with path.open("w", encoding="utf-8") as file:
        configuration.write(file)

"""Versions, the README of an index, and what the distributions hold."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from release import contents, index_page, versions
from release.commands import Refused
from tests.release.scratch import ROOT, repository

README = (ROOT / "README.md").read_text("utf-8")


def test_the_version_is_set_in_one_place(tmp_path: Path) -> None:
    """What is written is what the packages have; until it is released it is the next one."""
    home = repository(tmp_path / "home")
    assert (versions.current(home), versions.released(home)) == ("0.1.0", ["0.0.9"])
    assert versions.following(home) == "0.1.0"
    versions.write(home, "0.0.9")
    assert (versions.current(home), versions.following(home)) == ("0.0.9", "0.0.10")
    text = (home / versions.HOME).read_text("utf-8")
    assert text == '"""Ours."""\n\n__version__ = "0.0.9"\n'


def test_setup_reads_that_version() -> None:
    """The packages' metadata take the version from there, and nothing else repeats it."""
    text = (ROOT / "setup.cfg").read_text("utf-8")
    assert "\nversion = attr: tritonclient_shim.__version__\n" in text
    assert versions.current(ROOT)


def test_without_an_address_links_are_names() -> None:
    """No relative link is left, and the file that each one led to is named."""
    shown = index_page.shown(README, "", "", "1.2.3")
    assert index_page.relative_links(README)
    assert index_page.relative_links(shown) == []
    for target in index_page.relative_links(README):
        assert target in shown
    assert "(docs/settings.md)" in shown and "](docs" not in shown


def test_with_an_address_links_lead_to_the_tag() -> None:
    """Each relative link becomes one to the file in the release; others stay."""
    pattern = "{repository}/blob/v{version}/{path}"
    text = "[a](docs/a.md#b), [c](https://c.example/d) and [e](#f)"
    assert index_page.shown(text, "https://host.example/x", pattern, "1.2.3") == (
        "[a](https://host.example/x/blob/v1.2.3/docs/a.md#b), [c](https://c.example/d) and [e](#f)"
    )


def test_a_picture_becomes_a_link_to_it() -> None:
    """A file's page is no picture, so what an index shows is the description, and where it lies."""
    pattern = "{repository}/blob/v{version}/{path}"
    assert index_page.shown("![A demo](a.svg)", "https://h.example", pattern, "1.2.3") == (
        "[A demo](https://h.example/blob/v1.2.3/a.svg)"
    )
    assert index_page.shown("![A demo](a.svg)", "", "", "1.2.3") == "A demo (a.svg)"
    assert index_page.shown("![A](https://c.example/a.svg)", "", "", "1.2.3") == (
        "![A](https://c.example/a.svg)"
    )


def test_links_of_the_readme_exist() -> None:
    """Every relative link of the README leads to a file of the repository."""
    targets = [target.partition("#")[0] for target in index_page.relative_links(README)]
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_address_reaches_the_metadata(tmp_path: Path) -> None:
    """With a public address in pyproject.toml, setup.cfg names it to the build."""
    for name in ("README.md", "setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    path = tmp_path / "pyproject.toml"
    _, files = index_page.addresses(tmp_path)
    text = path.read_text("utf-8")
    head, section, rest = text.partition("\n[tool.release]\n")
    lines = f'repository = "https://host.example/x/"\nfiles = "{files}"\n\n['
    path.write_text(head + section + lines + rest.partition("\n\n[")[2], "utf-8")
    assert "https://host.example/x" in index_page.prepare(tmp_path, "1.2.3")
    setup = (tmp_path / "setup.cfg").read_text("utf-8")
    assert "Source = https://host.example/x\n" in setup
    assert "Changelog = https://host.example/x/blob/v1.2.3/CHANGELOG.md\n" in setup
    assert index_page.relative_links((tmp_path / "README.md").read_text("utf-8")) == []


def test_contents_are_compared(tmp_path: Path) -> None:
    """A file that is missing and one too much are both named; complete ones pass."""
    sdist, wheel = tmp_path / "a-1.tar.gz", tmp_path / "a-1-py3-none-any.whl"
    (tmp_path / "text").touch()
    names = ("setup.cfg", "docs/a.md", "tritonclient_shim/a.py")
    with tarfile.open(sdist, "w:gz") as archive:
        for name in (*names, "PKG-INFO"):
            archive.add(tmp_path / "text", f"a-1/{name}")
    with zipfile.ZipFile(wheel, "w") as zipped:
        zipped.writestr("tritonclient_shim/a.py", "")
        zipped.writestr("a-1.dist-info/METADATA", "")
    contents.check(sdist, wheel, names)
    with pytest.raises(Refused, match="missing: docs/b.md\n    too much: nothing"):
        contents.check(sdist, wheel, [*names, "docs/b.md"])
    with pytest.raises(Refused, match="missing: nothing\n    too much: docs/a.md"):
        contents.check(sdist, wheel, ["tritonclient_shim/a.py"])
    with pytest.raises(Refused, match="a-1-py3.*\n    missing: tritonclient_shim/py.typed"):
        contents.compare(wheel.name, contents.in_wheel(wheel), ["tritonclient_shim/py.typed"])

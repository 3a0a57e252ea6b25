"""How Sphinx builds the site (scripts/docs) from the pages of the repository.

The source folder is the top of the repository, so that links between pages are the same here, in a
checkout and where the repository is hosted.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tritonclient_shim  # noqa: E402  (the line above makes it importable)
from tritonclient_shim.cli.guide import sections  # noqa: E402
from tritonclient_shim.registry import ENTRIES  # noqa: E402

project = "tritonclient-shim"
author = "The maintainers of tritonclient-shim"
copyright = author  # noqa: A001  (the name is Sphinx's)
version = release = tritonclient_shim.__version__

root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "newsfragments/README.md"]
exclude_patterns = [
    *(".*", "benchmarks", "build", "demo", "dist", "release", "scripts", "testbed", "tests"),
    *("tensorrtserver", "tritonclient_shim", "newsfragments/+*"),
]
extensions = [
    *("myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"),
    *("sphinx_copybutton", "sphinx_design"),
]
myst_enable_extensions = ["colon_fence"]
# A prompt is not copied.
copybutton_prompt_text = "$ "

# Titles are link targets, as where repositories are hosted: guide.md#inference.
myst_heading_anchors = 4
suppress_warnings = ["myst.strikethrough"]

# Signatures stand as v1 had them; types are in the texts.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False

html_theme = "furo"
html_title = f"{project} {release}"
html_show_sphinx = False
html_extra_path = ["site"]
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_search_scorer = str(ROOT / "docs" / "static" / "scorer.js")

#: Every page, by the part of the contents.
_CONTENTS = {
    "Begin": "docs/quickstart.md docs/install.md docs/faq.md",
    "How to …": (
        "docs/how-to/run-old-scripts.md docs/how-to/reach-other-servers.md "
        "docs/how-to/keep-track.md docs/testing.md docs/scan.md docs/migrate.md docs/gateway.md "
        "migration_guide.md"
    ),
    "Reference": (
        "docs/settings.md docs/processes.md docs/servers.md docs/cuda_shared_memory.md "
        "docs/api.md docs/differences.md docs/v1-behaviour.md docs/v2-mapping.md docs/costs.md "
        "docs/reliability.md docs/support.md CHANGELOG.md"
    ),
    "The project": (
        "CONTRIBUTING.md ARCHITECTURE.md newsfragments/README.md SECURITY.md CODE_OF_CONDUCT.md"
    ),
}

# ------------------------------------------------------- the migration guide, a page per section

GUIDE = (ROOT / "migration_guide.md").read_text("utf-8")
#: The folder of the pages, which are written anew for each build.
GUIDE_PAGES = ROOT / "docs" / "guide"
#: Sections that stay on the guide's first page; the FAQ has a page of its own.
_ON_THE_FIRST_PAGE = ("three-rungs", "when-to-use-the-gateway-instead")
#: A link to a section of the guide, from another page and in the guide itself.
_TO_A_SECTION = re.compile(r"\]\([./]*migration_guide\.md#([\w-]+)\)")
_IN_THE_GUIDE = re.compile(r"\]\(#([\w-]+)\)")
#: A link from the guide to another page.
_TO_A_PAGE = re.compile(r"\]\((?!https?:|[#/])")


def _pages_of_sections() -> dict[str, str]:
    """Return the page of each section of the guide, with the section's anchor if it has one."""
    pages = {}
    page = ""
    for anchor, section in sections().items():
        if section.text not in GUIDE:  # of the settings
            continue
        if section.level > 2:
            pages[anchor] = f"{page}#{anchor}"
        elif anchor == "faq":
            pages[anchor] = page = "/docs/faq.md"
        elif section.level < 2 or anchor in _ON_THE_FIRST_PAGE:
            page = "/migration_guide.md"
            pages[anchor] = f"{page}#{anchor}"
        else:
            pages[anchor] = page = f"/docs/guide/{anchor}.md"
    return pages


_PAGES = _pages_of_sections()


def _with_links(text: str, form: re.Pattern[str]) -> str:
    """Return text whose links of a form lead to the pages of the guide's sections."""
    return form.sub(lambda link: f"]({_PAGES[link[1]]})", text)


def _ids_of(anchor: str) -> str:
    """Return a line with the ids of a section, so that the search finds it by an id."""
    ids = [id for id, entry in ENTRIES.items() if entry.anchor == anchor]
    return f"\nNotices and reports name this section by {', '.join(ids)}.\n" if ids else ""


def _write_guide() -> None:
    """Write a page for each section of the guide, because the search finds pages."""
    shutil.rmtree(GUIDE_PAGES, ignore_errors=True)
    GUIDE_PAGES.mkdir()
    for anchor, section in sections().items():
        if _PAGES.get(anchor) == f"/docs/guide/{anchor}.md":
            text = re.sub(r"^#(#+ )", r"\1", section.text, flags=re.M) + _ids_of(anchor)
            text = _TO_A_PAGE.sub("](/", _with_links(text, _IN_THE_GUIDE))
            (GUIDE_PAGES / f"{anchor}.md").write_text(text, "utf-8")


_write_guide()


def _link_sections(_app: object, page: str, source: list[str]) -> None:
    """Cut the guide to its first page. Let links to it lead to the pages of its sections."""
    if page == "migration_guide":
        first = next(name for name in _PAGES.values() if name.startswith("/docs/guide/"))
        heading = sections()[Path(first).stem].text.partition("\n")[0]
        listed = "\n".join(name for name in _PAGES.values() if name.startswith("/docs/guide/"))
        contents = f"## Sections\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
        source[0] = source[0].partition(f"\n{heading}\n")[0] + f"\n{contents}"
        source[0] = _with_links(source[0], _IN_THE_GUIDE)
    source[0] = _with_links(source[0], _TO_A_SECTION)


def _link_docstrings(_app: object, *described: Any) -> None:
    """Let a docstring's command for a section of the guide be a link."""
    lines = described[-1]
    for number, line in enumerate(lines):
        lines[number] = re.sub(
            r"``tritonclient-shim guide ([a-z-]+)``",
            lambda name: _as_rst(_PAGES[name[1]]) if name[1] in _PAGES else name[0],
            line,
        )


def _as_rst(page: str) -> str:
    """Return a link to a page in reStructuredText."""
    return f":doc:`{page.partition('#')[0][: -len('.md')]}`"


_FAQ_GOES_HERE = "<!-- here docs/conf.py inserts the FAQ of migration_guide.md -->"


def _append_contents(_app: object, page: str, source: list[str]) -> None:
    """Give the first page, which is README, the contents of the site."""
    if page == "README":
        for caption, pages in _CONTENTS.items():
            listed = "\n".join(pages.split())
            source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{listed}\n```\n"


def _insert_faq(_app: object, page: str, source: list[str]) -> None:
    """Show the FAQ of the migration guide on a page of its own, a level higher."""
    if page != "docs/faq":
        return
    faq = GUIDE.partition("\n## FAQ\n")[2].partition("\n## ")[0]
    faq = faq.replace("\n### ", "\n## ").replace("](#", "](../migration_guide.md#")
    assert faq and _FAQ_GOES_HERE in source[0]
    source[0] = source[0].replace(_FAQ_GOES_HERE, faq)


#: A block of code, which stays as it is, or the name of a page that is no link yet.
_PAGE_NAME = re.compile(
    r"^```.*?^```$|(?<!\[)`([\w/-]+\.md)`(?!\])|(?<![\[(/`\w])(docs/v[12]-[a-z]+\.md)(?= \u00a7)",
    re.MULTILINE | re.DOTALL,
)


def _link_pages(_app: object, page: str, source: list[str]) -> None:
    """Replace the file names of pages by links with their titles."""

    def link(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return f"[](/{name})" if name and (ROOT / name).exists() else found[0]

    source[0] = _PAGE_NAME.sub(link, source[0])


#: A labelled block of the migration guide: its label, the words of its fence, and its code.
_LABELLED = re.compile(r"^\*\*([^*\n]+)\*\*\n```python ([\w ]+)\n(.*?)^```\n", re.M | re.S)


def _show_tabs(_app: object, page: str, source: list[str]) -> None:
    """Show what replaces a block of v1 as tabs below it; one choice holds for the whole guide."""
    if not page.startswith("docs/guide/"):
        return
    tab_set: list[tuple[str, str, str]] = []  # label, column and code of each tab

    def end_tabs() -> str:
        tabs = "".join(
            f":::{{tab-item}} {label}\n:sync: {column}\n\n```python\n{code}```\n:::\n\n"
            for label, column, code in tab_set
        )
        alone = "".join(f"**{label}**\n\n```python\n{code}```\n" for label, _, code in tab_set)
        count = len(tab_set)
        tab_set.clear()
        return f"\n::::{{tab-set}}\n:sync-group: client\n\n{tabs}::::\n\n" if count > 1 else alone

    text, end = "", 0
    for block in _LABELLED.finditer(source[0]):
        between = source[0][end : block.start()]
        if between.strip():
            text += end_tabs()
        text += between
        end = block.end()
        label, words, code = block.groups()
        if "v1" in words.split():
            text += f"{end_tabs()}**{label}**\n\n```python\n{code}```\n"
        else:
            tab_set.append((label, words.split()[-1], code))
    source[0] = text + end_tabs() + source[0][end:]


def setup(app: Any) -> None:
    """Connect the changes of pages to Sphinx."""
    app.connect("source-read", _append_contents)
    app.connect("source-read", _show_tabs)
    app.connect("source-read", _link_pages)
    app.connect("source-read", _insert_faq)
    app.connect("source-read", _link_sections)
    app.connect("autodoc-process-docstring", _link_docstrings)

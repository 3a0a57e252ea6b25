"""How Sphinx makes the site (scripts/docs): the sources are the repository's own pages.

The source folder is the top of the repository, so that links between pages are the same here, in a
checkout and where the repository is hosted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tritonclient_shim  # noqa: E402  (the line above makes it importable)

project = "tritonclient-shim"
author = "The maintainers of tritonclient-shim"
copyright = author  # noqa: A001  (the name is Sphinx's)
version = release = tritonclient_shim.__version__

root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "newsfragments/README.md"]
exclude_patterns = [
    *(".*", "benchmarks", "build", "demo", "dist", "release", "scripts", "testbed", "tests"),
    *("tensorrtserver", "tritonclient_shim", "newsfragments/+*"),
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

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

_FAQ_GOES_HERE = "<!-- here docs/conf.py inserts the FAQ of migration_guide.md -->"


def _insert_faq(_app: object, page: str, source: list[str]) -> None:
    """The FAQ stands in the migration guide; its own page shows the same text, a level higher."""
    if page != "docs/faq":
        return
    guide = (ROOT / "migration_guide.md").read_text("utf-8")
    faq = guide.partition("\n## FAQ\n")[2].partition("\n## ")[0]
    faq = faq.replace("\n### ", "\n## ").replace("](#", "](../migration_guide.md#")
    assert faq and _FAQ_GOES_HERE in source[0]
    source[0] = source[0].replace(_FAQ_GOES_HERE, faq)


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("source-read", _insert_faq)

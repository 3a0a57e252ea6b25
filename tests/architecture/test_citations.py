"""Every citation of the specification has one form, and cites a section that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Iterator

from tests.architecture.source import ROOT

DOCUMENTS = {"docs/v1-behaviour.md": "v1", "docs/v2-mapping.md": "v2"}  # → prefix of its anchors
FOLDERS = (
    *("tensorrtserver", "tritonclient_shim", "tests", "testbed", "demo", "benchmarks", "docs"),
    "newsfragments",
)
KINDS = ("*.py", "*.pyi", "*.md", "*.toml", "*.cfg")

SECTION = r"§[0-9A-G]+(?:\.[0-9]+)*"
CITATION = re.compile(rf"(docs/v[12]-[a-z]+\.md) ({SECTION}(?:(?:, | to ){SECTION})*)")
#: A section of no document, a document under another name, and shorthands of earlier releases.
STRAY = re.compile(
    r"§|\b(?:v1-behaviour|v2-mapping) |\bv1 (?:Appendix|App\.)|(?<![\w.§])E\.\d"
    r'|legacy-usage|\busage "|\btrap \d'
)


def texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of files with citations. Line breaks and comment signs are spaces."""
    paths = {path for kind in KINDS for path in ROOT.glob(kind)}
    paths |= {path for name in FOLDERS for kind in KINDS for path in (ROOT / name).rglob(kind)}
    for path in sorted(paths - {ROOT / document for document in DOCUMENTS} - {Path(__file__)}):
        text = re.sub(r"\s*\n\s*(?:#:? )?", " ", path.read_text("utf-8"))
        yield path.relative_to(ROOT).as_posix(), text


def anchors(document: str) -> list[str]:
    """Return the sections of a document, from its anchors."""
    text = (ROOT / document).read_text("utf-8")
    return re.findall(rf'<a id="{DOCUMENTS[document]}-([^"]+)"></a>', text)


def test_cited_sections_exist() -> None:
    """Each cited section is an anchor of its document. Both documents are cited."""
    known = {document: set(anchors(document)) for document in DOCUMENTS}
    cited = [
        (path, result[1], section[1:])
        for path, text in texts()
        for result in CITATION.finditer(text)
        for section in re.findall(SECTION, result[2])
    ]
    assert {document for _, document, _ in cited} == set(DOCUMENTS)
    assert not [item for item in cited if item[2] not in known[item[1]]]


def test_no_other_form_is_left() -> None:
    """No file cites a section without its document, or by a shorthand."""
    result = []
    for path, text in texts():
        rest = CITATION.sub("", text)
        result += [
            (path, rest[item.start() - 30 : item.end() + 30]) for item in STRAY.finditer(rest)
        ]
    assert not result


def test_documents_name_sections_of_their_own() -> None:
    """In the two documents each anchor is unique, and each named section exists."""
    for document in DOCUMENTS:
        sections = anchors(document)
        assert len(sections) == len(set(sections))
        text = CITATION.sub("", (ROOT / document).read_text("utf-8"))
        assert not {name[1:] for name in re.findall(SECTION, text)} - set(sections)


def test_help_cites_no_page() -> None:
    """Docstrings of public modules cite no page, because no page is installed with them."""
    shim = ROOT / "tritonclient_shim"
    public = [shim / "__init__.py", shim / "testing.py", shim / "pytest_plugin.py"]
    result = []
    for path in [*(ROOT / "tensorrtserver").rglob("*.py"), *public]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                result += re.findall(r"docs/[\w.-]+", ast.get_docstring(node) or "")
    assert result == []

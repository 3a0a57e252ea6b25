"""The origin of an installation, from pip's notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tritonclient_shim.cli._installation import origin, refusal


def noted(site: Path, text: str) -> Path:
    """Write our metadata and pip's note into a folder, and return the folder."""
    metadata = site / "tritonclient_shim-9.9.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: tritonclient-shim\nVersion: 9.9\n", "utf-8")
    (metadata / "RECORD").write_text("tritonclient_shim-9.9.dist-info/METADATA,,\n", "utf-8")
    (metadata / "direct_url.json").write_text(text, "utf-8")
    return site


@pytest.mark.parametrize(
    ("note", "argument"),
    [
        (None, "tritonclient-shim==9.9"),
        ({"url": "https://host.invalid/a.whl"}, "https://host.invalid/a.whl"),
        (
            {"url": "https://host.invalid/r", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "git+https://host.invalid/r@abc",
        ),
        ({"url": "file:///a%20place/a.whl"}, "/a place/a.whl"),
    ],
    ids=["index", "address", "repository", "file"],
)
def test_origin(tmp_path: Path, note: Any, argument: str) -> None:
    """The origin of an installation is the place in pip's note, or without a note an index."""
    assert origin(str(noted(tmp_path, json.dumps(note) if note else ""))) == argument


def test_sources_that_pip_did_not_install(tmp_path: Path) -> None:
    """For files that pip did not install, the error has no command."""
    text = refusal(str(tmp_path), [])
    assert text.endswith("it is a copy of the sources)")
    assert "\n" not in text

"""Run ``tritonclient-shim scan`` in a folder, within this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import scan
from tritonclient_shim.scan import sources

STAR = "from tensorrtserver.api import *\n"
CONTEXT = STAR + "c = InferContext(u, p, m)\n"
RUN = "c.run(i, o)\n"


def uses_in(path: Path, text: str) -> list[str]:
    """Return ``line:id`` of every use in a file with this text."""
    path.write_text(text, "utf-8")
    return [f"{row.line}:{row.entry.id}" for row in scan(sources.read(str(path)))]


class ScanRun(NamedTuple):
    """The outcome of a scan."""

    status: int
    out: str
    err: str


class Scanner:
    """A scanner below a folder, which is the working directory."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def __call__(self, *arguments: str) -> ScanRun:
        return self.captured("scan", *arguments)

    def captured(self, *words: str) -> ScanRun:
        """Run any command in the folder."""
        self._capsys.readouterr()
        try:
            status = main(words)
        except SystemExit as end:  # argparse rejects the words
            status = int(str(end.code))
        return ScanRun(status, *self._capsys.readouterr())

    def places(self, *arguments: str) -> list[str]:
        """Return ``file:line:id`` of each use."""
        return [
            f"{use['file']}:{use['line']}:{use['id']}" for use in self.document(*arguments)["uses"]
        ]

    def document(self, *arguments: str) -> Any:
        """Return the document that ``scan --format json`` prints."""
        return json.loads(self(*arguments, "--format", "json").out)

"""Check the installation, the versions, the settings and, with --url, a server and its models.

Exit status: 0 nothing wrong, 1 something is.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Iterator

if TYPE_CHECKING:
    from tritonclient_shim.cli._findings import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tritonclient-shim doctor``."""
    add = parser.add_argument
    add("--url", default=argparse.SUPPRESS, metavar="HOST:PORT",
        help="a server to check, as a script would name it")  # fmt: skip
    add("--protocol", choices=("http", "grpc"), default="http", help="how to speak to it")


def run(arguments: argparse.Namespace) -> int:
    """Print what is found → exit status."""
    from tritonclient_shim.cli import _findings

    wrong = False
    for title, findings in _sections(arguments):
        print(title)
        for finding in findings:
            print(f"  {finding.level:<5}  {finding.text}")
            wrong = wrong or finding.level == _findings.WRONG
    return int(wrong)


def _sections(arguments: argparse.Namespace) -> Iterator[tuple[str, Iterator[Finding]]]:
    from tritonclient_shim.cli import _installed, _server, _settings

    yield "Installation", _installed.ownership()
    yield "Versions", _installed.versions()
    yield "Settings", _settings.table()
    if "url" in arguments:
        yield (
            f"Server {arguments.url}, {arguments.protocol}",
            _server.server(arguments.url, arguments.protocol),
        )

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
    from tritonclient_shim.cli import _installed, _settings

    wrong = _printed("Installation", _installed.ownership())
    lacking = _printed("Versions", _installed.versions())
    wrong = _printed("Settings", _settings.table()) or wrong or lacking
    if "url" in arguments:
        title = f"Server {arguments.url}, {arguments.protocol}"
        wrong = _printed(title, _server(arguments, lacking)) or wrong
    return int(wrong)


def _printed(title: str, findings: Iterator[Finding]) -> bool:
    """Print a section of findings → whether one of them is wrong."""
    from tritonclient_shim.cli._findings import WRONG

    wrong = False
    print(title)
    for finding in findings:
        print(f"  {finding.level:<5}  {finding.text}")
        wrong = wrong or finding.level == WRONG
    return wrong


def _server(arguments: argparse.Namespace, lacking: bool) -> Iterator[Finding]:
    """Findings about the server; without usable packages it cannot be asked."""
    if lacking:
        from tritonclient_shim.cli._findings import NOTE, Finding

        yield Finding(NOTE, "not asked, because of what is wrong with the versions")
        return
    from tritonclient_shim.cli import _server as server

    yield from server.server(arguments.url, arguments.protocol)

"""Check the installation and, with --url, a server.

What is wrong comes first. Exit status: 0 nothing wrong, 1 something is, 130 interrupted.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Callable, Iterator

from tritonclient_shim.cli import INTERRUPTED
from tritonclient_shim.cli._output import add_color, painter

if TYPE_CHECKING:
    from tritonclient_shim.cli._checks import Finding

_SECONDS = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim doctor``."""
    add = parser.add_argument
    add("--url", default=argparse.SUPPRESS, metavar="HOST:PORT",
        help="a server to check, as a script would name it")  # fmt: skip
    add("--protocol", choices=("http", "grpc"), default="",
        help="how the script speaks to it (default: whichever of the two it answers)")  # fmt: skip
    add("--models", action="store_true", help="list each model of the server, also those covered")
    add_color(parser)
    add("--timeout", type=_positive, default=_SECONDS, metavar="SECONDS",
        help="how long to wait for each answer of the server (default: %(default)g)")  # fmt: skip


def _positive(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise ValueError(text)
    return seconds


def run(arguments: argparse.Namespace) -> int:
    """Print what is found, what is wrong before the rest → exit status."""
    from tritonclient_shim.cli._checks import WRONG
    from tritonclient_shim.cli._output import show

    sections: dict[str, list[Finding]] = {}
    interrupted = False
    try:
        for title, check in _checks_of(arguments):
            section = sections.setdefault(title, [])
            section.extend(check)  # one by one: Ctrl-C leaves those before it
    except KeyboardInterrupt:
        interrupted = True
    everything = [finding for section in sections.values() for finding in section]
    wrong = [finding for finding in everything if finding.level == WRONG]
    nothing = "Interrupted." if interrupted else "Nothing is wrong."
    paint = painter(arguments.color)
    text = _text("What is wrong" if wrong else nothing, wrong, paint)
    for title, findings in sections.items():
        rest = [finding for finding in findings if finding.level != WRONG]
        if rest:
            text += _text(title, rest, paint)
    show(text)
    return INTERRUPTED if interrupted else int(bool(wrong))


def _checks_of(arguments: argparse.Namespace) -> Iterator[tuple[str, Iterator[Finding]]]:
    """Yield the title and the findings of each check."""
    from tritonclient_shim.cli import _checks
    from tritonclient_shim.cli._checks import WRONG
    from tritonclient_shim.core.addresses import without_user

    yield "Installation", _checks.ownership()
    versions = [*_checks.versions()]
    yield "Versions", iter(versions)
    yield "Extras", _checks.extras()
    yield "Settings", _checks.settings_given()
    if "url" in arguments:
        lacking = any(finding.level == WRONG for finding in versions)
        yield f"Server {without_user(arguments.url)}", _server(arguments, lacking)


def _text(title: str, findings: list[Finding], paint: Callable[[str, str], str]) -> str:
    lines = [f"  {paint(level, f'{level:<5}')}  {text}" for level, text in findings]
    return "\n".join([title, *lines, ""])


def _server(arguments: argparse.Namespace, lacking: bool) -> Iterator[Finding]:
    """Yield findings about the server, if the packages to ask it are usable."""
    if lacking:
        from tritonclient_shim.cli._checks import NOTE, Finding

        yield Finding(NOTE, "not asked, because of what is wrong with the versions")
        return
    from tritonclient_shim.cli import _server as server

    yield from server.server(arguments.url, arguments.protocol, arguments.timeout, arguments.models)

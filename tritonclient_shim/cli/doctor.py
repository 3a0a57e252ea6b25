"""Check the installation and, with --url, a server.

What is wrong comes first, with what to do.

Exit status: 0 nothing is wrong, 1 something is.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
from importlib import import_module, metadata
from itertools import islice
from typing import Iterator, NamedTuple

from tritonclient_shim import __version__, settings
from tritonclient_shim.cli import show
from tritonclient_shim.cli._findings import NOTE, OK, WRONG, Finding
from tritonclient_shim.cli._installation import OURS, as_lines, errors, pip
from tritonclient_shim.cli._terminal import BOLD, GREEN, RED, painted

_COLOURS = {OK: (GREEN,), NOTE: (), WRONG: (BOLD, RED)}


class _Requirement(NamedTuple):
    """A distribution that tritonclient-shim needs (docs/support.md, "What is supported")."""

    name: str
    least: str  # the oldest version that works
    modules: tuple[str, ...]  # what tritonclient-shim imports of it
    extras: str = ""


_CLIENTS = ("tritonclient.grpc", "tritonclient.http")
#: Dependencies come before what needs them: the first import that fails makes later ones fail.
REQUIRED = (
    _Requirement("packaging", "", ("packaging.version",)),
    _Requirement("deprecation", ">=2", ("deprecation",)),
    _Requirement("future", "", ("future.utils",)),
    _Requirement("numpy", ">=1.20", ("numpy",)),
    _Requirement("protobuf", ">=3.20.2", ("google.protobuf.message",)),
    _Requirement("grpcio", ">=1.41", ("grpc",)),
    _Requirement("tritonclient", ">=2.40", _CLIENTS, "[grpc,http]"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim doctor``."""
    add = parser.add_argument
    add("--url", metavar="HOST:PORT", help="a server to check, as a script would name it")
    add("--protocol", choices=("http", "grpc"),
        help="how the script speaks to it (default: whichever of the two it answers)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Print the findings, what is wrong before the rest → exit status."""
    sections = {
        "Installation": [*ownership()],
        "Versions": [*versions()],
        "Settings": [*settings_given()],
    }
    if arguments.url is None:
        sections["Server"] = [Finding(NOTE, "not asked; --url HOST:PORT checks one")]
    elif any(map(_is_wrong, sections["Versions"])):
        sections["Server"] = [Finding(NOTE, "not asked, because of what is wrong")]
    else:
        from tritonclient_shim.cli._server import server
        from tritonclient_shim.settings.addresses import without_user

        sections[f"Server {without_user(arguments.url)}"] = [*server(arguments)]
    wrong = [finding for section in sections.values() for finding in section if _is_wrong(finding)]
    text = _text("What is wrong" if wrong else "Nothing is wrong.", wrong)
    for title, findings in sections.items():
        rest = [finding for finding in findings if not _is_wrong(finding)]
        text += _text(title, rest) if rest else ""
    show(text)
    return int(bool(wrong))


def _is_wrong(finding: Finding) -> bool:
    return finding.level == WRONG


def _text(title: str, findings: list[Finding]) -> str:
    lines = [f"  {painted(f'{level:<5}', *_COLOURS[level])}  {text}" for level, text in findings]
    return "\n".join([painted(title, BOLD), *lines, ""])


# --------------------------------------------------------------------- the installation


def ownership() -> Iterator[Finding]:
    """Yield where ``tensorrtserver`` is imported from, and what else has that name."""
    texts = list(errors(os.getcwd()))
    if not texts:
        place = os.path.join(OURS, "tensorrtserver")
        yield Finding(OK, f"tensorrtserver is tritonclient-shim's {__version__}, in {place}")
    yield from (Finding(WRONG, text) for text in texts)


def settings_given() -> Iterator[Finding]:
    """Yield each setting that was given, and each unknown ``TRITON_SHIM_`` variable."""
    try:
        lines = settings.described()
    except ValueError as error:
        yield Finding(WRONG, str(error))
    else:
        yield from (Finding(NOTE, line) for line in lines)
        if not lines:
            yield Finding(OK, "each has its default; tritonclient-shim guide settings lists them")
    for name, near in settings.unknown_variables():
        hint = f"; did you mean {near}?" if near else ""
        yield Finding(WRONG, f"{name} is set, and there is no such setting{hint}")


# ------------------------------------------------------------------------- the versions


def versions() -> Iterator[Finding]:
    """Yield for each distribution whether it is there, and the first that cannot be imported.

    Imports are tried if all versions are right.
    """
    yield Finding(OK, f"Python {platform.python_version()}")
    findings = [_judged(row) for row in REQUIRED]
    yield from findings
    if not any(map(_is_wrong, findings)):
        errors = ((row, import_error(row.modules)) for row in REQUIRED)
        yield from islice((_unusable(row, error) for row, error in errors if error), 1)


def _judged(row: _Requirement) -> Finding:
    """Return whether a version is supported, and otherwise the command that installs another."""
    name = row.name
    version = _version(row.name)
    if version and _release(version) >= _release(row.least):
        return Finding(OK, f"{name} {version}")
    old = f"{name} {version} is too old: {row.least} is needed"
    text = old if version else f"{name} is not installed"
    command = pip("install", f"{name}{row.extras}{row.least}")
    return Finding(WRONG, as_lines(f"{text}. Install it", command))


def _unusable(row: _Requirement, error: str) -> Finding:
    """Return the error of a distribution's import, with the commands that reinstall it.

    ``pip install`` after ``--force-reinstall`` brings what a distribution needs and lacks.
    """
    name = row.name
    version = _version(row.name)
    anew = pip("install", "--force-reinstall", "--no-deps", f"{name}=={version}")
    rest = pip("install", f"{name}{row.extras}=={version}")
    text = f"{name} {version} is installed, but importing it fails ({error}). Install it anew"
    return Finding(WRONG, as_lines(text, [*anew, *rest]))


def _release(text: str) -> tuple[int, ...]:
    """Return the numbers of ``>=2.40`` or ``2.40.1rc1``; ``packaging`` may be missing here."""
    numbers = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in numbers.group().split(".")) if numbers else ()


def _version(name: str) -> str:
    """Return the installed version; '' without one, or if its metadata cannot be read."""
    try:
        return str(metadata.version(name) or "")
    except (metadata.PackageNotFoundError, KeyError):
        return ""


def import_error(modules: tuple[str, ...]) -> str:
    """Import modules → '' if that succeeded, otherwise the last line of the error."""
    try:
        for name in modules:
            import_module(name)
    except Exception as error:  # a module may raise anything
        return f"{type(error).__name__}: {''.join(str(error).splitlines()[-1:])}"
    return ""

"""What ``doctor`` checks without a server: the installation, versions, extras, settings.

Each import is tried in a process of its own: it may raise anything, and a module that was compiled
for another machine ends the process.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from typing import Iterator, NamedTuple, Sequence

from tritonclient_shim import __version__, settings
from tritonclient_shim.cli._installation import OURS, as_lines, faults, pip

OK, NOTE, WRONG = "ok", "note", "WRONG"


class Finding(NamedTuple):
    """One result of a check: ``level`` is OK, NOTE or WRONG."""

    level: str
    text: str


#: Distribution → the oldest version that works, and the first one that is not tested (README.md,
#: "Supported versions").
SUPPORTED: dict[str, tuple[str, str]] = {
    "Python": (">=3.8", "<3.15"),
    "tritonclient": (">=2.40", "<2.74"),
    "numpy": (">=1.20", "<3"),
    "protobuf": (">=3.20.2", "<7"),
    "grpcio": (">=1.41", "<2"),
    "deprecation": (">=2", "<3"),
    "packaging": ("", ""),
    "future": ("", ""),
}


class _Dependency(NamedTuple):
    """A distribution that tritonclient-shim needs."""

    modules: tuple[str, ...]  # which tritonclient-shim imports of it
    extras: str = ""
    needs: tuple[str, ...] = ()  # distributions of this table that its modules import


_NEEDED = {
    "tritonclient": _Dependency(
        ("tritonclient.grpc", "tritonclient.http"),
        "[grpc,http]",
        ("numpy", "protobuf", "grpcio"),
    ),
    "numpy": _Dependency(("numpy",)),
    "protobuf": _Dependency(("google.protobuf.message",)),
    "grpcio": _Dependency(("grpc",)),
    "deprecation": _Dependency(("deprecation",), needs=("packaging",)),
    "packaging": _Dependency(("packaging.version",)),
    "future": _Dependency(("future.utils",)),
}

#: Extra → the modules that it brings, and the command that needs them.
_EXTRAS = {
    "gateway": (("aiohttp", "prometheus_client"), "`tritonclient-shim gateway`"),
    "migrate": (("libcst",), "`tritonclient-shim migrate`"),
}


def ownership() -> Iterator[Finding]:
    """Yield where ``tensorrtserver`` is imported from, and what else has that name."""
    texts = list(faults(os.getcwd()))
    if not texts:
        place = os.path.join(OURS, "tensorrtserver")
        yield Finding(OK, f"tensorrtserver is tritonclient-shim's {__version__}, in {place}")
    for text in texts:
        yield Finding(WRONG, text)
    yield _machine(platform.system(), platform.machine())


def _machine(system: str, machine: str) -> Finding:
    """Return what is known of this package on a system and processor (docs/support.md)."""
    name = f"{system or 'an unknown system'} on {machine or 'an unknown processor'}"
    if system != "Linux":
        return Finding(
            NOTE,
            f"{name}: not tested; nothing here is compiled, but shared memory and the gateway were "
            "written for Linux",
        )
    if machine == "x86_64":
        return Finding(OK, name)
    return Finding(NOTE, f"{name}: nothing here is compiled; the suite has run on x86_64 only")


def versions() -> Iterator[Finding]:
    """Yield for each distribution whether it is supported and can be imported."""
    failed = import_failures([one for needed in _NEEDED.values() for one in needed.modules])
    faulty = {name for name in _NEEDED if _cause(name, failed)}
    for name, (least, newest) in SUPPORTED.items():
        version = platform.python_version() if name == "Python" else _version(name)
        finding = _judged(name, version, least, newest)
        if name in faulty and finding.level != WRONG:
            waits = sorted(faulty.intersection(_NEEDED[name].needs))
            finding = _unusable(name, version, _cause(name, failed), waits)
        yield finding


def extras() -> Iterator[Finding]:
    """Yield for each extra of ours whether it is installed, and otherwise how to install it."""
    for name, (modules, purpose) in _EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            (command,) = pip("install", f"tritonclient-shim[{name}]")[-1:]
            yield Finding(NOTE, f"{name}: not installed; {purpose} needs it: {command}")
        else:
            yield Finding(OK, f"{name}: installed, for {purpose}")


def _cause(name: str, failed: dict[str, str]) -> str:
    """Return why a distribution cannot be used; '' if it can."""
    return next((failed[module] for module in _NEEDED[name].modules if module in failed), "")


def _judged(name: str, version: str, least: str, newest: str) -> Finding:
    if not version:
        return _wrong(f"{name} is not installed", name, least)
    if _release(version) < _release(least):
        return _wrong(f"{name} {version} is too old: {least} is needed", name, least)
    if newest and _release(version) >= _release(newest):
        return Finding(NOTE, f"{name} {version} is newer than what is tested ({newest})")
    return Finding(OK, f"{name} {version}")


def _wrong(text: str, name: str, least: str) -> Finding:
    """Report a distribution that is missing or too old, and the command that installs it."""
    if name == "Python":
        return Finding(WRONG, f"{text}; install into an environment of a newer Python")
    asked = f"{name}{_NEEDED[name].extras}{least}"
    return Finding(WRONG, as_lines(f"{text}. Install it", pip("install", asked)))


def _unusable(name: str, version: str, error: str, waits: list[str]) -> Finding:
    """Report a distribution that cannot be imported, and the commands that reinstall it."""
    text = f"{name} {version} is installed, but importing it fails ({error})"
    if waits:
        return Finding(WRONG, f"{text}; first put right what is said of {', '.join(waits)}")
    anew = pip("install", "--force-reinstall", "--no-deps", f"{name}=={version}")
    rest = pip("install", f"{name}{_NEEDED[name].extras}=={version}")
    return Finding(WRONG, as_lines(f"{text}. Install it anew", [*anew, *rest]))


def _release(text: str) -> tuple[int, ...]:
    """Return the numbers of ``>=2.40`` or ``2.40.1rc1``; ``packaging`` may be missing here."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _version(name: str) -> str:
    """Return the installed version; '' without one, or if its metadata cannot be read."""
    try:
        return str(metadata.version(name) or "")
    except (metadata.PackageNotFoundError, KeyError):
        return ""


_TRY = "import sys; sys.path[:] = {path!r}; import {modules}"
_LONGEST = 120  # seconds; the first import after an installation compiles many files


def import_failures(modules: Sequence[str]) -> dict[str, str]:
    """Return the modules that cannot be imported, each with its error as one line."""
    if not _outcome(_start(", ".join(modules))):
        return {}
    started = [(module, _start(module)) for module in modules]
    outcomes = [(module, _outcome(process)) for module, process in started]
    return {module: error for module, error in outcomes if error}


def _start(modules: str) -> subprocess.Popen[str]:
    code = _TRY.format(path=sys.path, modules=modules)
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _outcome(process: subprocess.Popen[str]) -> str:
    """Wait for an import → '' if it succeeded, otherwise its error as one line."""
    try:
        _, said = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"it did not end within {_LONGEST} seconds"
    if process.returncode < 0:
        return f"it ended the process with signal {-process.returncode}"
    if process.returncode:
        errors = [line for line in said.splitlines() if line and not line[0].isspace()]
        return errors[-1] if errors else f"it ended the process with status {process.returncode}"
    return ""


def settings_given() -> Iterator[Finding]:
    """Yield each setting that was given, and each unknown ``TRITON_SHIM_`` variable."""
    try:
        rows = settings.described()
    except ValueError as error:
        yield Finding(WRONG, str(error))
    else:
        given = [row for row in rows if row.source != "default"]
        for row in given:
            yield Finding(NOTE, f"{row.name} = {row.value}  ({row.source}; {row.variable})")
        if not given:
            yield Finding(OK, "each has its default; tritonclient-shim guide settings lists them")
    for name, near in settings.unknown_variables():
        hint = f"; did you mean {near}?" if near else ""
        yield Finding(WRONG, f"{name} is set, and there is no such setting{hint}")

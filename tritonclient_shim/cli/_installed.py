"""``doctor``: which distribution ``tensorrtserver`` comes from, and the versions of all we need."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
from importlib import metadata
from typing import Iterator, NamedTuple

from tritonclient_shim import __version__
from tritonclient_shim.cli import _imports
from tritonclient_shim.cli._findings import NOTE, OK, WRONG, Finding
from tritonclient_shim.cli._installation import OURS, as_lines, faults, pip

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
    """Where ``tensorrtserver`` is imported from, and what else has that name."""
    texts = list(faults(os.getcwd()))
    if not texts:
        place = os.path.join(OURS, "tensorrtserver")
        yield Finding(OK, f"tensorrtserver is tritonclient-shim's {__version__}, in {place}")
    for text in texts:
        yield Finding(WRONG, text)
    yield _machine(platform.system(), platform.machine())


def _machine(system: str, machine: str) -> Finding:
    """What is known of this package on a system and its processor (docs/support.md)."""
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
    """Each distribution against what is supported, and whether it can be imported."""
    failed = _imports.failures([one for needed in _NEEDED.values() for one in needed.modules])
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
    """Why a distribution cannot be used; '' when it can."""
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
    """A distribution that is missing or too old, and the command that installs it."""
    if name == "Python":
        return Finding(WRONG, f"{text}; install into an environment of a newer Python")
    asked = f"{name}{_NEEDED[name].extras}{least}"
    return Finding(WRONG, as_lines(f"{text}. Install it", pip("install", asked)))


def _unusable(name: str, version: str, error: str, waits: list[str]) -> Finding:
    """A distribution that cannot be imported: reinstall its files, then all that it requires."""
    text = f"{name} {version} is installed, but importing it fails ({error})"
    if waits:
        return Finding(WRONG, f"{text}; first put right what is said of {', '.join(waits)}")
    anew = pip("install", "--force-reinstall", "--no-deps", f"{name}=={version}")
    rest = pip("install", f"{name}{_NEEDED[name].extras}=={version}")
    return Finding(WRONG, as_lines(f"{text}. Install it anew", [*anew, *rest]))


def _release(text: str) -> tuple[int, ...]:
    """``>=2.40`` and ``2.40.1rc1`` → their numbers; ``packaging`` may be missing here."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _version(name: str) -> str:
    """The version installed; '' without one, or where its metadata cannot be read."""
    try:
        return str(metadata.version(name) or "")
    except (metadata.PackageNotFoundError, KeyError):
        return ""

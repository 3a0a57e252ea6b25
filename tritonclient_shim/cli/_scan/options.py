"""The command line over ``[tool.tritonclient-shim.scan]`` in pyproject.toml → what a scan does."""

from __future__ import annotations

import argparse
import importlib
import os
import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable, Mapping

from tritonclient_shim.cli._scan import FORMATS, ScanRefused
from tritonclient_shim.cli._scan.files import ExcludedPaths, with_parents
from tritonclient_shim.registry import ENTRIES

_TABLE = "tool.tritonclient-shim.scan"
_TABLE_HEADER = re.compile(r"""^\s*\[\s*tool\s*\.\s*["']?tritonclient-shim\b""", re.MULTILINE)


@dataclass(frozen=True)
class ScanOptions:
    """What a scan reads, leaves out and prints."""

    paths: list[str]
    excluded: ExcludedPaths
    only: frozenset[str]  # ids; none for all
    format: str
    exit_zero: bool
    baseline: str  # path; '' for none
    write_baseline: str  # path; '' for none


def options(arguments: argparse.Namespace) -> ScanOptions:
    """Return what the command line and the configuration say, checked."""
    given = vars(arguments)
    configured = _configured()
    folder = str(configured.get("folder", os.getcwd()))
    if "baseline" in configured:
        configured["baseline"] = os.path.relpath(os.path.join(folder, configured["baseline"]))
    values: dict[str, Any] = {**configured, **given}
    only = frozenset(id.upper() for id in _parts(values.get("only")))
    strange = ", ".join(sorted(only - set(ENTRIES)))
    if strange:
        raise ScanRefused(
            f"no such id: {strange}; expected ids such as TS051, which "
            "`tritonclient-shim explain tensorrtserver` lists"
        )
    return ScanOptions(
        paths=arguments.paths,
        excluded=ExcludedPaths(
            tuple(_parts(values.get("exclude"))), os.getcwd() if "exclude" in given else folder
        ),
        only=only,
        format=values.get("format", FORMATS[0]),
        exit_zero=values.get("exit_zero", False),
        baseline=values.get("baseline", "") if "write_baseline" not in given else "",
        write_baseline=values.get("write_baseline", ""),
    )


def _parts(texts: list[str] | None) -> list[str]:
    return [part for text in texts or () for part in _list_of(text)]


def _configured() -> dict[str, Any]:
    """Return the nearest configuration, from the working directory upwards; {} without one.

    ``folder`` is the folder of the configuration: its paths start there.
    """
    for folder in with_parents(os.getcwd()):
        path = os.path.join(folder, "pyproject.toml")
        values = _table_of(path) if os.path.isfile(path) else None
        if values is not None:
            return {**_checked(path, values), "folder": folder}
    return {}


def _table_of(path: str) -> Mapping[str, Any] | None:
    """Return the table of a pyproject.toml; None if the file has none."""
    text = _text(path)
    if not text:
        return None
    toml = _toml()
    if toml is None:
        if not _TABLE_HEADER.search(text):
            return None
        raise ScanRefused(
            f"{path} has [{_TABLE}], and this Python cannot read TOML; expected Python 3.11 or "
            "later, or the package tomli: pip install tomli"
        )
    try:
        table = toml.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScanRefused(f"{path} is no TOML: {error}; correct it") from error
    for name in _TABLE.split("."):
        if not isinstance(table, dict) or name not in table:
            return None
        table = table[name]
    if not isinstance(table, dict):
        raise ScanRefused(f"{path}: {_TABLE}: expected a table, got {table!r}")
    return table


def _text(path: str) -> str:
    """Return the file's text; '' if it says nothing about this program."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ScanRefused(f"{path} cannot be read: {error.strerror}; make it readable") from error
    return data.decode("utf-8", "replace") if b"tritonclient-shim" in data else ""


def _toml() -> ModuleType | None:
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _checked(path: str, values: Mapping[str, Any]) -> dict[str, Any]:
    checked = {}
    for name, value in values.items():
        key = name.replace("_", "-")
        if key not in KEYS:
            raise ScanRefused(f"{path}: no such key: {name}; expected {', '.join(KEYS)}")
        try:
            checked[key.replace("-", "_")] = KEYS[key](value)
        except ValueError as error:
            raise ScanRefused(f"{path}: {name}: expected {error}, got {value!r}") from None
    return checked


def _list_of(value: Any) -> list[str]:
    """Return the parts of a text with commas, or of a list of texts."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return value
    if not isinstance(value, str):
        raise ValueError("a list of texts, or one text with commas between")
    return [part.strip() for part in value.split(",") if part.strip()]


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _path_of(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("the path of a file")
    return value


def _format(value: Any) -> str:
    if value not in list(FORMATS):
        raise ValueError(f"one of {', '.join(FORMATS)}")
    return str(value)


#: Key → what makes an option's value of the configured one, or says what was expected.
KEYS: dict[str, Callable[[Any], Any]] = {
    "baseline": _path_of,
    "exclude": _list_of,
    "exit-zero": _boolean,
    "format": _format,
    "only": _list_of,
}

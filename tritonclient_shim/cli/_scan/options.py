"""The command line over ``[tool.tritonclient-shim.scan]`` in pyproject.toml → what a scan does."""

from __future__ import annotations

import argparse
import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Mapping

from tritonclient_shim.cli import Refused
from tritonclient_shim.cli._output import FORMATS
from tritonclient_shim.cli._scan.files import ExcludedPaths
from tritonclient_shim.registry import ENTRIES

_TABLE = "tool.tritonclient-shim.scan"
_TABLE_HEADER = re.compile(r"""^\s*\[\s*tool\s*\.\s*["']?tritonclient-shim\b""", re.MULTILINE)


def _is_list(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(part, str) for part in value)
    )


_LIST = (_is_list, "a list of texts, or one text with commas between")
#: Key of the table → what it accepts, and what is said to be expected.
KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "baseline": (lambda value: isinstance(value, str) and value != "", "the path of a file"),
    "exclude": _LIST,
    "exit-zero": (lambda value: isinstance(value, bool), "true or false"),
    "format": (lambda value: value in FORMATS, f"one of {', '.join(FORMATS)}"),
    "only": _LIST,
}


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
    typed = vars(arguments)
    folder, values = _configured()
    if "baseline" in values:
        values["baseline"] = os.path.relpath(os.path.join(folder, values["baseline"]))
    patterns_folder = os.getcwd() if "exclude" in typed else str(folder)
    values.update(typed)
    only = frozenset(id.upper() for id in parts(values.get("only", ())))
    strange = ", ".join(sorted(only - set(ENTRIES)))
    if strange:
        raise Refused(
            f"no such id: {strange}; expected ids such as TS051, which "
            "`tritonclient-shim explain tensorrtserver` lists"
        )
    return ScanOptions(
        paths=arguments.paths,
        excluded=ExcludedPaths(tuple(parts(values.get("exclude", ()))), patterns_folder),
        only=only,
        format=values.get("format", FORMATS[0]),
        exit_zero=values.get("exit_zero", False),
        baseline="" if "write_baseline" in typed else values.get("baseline", ""),
        write_baseline=values.get("write_baseline", ""),
    )


def parts(texts: Any) -> list[str]:
    """Return the parts of a text with commas, or of several such texts."""
    joined = texts if isinstance(texts, str) else ",".join(texts)
    return [part.strip() for part in joined.split(",") if part.strip()]


def _configured() -> tuple[Path, dict[str, Any]]:
    """Return the folder and the values of the nearest configuration, upwards from here."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        path = folder / "pyproject.toml"
        table = _table_of(path) if path.is_file() else None
        if table is not None:
            return folder, _checked(path, table)
    return here, {}


def _table_of(path: Path) -> Mapping[str, Any] | None:
    """Return the table of a pyproject.toml; None if the file has none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}; make it readable") from error
    text, toml = data.decode("utf-8", "replace"), _toml()
    if "tritonclient-shim" not in text or (toml is None and not _TABLE_HEADER.search(text)):
        return None
    if toml is None:
        raise Refused(
            f"{path} has [{_TABLE}], and this Python cannot read TOML; expected Python 3.11 or "
            "later, or the package tomli: pip install tomli"
        )
    try:
        table = toml.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is no TOML: {error}; correct it") from error
    for name in _TABLE.split("."):
        if not isinstance(table, dict) or name not in table:
            return None
        table = table[name]
    if not isinstance(table, dict):
        raise Refused(f"{path}: {_TABLE}: expected a table, got {table!r}")
    return table


def _toml() -> ModuleType | None:
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _checked(path: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for name, value in table.items():
        key = name.replace("_", "-")
        if key not in KEYS:
            raise Refused(f"{path}: no such key: {name}; expected {', '.join(KEYS)}")
        is_accepted, expected = KEYS[key]
        if not is_accepted(value):
            raise Refused(f"{path}: {name}: expected {expected}, got {value!r}")
        values[key.replace("-", "_")] = value
    return values

"""What pyproject.toml or setup.cfg says: ``[tool.tritonclient-shim.scan]`` and the like."""

from __future__ import annotations

import configparser
import importlib
import os
import re
from types import ModuleType
from typing import Any, Callable, Mapping

from tritonclient_shim.cli._scan import FORMATS, ScanRefused
from tritonclient_shim.cli._scan.files import with_parents

_TABLE = "tool.tritonclient-shim.scan"
_SECTION = "tritonclient-shim:scan"
_TABLE_HEADER = re.compile(r"""^\s*\[\s*tool\s*\.\s*["']?tritonclient-shim\b""", re.MULTILINE)
_TRUTH = configparser.ConfigParser.BOOLEAN_STATES


def configured() -> dict[str, Any]:
    """What the nearest configuration says, from the working directory upwards; {} without one.

    ``folder`` is the folder of the configuration, which its paths start from.
    """
    for folder in with_parents(os.getcwd()):
        for name, read in (("pyproject.toml", _pyproject), ("setup.cfg", _setup_cfg)):
            path = os.path.join(folder, name)
            values = read(path) if os.path.isfile(path) else None
            if values is not None:
                return {**_checked(path, values), "folder": folder}
    return {}


def _text(path: str) -> str:
    """The file's text; '' where it says nothing about this program."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ScanRefused(
            f"{path} cannot be read: {error.strerror}; make it readable, or give --isolated"
        ) from error
    return data.decode("utf-8", "replace") if b"tritonclient-shim" in data else ""


def _pyproject(path: str) -> Mapping[str, Any] | None:
    text = _text(path)
    if not text:
        return None
    toml = _toml()
    if toml is None:
        if not _TABLE_HEADER.search(text):
            return None
        raise ScanRefused(
            f"{path} has [{_TABLE}], and this Python cannot read TOML; expected Python 3.11 or "
            f"later, or the package tomli: pip install tomli, or write the same keys below "
            f"[{_SECTION}] in setup.cfg"
        )
    try:
        table = toml.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScanRefused(f"{path} is no TOML: {error}; correct it, or give --isolated") from error
    for name in _TABLE.split("."):
        if not isinstance(table, dict) or name not in table:
            return None
        table = table[name]
    if not isinstance(table, dict):
        raise ScanRefused(f"{path}: {_TABLE}: expected a table, got {table!r}")
    return table


def _toml() -> ModuleType | None:
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _setup_cfg(path: str) -> Mapping[str, Any] | None:
    text = _text(path)
    if f"[{_SECTION}]" not in text:
        return None
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text, path)
    except configparser.Error as error:
        raise ScanRefused(f"{error}; correct {path}, or give --isolated") from error
    return dict(parser[_SECTION]) if parser.has_section(_SECTION) else None


def _checked(path: str, values: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in values.items():
        key = name.replace("_", "-")
        if key not in _KEYS:
            raise ScanRefused(f"{path}: no such key: {name}; expected {', '.join(_KEYS)}")
        try:
            found[key.replace("-", "_")] = _KEYS[key](value)
        except ValueError as error:
            raise ScanRefused(f"{path}: {name}: expected {error}, got {value!r}") from None
    return found


def listed(value: Any) -> list[str]:
    """A text with commas or line breaks between, or a list of texts → its parts."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    if not isinstance(value, str):
        raise ValueError("a list of texts, or one text with commas between")
    return [one.strip() for one in re.split("[,\n]", value) if one.strip()]


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in _TRUTH:
        return _TRUTH[value.lower()]
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
_KEYS: dict[str, Callable[[Any], Any]] = {
    "baseline": _path_of,
    "exclude": listed,
    "exit-zero": _boolean,
    "format": _format,
    "only": listed,
}

"""The table ``[tool.tritonclient-shim]`` of pyproject.toml: values for options not given."""

from __future__ import annotations

import argparse
import importlib
import os
from types import ModuleType
from typing import Any, Callable, Mapping

from tritonclient_shim.cli import Refused
from tritonclient_shim.cli._files import ids

_NAME = "tritonclient-shim"
_TABLE = f"[tool.{_NAME}]"
_PROTOCOLS = ("grpc", "http")


def fill_in(arguments: argparse.Namespace, options: Mapping[str, str]) -> None:
    """Set options that the command line does not give. Raise Refused for a wrong table.

    ``options``: key of the table → attribute of the arguments. Other keys are for other commands.
    """
    path = _nearest_file()
    table = _table(path) if path else {}
    for key, value in table.items():
        if key not in _READERS:
            raise Refused(
                f"{path}: {_TABLE} has the key {key!r}; expected {', '.join(_READERS)}; rename or "
                "remove it"
            )
        try:
            result = _READERS[key](value, os.path.dirname(path))
        except (TypeError, argparse.ArgumentTypeError) as error:
            raise Refused(f"{path}: {key} in {_TABLE}: {error}") from None
        if key in options and not getattr(arguments, options[key]):
            setattr(arguments, options[key], result)


def _nearest_file() -> str:
    """Return the pyproject.toml of the working folder, or of the nearest folder above it."""
    folder = os.getcwd()
    while True:
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            return path
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)


def _table(path: str) -> dict[str, Any]:
    """Return the table of a file; raise Refused if it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None
    if _NAME.encode() not in data:  # most files; they may even be broken
        return {}
    toml = _toml(path)
    try:
        table = toml.loads(data.decode("utf-8")).get("tool", {}).get(_NAME, {})
    except (ValueError, AttributeError) as error:
        raise Refused(f"{path} is no pyproject.toml: {error}; expected TOML with tables") from None
    if not isinstance(table, dict):
        raise Refused(f"{path}: tool.{_NAME} is {table!r}; expected a table {_TABLE}")
    return table


def _toml(path: str) -> ModuleType:
    """Return the module that reads TOML: Python's since 3.11, or tomli."""
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    raise Refused(
        f"{path} may have a table {_TABLE}, and this Python cannot read it; expected Python 3.11 "
        "or tomli; install it with: pip install tomli"
    )


# ------------------------------------------------------------------------------ values


def _texts(value: Any) -> list[str]:
    """Return a list of texts; raise TypeError for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"expected a list of texts, not {value!r}")
    return value


def _text(value: Any) -> str:
    """Return a text; raise TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, not {value!r}")
    return value


def _patterns(value: Any, folder: str) -> list[str]:
    """Return patterns of files. Paths are relative to the folder of the table."""
    return [os.path.join(folder, text) if "/" in text else text for text in _texts(value)]


def _protocol(value: Any, folder: str) -> str:
    """Return a protocol."""
    if value not in _PROTOCOLS:
        raise TypeError(f"expected one of {', '.join(_PROTOCOLS)}, not {value!r}")
    return str(value)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "exclude": _patterns,
    "baseline": lambda value, folder: os.path.join(folder, _text(value)),
    "select": lambda value, folder: ids(",".join(_texts(value))),
    "to": _protocol,
    "helpers": lambda value, folder: _text(value),
}

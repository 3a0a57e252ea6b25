"""The command line over the configuration → what a scan does."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import Any

from tritonclient_shim.cli._scan import FORMATS, STDIN, ScanRefused, configuration
from tritonclient_shim.cli._scan.files import ExcludedPaths
from tritonclient_shim.registry import ENTRIES


@dataclass(frozen=True)
class ScanOptions:
    """What a scan reads, leaves out and prints."""

    paths: list[str]
    excluded: ExcludedPaths
    only: frozenset[str]  # ids; none for all
    format: str
    statistics: bool
    exit_zero: bool
    baseline: str  # path; '' for none
    write_baseline: str  # the same
    stdin_name: str


def options(arguments: argparse.Namespace) -> ScanOptions:
    """What command line and configuration say, checked."""
    given = vars(arguments)
    configured = {} if "isolated" in given else configuration.configured()
    folder = str(configured.get("folder", os.getcwd()))
    if "baseline" in configured:
        configured["baseline"] = os.path.relpath(os.path.join(folder, configured["baseline"]))
    values: dict[str, Any] = {**configured, **given}
    if "stdin_filename" in given and STDIN not in arguments.paths:
        raise ScanRefused("--stdin-filename: expected - among the paths, for standard input")
    found = ScanOptions(
        paths=arguments.paths,
        excluded=ExcludedPaths(
            tuple(_parts(values.get("exclude"))), os.getcwd() if "exclude" in given else folder
        ),
        only=frozenset(id.upper() for id in _parts(values.get("only"))),
        format=values.get("format", FORMATS[0]),
        statistics=values.get("statistics", False),
        exit_zero=values.get("exit_zero", False),
        baseline=values.get("baseline", "") if "write_baseline" not in given else "",
        write_baseline=values.get("write_baseline", ""),
        stdin_name=values.get("stdin_filename", "<stdin>"),
    )
    _check(found)
    return found


def _parts(given: list[str] | None) -> list[str]:
    return [part for text in given or () for part in configuration.listed(text)]


def _check(found: ScanOptions) -> None:
    strange = ", ".join(sorted(found.only - set(ENTRIES)))
    if strange:
        raise ScanRefused(
            f"no such id: {strange}; expected ids such as TS051, which "
            "`tritonclient-shim explain tensorrtserver` lists"
        )
    if found.statistics and found.format == "sarif":
        raise ScanRefused("SARIF has no statistics; expected --format text, json or markdown")

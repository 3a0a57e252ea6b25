"""``tritonclient-shim gateway`` without a package that it needs."""

from __future__ import annotations

import configparser
import sys
from pathlib import Path

import pytest

from tests.cli.cli_scripts import shim
from tritonclient_shim.cli.gateway import EXTRA

COMMAND = (
    *("gateway", "--triton-grpc", "127.0.0.1:1", "--http", "127.0.0.1:0"),
    *("--metrics-address", "127.0.0.1:0"),
)


@pytest.mark.parametrize("missing", ["aiohttp", "grpc", "prometheus_client"])
def test_missing(tmp_path: Path, missing: str) -> None:
    """A missing package is named with the command that installs it, or with ``doctor``."""
    error = f"No module named {missing!r}"
    (tmp_path / f"{missing}.py").write_text(f"raise ImportError({error!r}, name={missing!r})\n")
    done = shim(tmp_path, *COMMAND)
    assert (done.returncode, done.stdout) == (1, "")
    message = f"tritonclient-shim gateway: the gateway needs {missing}, which is not installed"
    if missing in EXTRA:
        message += f". Install it:\n    {sys.executable} -m pip install '{EXTRA[missing]}'"
    else:
        message += ": tritonclient-shim doctor says what to do"
    assert done.stderr.strip() == message


def test_requirements_are_those_of_the_extra() -> None:
    """The commands install what the extra ``gateway`` of setup.cfg requires."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(Path(__file__).resolve().parents[2] / "setup.cfg", "utf-8")
    assert setup["options.extras_require"]["gateway"].split() == [*EXTRA.values()]

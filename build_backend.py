"""The build backend: setuptools, whose wheels leave no files in the checkout.

setuptools writes ``build/`` and ``*.egg-info/`` beside ``setup.cfg``. Later builds would pack stale
files of ``build/``. So wheels are built with a configuration that names temporary folders.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from setuptools import build_meta
from setuptools.build_meta import (  # frontends call these as they are
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

CONFIGURATION = """\
[build]
build_base = {folder}
[egg_info]
egg_base = {folder}
"""


@contextmanager
def temporary_folders() -> Iterator[None]:
    """Let setuptools write its own files to a temporary folder. It reads this variable."""
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "setup.cfg"
        configuration.write_text(CONFIGURATION.format(folder=folder), encoding="utf-8")
        os.environ["DIST_EXTRA_CONFIG"] = str(configuration)
        try:
            yield
        finally:
            del os.environ["DIST_EXTRA_CONFIG"]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """See PEP 517."""
    with temporary_folders():
        return build_meta.get_requires_for_build_wheel(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """See PEP 517."""
    with temporary_folders():
        return build_meta.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """See PEP 517."""
    with temporary_folders():
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)

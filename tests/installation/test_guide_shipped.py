"""Every form of the distribution contains the migration guide."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installation import distributions
from tests.installation.environments import ROOT, Environment
from tritonclient_shim.cli import guide

SDIST = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


def sdist(folder: Path) -> Path:
    """Build the source distribution with setuptools in a new environment, and return it."""
    folder.mkdir()
    environment = Environment(folder / "building")
    environment.pip("install", "--quiet", "--ignore-installed", "setuptools>=61")
    source = distributions.checkout(folder / "source")
    code = f"import os; os.chdir({str(source)!r}); {SDIST}"
    environment.succeed(environment.python, "-c", code, str(folder))
    (result,) = folder.glob("tritonclient_shim-*.tar.gz")
    return result


@pytest.mark.parametrize("form", ["checkout", "sdist", "editable"])
def test_the_guide_is_there(tmp_path: Path, form: str) -> None:
    """`tritonclient-shim guide` prints the repository's guide, for a terminal."""
    environment = Environment(tmp_path / "environment")
    if form == "sdist":
        environment.install(str(sdist(tmp_path / "sdist")))
    else:
        source = str(distributions.checkout(tmp_path / "source"))
        environment.install(*(["--editable"] if form == "editable" else []), source)
    shown = environment.succeed(environment.python, "-m", "tritonclient_shim", "guide")
    assert shown == guide.shown((ROOT / "migration_guide.md").read_text("utf-8"))
    section = environment.succeed(environment.python, "-m", "tritonclient_shim", "guide", "ts051")
    assert section.startswith("## Inference\n")
    page = environment.succeed(environment.python, "-m", "tritonclient_shim", "guide", "settings")
    assert page == guide.shown((ROOT / "docs" / "settings.md").read_text("utf-8"))

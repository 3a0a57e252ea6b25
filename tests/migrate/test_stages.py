"""Facts, plan, render: a stage changes nothing of what it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.table import PROGRAMS_FOLDER, STYLES_FOLDER
from tritonclient_shim.migrate.facts import FileFacts, facts_of
from tritonclient_shim.migrate.options import MigrateOptions
from tritonclient_shim.migrate.plan import plan_file
from tritonclient_shim.migrate.program import Program
from tritonclient_shim.migrate.render import render
from tritonclient_shim.scan import sources

_SOURCES = sorted(x for folder in (PROGRAMS_FOLDER, STYLES_FOLDER) for x in folder.glob("*.py"))


def _facts(path: Path, unsafe: bool) -> FileFacts:
    """Return what is known of a file that runs alone."""
    source = sources.parsed(str(path), path.read_bytes())
    beside = Program([str(path)]).beside(str(path))
    return facts_of(source, "\n".join(source.lines), MigrateOptions(unsafe=unsafe), beside)


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: path.stem)
def test_again(path: Path, unsafe: bool) -> None:
    """The facts of a file give one plan, and the plan one text, however often."""
    facts = _facts(path, unsafe)
    plan = plan_file(facts)
    rendered = render(facts, plan)
    assert plan_file(facts) == plan
    assert render(facts, plan) == rendered

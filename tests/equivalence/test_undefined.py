"""Tests of behaviour that v1 left undefined, by the facade and by the genuine client."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from testbed import TritonServer
from tests.equivalence import known, sides

ROWS = known.load()
UNDEFINED = sides.scenarios("undefined")
FULL = bool(os.environ.get("EQUIVALENCE_PROGRAMS"))


@pytest.fixture(scope="module")
def ours(triton: TritonServer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the facade's steps, by protocol."""
    side = sides.facade(triton)
    folder = tmp_path_factory.mktemp("undefined")
    return {via: side.run(folder, via, UNDEFINED, sides.token()) for via in sides.PROTOCOLS}


@pytest.mark.parametrize("via", sides.PROTOCOLS)
@pytest.mark.parametrize("scenario", UNDEFINED)
def test_facade(ours: Any, scenario: str, via: str) -> None:
    """Where v1 crashed, hung or sent garbage, the facade does what its known difference states."""
    rows = known.of_scenario(ROWS, scenario, via)
    assert len(rows) == 1, f"{scenario} needs one row in known_differences.toml"
    text = json.dumps(ours[via][scenario]).replace('\\"', '"')
    assert rows[0].shows and rows[0].shows in text, text


@pytest.mark.skipif(not FULL, reason="each needs a process of its own: see tox -e equivalence")
@pytest.mark.parametrize("via", sides.PROTOCOLS)
@pytest.mark.parametrize("scenario", UNDEFINED)
def test_genuine_client(pair: sides.Pair, tmp_path: Path, scenario: str, via: str) -> None:
    """Results of the genuine client contain the text on record."""
    (row,) = known.of_scenario(ROWS, scenario, via)
    seen = pair.genuine.run(tmp_path, via, [scenario], sides.token(), limit=10)[scenario]
    assert row.genuine in json.dumps(seen), seen

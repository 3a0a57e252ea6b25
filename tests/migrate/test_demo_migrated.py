"""The demo's migrated scripts print on the real server what they printed before."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

from demo.programs import MODELS
from testbed import TritonServer
from tests.migrate.sources_migrated import run, todo, write
from tritonclient_shim.rewrite.files import migrate
from tritonclient_shim.rewrite.options import MigrateOptions

DEMO = Path(__file__).resolve().parents[2] / "demo" / "legacy"
SCRIPTS = ("add_sub", "string", "shared_memory", "request_id", "image")


@pytest.fixture(scope="module")
def server() -> Iterator[TritonServer]:
    """Return a server with the demo's models."""
    with TritonServer.start(models=MODELS) as started:
        yield started


@pytest.mark.parametrize("chosen", [True, False], ids=["chosen", "fixed"])
@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.smoke
def test_prints_the_same(
    server: TritonServer, tmp_path: Path, name: str, protocol: str, chosen: bool
) -> None:
    """The output of a script stays, with the protocol fixed or chosen at run time."""
    script = DEMO / f"{name}_client.py"
    options = MigrateOptions("" if chosen else protocol, unsafe=True)
    migration = migrate(str(script), script.read_bytes(), options)
    assert not todo(migration)
    write(migration, tmp_path / "script.py")
    arguments = ("-u", server.url(protocol), "-i", protocol)
    before, after = run(script, *arguments), run(tmp_path / "script.py", *arguments)
    assert before.status == 0
    if name == "image":  # it prints request numbers, and the helpers count them differently
        assert (after.status, after.output[-5:]) == (0, "PASS\n")
    else:
        assert after == before

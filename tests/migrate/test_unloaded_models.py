"""A model that was unloaded stays in v1's status, and is not ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import run
from tritonclient_shim.cli import main

_SOURCE = """import sys
from tensorrtserver.api import *

control = ModelControlContext(sys.argv[1], ProtocolType.HTTP)
control.load("spare")
control.unload("spare")
status = ServerStatusContext(sys.argv[1], ProtocolType.HTTP).get_server_status()
for name in "spare", "none":
    if name in status.model_status:
        print(name, "is there")
"""


_CONFIGURATIONS = """
for name in "spare", "none", "simple":
    print(name, status.model_status[name].config.max_batch_size)
"""


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_configurations_of_unloaded_models(
    protocol: str, triton: TritonServer, tmp_path: Path
) -> None:
    """Without --unsafe, a program that reads configurations prints what it did before."""
    source = _SOURCE.partition('for name in "spare"')[0] + _CONFIGURATIONS
    script = tmp_path / "script.py"
    script.write_text(source.replace("HTTP", protocol.upper()))
    before = run(script, getattr(triton, protocol))
    assert before.status == 0, before.output
    assert main(["migrate", "--write", str(script)]) == 0
    assert run(script, getattr(triton, protocol)) == before


def test_unloaded_model(triton: TritonServer, tmp_path: Path) -> None:
    """Without --unsafe, a program that looks for an unloaded model prints what it did before."""
    script = tmp_path / "script.py"
    script.write_text(_SOURCE)
    before = run(script, triton.http)
    assert before.output == "spare is there\n"
    assert main(["migrate", "--write", str(script)]) == 0
    assert run(script, triton.http) == before
    assert "tensorrtserver" not in script.read_text()

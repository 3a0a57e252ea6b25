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


def test_unloaded_model(
    triton: TritonServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --unsafe, a program that looks for an unloaded model prints what it did before."""
    script = tmp_path / "script.py"
    script.write_text(_SOURCE)
    before = run(script, triton.http)
    assert before.output == "spare is there\n"
    main(["migrate", "--write", str(script)])
    assert run(script, triton.http) == before
    assert "a model that was unloaded is not there" in capsys.readouterr().out

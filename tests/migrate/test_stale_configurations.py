"""A status has the configurations that models have now."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import helpers_text, run

_SOURCE = """
import numpy as np

client = connect({protocol!r}, {url!r})
client.load_model("spare")
infer(client, "spare", {{"INPUT0": [np.ones(1, np.float32)]}}, {{"OUTPUT0": 0}})
client.unload_model("spare")
while client.is_model_ready("spare"):
    pass
try:
    config_with_platform(client, "spare")
except InferenceServerException:
    print("unloaded")
"""


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_configuration_after_a_request(protocol: str, triton: TritonServer, tmp_path: Path) -> None:
    """The configuration of a model that was unloaded after a request is an error."""
    source = _SOURCE.format(protocol=protocol, url=triton.url(protocol))
    script = tmp_path / "script.py"
    script.write_text(f"{helpers_text('connect', 'infer', 'config_with_platform')}{source}")
    assert run(script) == (0, "unloaded\n")

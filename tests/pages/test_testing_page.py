"""docs/testing.md: its blocks are a test file that passes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.pages.blocks import ROOT, text

_CALLS = """

def test_busy():
    from tensorrtserver.api import InferenceServerException

    with testing.server(busy=busy) as triton:
        context = InferContext(triton.grpc, ProtocolType.GRPC, "busy")
        try:
            context.run({"I": [np.ones(1, np.float32)]}, {"O": InferContext.ResultFormat.RAW})
        except InferenceServerException as error:
            assert error.message() == "Exceeds maximum queue size"
        else:
            assert False


def test_running_sum():
    class sequence:
        state = {}
    assert running_sum({"INPUT": 5}, sequence)["OUTPUT"] == 5
    assert running_sum({"INPUT": 6}, sequence)["OUTPUT"] == 11
"""


def test_the_blocks_run(tmp_path: Path) -> None:
    """Both tests of the page pass, and its models work."""
    blocks = re.findall(r"^```python\n(.*?)^```$", text("docs/testing.md"), re.M | re.S)
    (tmp_path / "test_page.py").write_text("\n\n".join(blocks) + _CALLS, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"],
        cwd=str(tmp_path),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout

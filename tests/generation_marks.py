"""Marks for tests of what an older Triton does not do; see docs/servers.md."""

from __future__ import annotations

import pytest

from testbed.environment import chosen


def not_on(triton: str, reason: str) -> pytest.MarkDecorator:
    """Return a mark that leaves a test out on this version of Triton."""
    return pytest.mark.skipif(chosen().triton == triton, reason=f"Triton {triton} {reason}")

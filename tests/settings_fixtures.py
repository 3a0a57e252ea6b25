"""Settings that no test leaves behind; a module takes it with ``pytest_plugins``."""

from __future__ import annotations

import os
from typing import Iterator

import pytest

from tritonclient_shim.settings import sources


@pytest.fixture(autouse=True)
def default_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing configured, no variable of ours or of proxies set; restored afterwards."""
    for name in list(os.environ):
        if name.startswith("TRITON_SHIM_") or name in sources.PROXY_VARIABLES:
            monkeypatch.delenv(name)
    monkeypatch.setattr(sources, "_configured", {})
    yield

"""ServerHealthContext (docs/v1-behaviour.md §6.1)."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from tensorrtserver.api import (
    InferenceServerException,
    ModelControlContext,
    ServerHealthContext,
)
from tests.odd_servers import foreign_server


@pytest.mark.smoke
def test_healthy(url: str, protocol: int) -> None:
    """Live and ready are True as bool, and the last request id stays 0."""
    # docs/v1-behaviour.md §6.1
    with ServerHealthContext(url, protocol) as context:
        assert context.is_live() is True
        assert context.is_ready() is True
        assert context.get_last_request_id() == 0


@pytest.mark.smoke
def test_failed_load_makes_unready(start_triton: Callable[..., Any], protocol: int) -> None:
    """A server is not ready after a failed load, and still ready after an unload."""
    # docs/v1-behaviour.md §6.1, §E.2
    server = start_triton(["spare"])
    url = server.url(protocol)
    with ServerHealthContext(url, protocol) as health, ModelControlContext(
        url, protocol
    ) as control:
        control.unload("spare")
        control.load("spare")
        assert health.is_ready() is True
        with pytest.raises(InferenceServerException, match="failed to load 'broken'"):
            control.load("broken")
        assert health.is_ready() is False
        assert health.is_live() is True
        assert health.get_last_request_id() == 0


def test_failed_server(failed_server: Any, protocol: int) -> None:
    """A server that failed to start is neither live nor ready. The calls raise no error."""
    # docs/v1-behaviour.md §E.12
    with ServerHealthContext(failed_server.url(protocol), protocol) as context:
        assert context.is_live() is False
        assert context.is_ready() is False
        assert context.get_last_request_id() == 0


@pytest.mark.parametrize(("status", "answer"), [(200, True), (404, False), (503, False)])
def test_any_http_answer_counts(status: int, answer: bool) -> None:
    """Over HTTP health is True exactly for status 200 of any server, and never an error."""
    # docs/v1-behaviour.md §6.1
    with foreign_server(status) as foreign, ServerHealthContext(foreign.url, 0) as context:
        assert context.is_live() is answer
        assert context.is_ready() is answer
        assert context.get_last_request_id() == 0

"""ModelRepositoryContext (docs/v1-behaviour.md §6.3)."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from tensorrtserver.api import (
    InferenceServerException,
    ModelRepositoryContext,
    ModelRepositoryIndex,
)
from testbed import repository
from tests.generation_marks import not_on


def names_of(index: ModelRepositoryIndex) -> list[str]:
    return [entry.name for entry in index.models]


@pytest.mark.smoke
def test_index(url: str, protocol: int) -> None:
    """The index has every model of the repository once, sorted, loaded or not, in v1's message."""
    # docs/v1-behaviour.md §6.3
    with ModelRepositoryContext(url, protocol) as context:
        index = context.get_model_repository_index()
        assert (context.get_last_request_id() or 0) > 0
    assert isinstance(index, ModelRepositoryIndex)
    assert names_of(index) == sorted(repository.MODELS)
    first, second = sorted(repository.MODELS)[:2]
    text = f'models {{\n  name: "{first}"\n}}\nmodels {{\n  name: "{second}"\n}}\n'
    assert str(index).startswith(text)


@not_on("2.33", "has no --http-restricted-api")
def test_refused(start_triton: Callable[..., Any]) -> None:
    """A server's refusal is a server error with its id and a positive request id."""
    # docs/v1-behaviour.md §1.6
    secret = ["--http-restricted-api=model-repository:secret=yes"]
    server = start_triton([], extra_args=secret, server_id="inference:0")
    with ModelRepositoryContext(server.http, 0) as context:
        with pytest.raises(InferenceServerException, match="restricted") as caught:
            context.get_model_repository_index()
        assert context.get_last_request_id() is None
    assert caught.value.server_id() == "inference:0"
    assert caught.value.request_id() > 0
    with ModelRepositoryContext(server.http, 0, http_headers=["secret:yes"]) as context:
        assert "spare" in names_of(context.get_model_repository_index())

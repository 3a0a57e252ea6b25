"""A decoupled model sends any number of responses to a request. v1 had no such models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tensorrtserver.api import request_status_pb2 as codes
from testbed import TritonServer, repository
from tests.infer_cases import ONE, fp32
from tests.stub.stub_cases import infer_request, stub_at

REFUSED = "ModelInfer RPC doesn't support models with decoupled transaction policy"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """Yield a server of one decoupled model, ``failing``."""
    folder = tmp_path_factory.mktemp("decoupled")
    repository.write(folder, ["failing"])
    with open(folder / "failing" / "config.pbtxt", "a", encoding="utf-8") as config:
        config.write("\nmodel_transaction_policy { decoupled: true }\n")
    with TritonServer.start(["failing"], repository=Path(folder)) as started:
        yield started


@pytest.mark.smoke
@pytest.mark.parametrize(("protocol", "streaming"), [(0, False), (1, False), (1, True)])
def test_context(server: TritonServer, protocol: int, streaming: bool) -> None:
    """A context refuses requests in every calling style."""
    url = server.url(protocol)
    with InferContext(url, protocol, "failing", streaming=streaming) as context:
        for run in (
            lambda: context.run(fp32(0), ONE),
            lambda: context.get_async_run_results(context.async_run(fp32(0), ONE), True),
        ):
            with pytest.raises(InferenceServerException) as caught:
                run()
            assert caught.value.message() == REFUSED


@pytest.mark.parametrize("way", ["call", "future", "stream"])
def test_raw_stub(server: TritonServer, way: str) -> None:
    """A raw stub's response contains the refusal."""
    request: Any = infer_request("failing", {"INPUT0": b"\0\0\0\0"}, ["OUTPUT0"])
    with stub_at(server.grpc) as stub:
        response = {
            "call": lambda: stub.Infer(request),
            "future": lambda: stub.Infer.future(request).result(),
            "stream": lambda: next(stub.StreamInfer(iter([request]))),
        }[way]()
    assert response.request_status.msg == REFUSED
    assert response.request_status.code == codes.UNSUPPORTED

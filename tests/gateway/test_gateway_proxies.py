"""nginx and Envoy in front of gateways, with the configurations of ``deploy/``, and without."""

from __future__ import annotations

import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Iterator

import grpc
import numpy as np
import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE
from tests.gateway.front_proxies import Front, behind_envoy, behind_nginx
from tests.gateway.gateway_process import Answer, code_of, read_answer
from tests.gateway.grpc_requests import A, B, failing, simple
from tests.gateway.rolling_restarts import Pair
from tests.server.nginx import nginx
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

pytestmark = pytest.mark.release  # nginx and Envoy

pytest_plugins = ["tests.gateway.gateway_fixtures"]

SCORES = np.arange(1000, dtype=np.float32).tobytes()
#: nginx in front of two gateways with nothing but what its manual begins with.
BARE = "upstream gateways {{ server 127.0.0.1:{0}; server 127.0.0.1:{1}; }}"


@pytest.fixture(scope="module")
def pair(behind: TritonServer) -> Iterator[Pair]:
    """Two gateways in front of one Triton."""
    both = Pair("--triton-grpc", behind.grpc)
    yield both
    both.stop()


@pytest.fixture(scope="module", params=[behind_nginx, behind_envoy])
def front(pair: Pair, request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """A proxy with its configuration of ``deploy/``."""
    with request.param(tmp_path_factory.mktemp("proxy"), pair) as addresses:
        yield addresses


def infer(address: str, path: str, header: str, body: bytes) -> Answer:
    """One inference over HTTP."""
    connection = HTTPConnection(address, timeout=60)
    try:
        connection.request("POST", f"/api/infer/{path}", body, {"NV-InferRequest": header})
        return read_answer(connection)
    finally:
        connection.close()


def classify(address: str, count: int) -> Answer:
    """A classification with so many classes."""
    header = 'batch_size: 1 input { name: "INPUT" dims: 1000 } '
    header += f'output {{ name: "OUTPUT" cls {{ count: {count} }} }}'
    return infer(address, "classify_1000?format=binary", header, SCORES)


def test_classes_and_a_bare_nginx(pair: Pair, tmp_path: Path) -> None:
    """200 classes do not fit into nginx's own buffers: 502, and then 502 for everybody."""
    upstream = BARE.format(*pair.http)
    with nginx(tmp_path, "location / { proxy_pass http://gateways; }", http=upstream) as address:
        assert infer(address, "simple", SIMPLE, BODY).code == 200
        assert [classify(address, 200).code for _ in range(2)] == [502, 502]  # one for each
        assert infer(address, "simple", SIMPLE, BODY).code == 502
    assert "upstream sent too big header" in (tmp_path / "error.log").read_text("utf-8")


@pytest.mark.parametrize("count", [200, 1000])  # the second is 44 KB of header
def test_classes(front: Front, count: int) -> None:
    """As many classes as the gateway has in NV-InferResponse, and in the body."""
    answer = classify(front.http, count)
    assert (answer.code, code_of(answer.status)) == (200, "SUCCESS")
    assert len(answer.headers["NV-InferResponse"]) > 8192
    (output,) = api_pb2.InferResponseHeader.FromString(answer.body).output
    assert [c.idx for c in output.batch_classes[0].cls] == [*range(999, 999 - count, -1)]


def test_large_heads_and_bodies(front: Front) -> None:
    """A request header of 100 KB, tensors of 40 MB, and a refusal: all as without a proxy."""
    padded = SIMPLE + " " * 100_000
    assert infer(front.http, "simple", padded, BODY).code == 200
    data = np.arange(10_000_000, dtype=np.float32).tobytes()
    header = 'batch_size: 1 input { name: "INPUT0" dims: 10000000 } output { name: "OUTPUT0" }'
    assert infer(front.http, "identity_fp32", header, data).body[: len(data)] == data
    refused = infer(front.http, "nope", SIMPLE, BODY)
    assert (refused.code, code_of(refused.status)) == (400, "UNAVAILABLE")


def test_grpc(front: Front) -> None:
    """Unary calls, and a stream that is idle in between."""
    rpcs = v1.RPCS
    with grpc.insecure_channel(front.grpc) as channel:
        stub = channel.unary_unary(
            f"/{v1.SERVICE}/Infer",
            rpcs["Infer"].request.SerializeToString,
            rpcs["Infer"].response.FromString,
        )
        response: Any = stub(simple(3), timeout=60)
        assert list(response.raw_output) == [(A + B).tobytes(), (A - B).tobytes()]
        stream = channel.stream_stream(
            f"/{v1.SERVICE}/StreamInfer",
            rpcs["StreamInfer"].request.SerializeToString,
            rpcs["StreamInfer"].response.FromString,
        )
        found: list[Any] = list(stream(_slowly(), timeout=60))
    assert [one.meta_data.id for one in found] == [1, 2, 3]
    assert found[1].request_status.msg == "the model refused value 7"


def _slowly() -> Iterator[Any]:
    yield simple(1)
    time.sleep(2)
    yield failing(2, 7)
    yield simple(3)

"""nginx and Envoy in front of gateways, with the configurations of ``deploy/``."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tests.gateway.bad_clients import Raw, head
from tests.gateway.front_proxies import Front, behind_envoy, behind_nginx
from tests.gateway.gateway_process import PATIENCE, Answer, Client, code_of, infer
from tests.gateway.grpc_requests import BODY, SIMPLE, SLOW, A, B, failing, seconds, simple, slow
from tests.gateway.rolling_restarts import Pair
from tritonclient_shim.protos import api_pb2

pytestmark = pytest.mark.release  # nginx and Envoy

SCORES = np.arange(1000, dtype=np.float32).tobytes()
CLIENTS, LIMIT = 40, 6


@pytest.fixture(scope="module", params=[behind_nginx, behind_envoy])
def front(pair: Pair, request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """Start a proxy with its configuration of ``deploy/``."""
    with request.param(tmp_path_factory.mktemp("proxy"), pair) as addresses:
        yield addresses


def classify(address: str, count: int) -> Answer:
    """Send a classification with ``count`` classes."""
    header = 'batch_size: 1 input { name: "INPUT" dims: 1000 } '
    header += f'output {{ name: "OUTPUT" cls {{ count: {count} }} }}'
    return infer(address, "classify_1000?format=binary", header, SCORES)


@pytest.mark.parametrize("count", [200, 1000])  # the second is 44 KB of header
def test_classes(front: Front, count: int) -> None:
    """A proxy of ``deploy/`` passes up to 1000 classes in NV-InferResponse and in the body."""
    answer = classify(front.http, count)
    assert (answer.code, code_of(answer.status)) == (200, "SUCCESS")
    assert len(answer.headers["NV-InferResponse"]) > 8192
    (output,) = api_pb2.InferResponseHeader.FromString(answer.body).output
    assert [c.idx for c in output.batch_classes[0].cls] == [*range(999, 999 - count, -1)]


def test_large_heads_and_bodies(front: Front) -> None:
    """A proxy passes a request header of 100 KB, tensors of 40 MB, and a refusal."""
    padded = SIMPLE + " " * 100_000
    assert infer(front.http, "simple", padded, BODY).code == 200
    data = np.arange(10_000_000, dtype=np.float32).tobytes()
    header = 'batch_size: 1 input { name: "INPUT0" dims: 10000000 } output { name: "OUTPUT0" }'
    assert infer(front.http, "identity_fp32", header, data).body[: len(data)] == data
    refused = infer(front.http, "nope", SIMPLE, BODY)
    assert (refused.code, code_of(refused.status)) == (400, "UNAVAILABLE")


def test_grpc(front: Front) -> None:
    """A proxy passes unary calls, and a stream that is idle for a while."""
    with Client(front.grpc) as client:
        assert client.code(simple(3)) == "SUCCESS"
        talk = client.talk()
        (first,) = talk.ask(simple(1))
        time.sleep(2)
        refused, last = talk.ask(failing(2, 7), simple(3))
        assert talk.end() == []
    assert list(first.raw_output) == [(A + B).tobytes(), (A - B).tobytes()]
    assert [response.meta_data.id for response in (first, refused, last)] == [1, 2, 3]
    assert refused.request_status.msg == "the model refused value 7"


PARTS = {"head": b"POST", "body": head("Content-Length: 128") + BODY[:64]}
#: Proxy, part of a request, and the bytes that follow it each fifth of a second.
UPLOADS = [
    *((proxy, part, b"") for proxy in (behind_nginx, behind_envoy) for part in PARTS),
    (behind_nginx, "head", b"P"),
    (behind_envoy, "head", b"P"),
    (behind_envoy, "body", b"\0"),  # nginx keeps such a body, and no gateway has a part of it
]


@pytest.mark.parametrize(("behind_proxy", "part", "more"), UPLOADS)
def test_slow_uploads_end_at_the_proxy(
    pair: Pair, tmp_path: Path, behind_proxy: Callable[..., Any], part: str, more: bytes
) -> None:
    """The proxy ends a request whose head or body stops, or arrives byte by byte.

    Other clients are answered.
    """
    with behind_proxy(tmp_path, pair, client_time="1s") as (http, _):
        client = Raw(http, PARTS[part])
        assert infer(http, "simple", SIMPLE, BODY).code == 200
        with ThreadPoolExecutor(1) as pool:
            rest = pool.submit(client.rest)
            for _ in range(40):
                if rest.done():
                    break
                with suppress(OSError):
                    client.send(more)
                time.sleep(0.2)
            assert rest.done(), "the proxy reads on"
        assert rest.result() == b"" or rest.result().startswith(b"HTTP/1.1 408 ")
        client.close()


def test_a_gateway_that_fails(pair: Pair, front: Front) -> None:
    """The other gateway answers all requests after a gateway has died."""
    pair.gateways[0].process.kill()
    pair.gateways[0].process.wait()
    try:
        assert {infer(front.http, "simple", SIMPLE, BODY).code for _ in range(20)} == {200}
        for _ in range(5):
            with Client(front.grpc) as client:
                assert client.code(simple()) == "SUCCESS"
    finally:
        pair.start(0)


def test_many_large_bodies(pair: Pair, tmp_path: Path) -> None:
    """A gateway alone keeps all bodies that arrive in memory; nginx sends it complete ones.

    ``limit_conn`` bounds the number of bodies at one time.
    """
    size, count, limit = 20_000_000, 10, 2
    header = (
        f'batch_size: 1 input {{ name: "INPUT0" dims: {size // 4} }} output {{ name: "OUTPUT0" }}'
    )
    start = head(f"Content-Length: {size}", path="/api/infer/identity_fp32", header=header)

    def upload(http: str) -> tuple[int, Counter[int]]:
        """Return the gateways' memory for halves of bodies, and the answers to all bodies."""
        for number in range(2):  # a gateway keeps the memory of earlier bodies
            pair.restart(number)
        before = pair.memory()
        clients = [Raw(http, start + bytes(size // 2)) for _ in range(count)]
        time.sleep(2)  # the gateways have nothing to do, or read
        halves = pair.memory() - before
        codes: Counter[int] = Counter()
        for client in clients:
            client.push(bytes(size - size // 2), PATIENCE)
            codes[client.answer().code] += 1
            client.close()
        return halves, codes

    with behind_nginx(tmp_path, pair) as (http, _):
        halves, codes = upload(http)
        assert halves < size and codes == {200: count}
    with behind_nginx(tmp_path, pair, limit) as (http, _):
        assert upload(http)[1] == {200: limit, 503: count - limit}
    halves, codes = upload(f"127.0.0.1:{pair.http[0]}")
    assert halves > 0.8 * count * size / 2 and codes == {200: count}


def over_http(address: str, _: int) -> str:
    """Return the status of a request that takes a while."""
    return str(infer(address, "slow", SLOW, seconds(0.1)).code)


def over_grpc(address: str, _: int) -> str:
    """Return the code of a request that takes a while."""
    with Client(address) as client:
        return client.code(slow(1, 0.1))


@pytest.mark.parametrize("behind_proxy", [behind_nginx, behind_envoy])
def test_more_requests_than_the_proxy_hands_on(
    pair: Pair, tmp_path: Path, behind_proxy: Callable[..., Any]
) -> None:
    """nginx answers 503, Envoy lets requests wait; later all requests succeed."""
    with behind_proxy(tmp_path, pair, LIMIT) as (http, grpc), ThreadPoolExecutor(CLIENTS) as pool:
        codes = Counter(pool.map(partial(over_http, http), range(CLIENTS)))
        codes_grpc = Counter(pool.map(partial(over_grpc, grpc), range(CLIENTS)))
        after = {infer(http, "simple", SIMPLE, BODY).code for _ in range(8)}
        with Client(grpc) as client:
            after_grpc = {client.code(simple()) for _ in range(8)}
    if behind_proxy is behind_envoy:
        assert (codes, codes_grpc) == ({"200": CLIENTS}, {"SUCCESS": CLIENTS})
    else:
        assert set(codes) == {"200", "503"}
        assert {"SUCCESS", "UNAVAILABLE"} <= set(codes_grpc)
        assert "closed connection" not in (tmp_path / "error.log").read_text("utf-8")
    assert (after, after_grpc) == ({200}, {"SUCCESS"})

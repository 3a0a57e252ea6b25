"""Contexts on a server without model configurations share the known facts of the server."""

from __future__ import annotations

import os
import threading
from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType
from testbed import KServeServer, MLServer, TritonServer
from testbed.process import RunningServer
from tests.oip.test_contexts import RAW
from tests.relays import Relay

ROW = np.arange(16, dtype=np.int32)
BOTH = {"INPUT0": [ROW], "INPUT1": [ROW]}
#: Requests for a context; UNKNOWN: configuration, metadata of the server and of the model.
UNKNOWN, KNOWN = 3, 1
_PREFACE = 24  # bytes before the first frame of HTTP/2
_HEADERS = 1


class CountingRelay(Relay):
    """A relay that counts the requests of both protocols."""

    requests = 0

    def _pass(self, source: Any, sink: Any, counter: str) -> None:
        super()._pass(_Counted(source, self) if counter == "sent" else source, sink, counter)


class _Counted:
    """The client's side of a connection."""

    def __init__(self, source: Any, relay: CountingRelay) -> None:
        self._source, self._relay = source, relay
        self._rest = b""
        self._http2 = False

    def recv(self, size: int) -> bytes:
        """Count the requests that begin in the next bytes, and return the bytes."""
        data: bytes = self._source.recv(size)
        if data.startswith((b"GET ", b"POST ")):
            self._relay.requests += 1
            return data
        self._rest += data
        if not self._http2 and self._rest.startswith(b"PRI "):
            self._http2, self._rest = True, self._rest[_PREFACE:]
        while self._http2 and len(self._rest) >= 9:
            end = 9 + int.from_bytes(self._rest[:3], "big")
            if len(self._rest) < end:
                break
            self._relay.requests += self._rest[3] == _HEADERS
            self._rest = self._rest[end:]
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


@pytest.fixture
def relay() -> Iterator[CountingRelay]:
    """Yield an address behind which the server changes."""
    counting = CountingRelay("127.0.0.1:1")
    with counting:
        yield counting


def new_context(relay: CountingRelay, protocol: int, name: str = "simple", **more: Any) -> Any:
    """Return a new context, and the number of requests that it cost."""
    before = relay.requests
    context = InferContext(relay.address, ProtocolType(protocol), name, **more)
    return context, relay.requests - before


def new_context_after_cut(relay: CountingRelay, protocol: int, **more: Any) -> Any:
    """Make a context after a cut; over gRPC the first attempt may meet the broken connection."""
    try:
        return new_context(relay, protocol, **more)
    except InferenceServerException as broken:
        if "GRPC client failed" not in str(broken):
            raise
    return new_context(relay, protocol, **more)


def test_contexts_cost_one_request(
    relay: CountingRelay, open_server: RunningServer, protocol: int
) -> None:
    """The first context asks for the server's metadata, later contexts for their model alone."""
    relay.lead_to(open_server.url(protocol))
    contexts = [
        new_context(relay, protocol),
        new_context(relay, protocol),
        new_context(relay, protocol, "classify"),
    ]
    assert [count for _, count in contexts] == [UNKNOWN, KNOWN, KNOWN]
    assert contexts[1][0].run(BOTH, {"OUTPUT0": RAW})["OUTPUT0"][0].tolist() == [*range(0, 32, 2)]
    relay.cut()
    again, requests = new_context_after_cut(relay, protocol)
    assert requests == UNKNOWN
    for context in (again, *(context for context, _ in contexts)):
        context.close()


def test_models_that_are_not_there(
    relay: CountingRelay, open_server: RunningServer, protocol: int
) -> None:
    """An unknown model is the same error before and after the server is known."""
    relay.lead_to(open_server.url(protocol))
    text = []
    for _ in range(2):
        with pytest.raises(InferenceServerException) as caught:
            new_context(relay, protocol, "nope")
        text.append(caught.value.message())
        first, _ = new_context(relay, protocol)
    assert text == ["no status available for unknown model 'nope'"] * 2
    first.close()


def test_triton_in_the_place_of_another(
    relay: CountingRelay, open_server: RunningServer, triton: TritonServer, protocol: int
) -> None:
    """When Triton has replaced a server, old and new contexts can do what Triton can."""
    relay.lead_to(open_server.url(protocol))
    before, _ = new_context(relay, protocol)
    before.run(BOTH, {"OUTPUT0": RAW})
    relay.lead_to(triton.url(protocol))
    after, requests = new_context_after_cut(relay, protocol, correlation_id=7)
    assert requests == 1, "the configuration"
    for context in (after, before):
        result = context.run(BOTH, {"OUTPUT0": RAW}, corr_id=7)["OUTPUT0"]
        assert result[0].tolist() == [*range(0, 32, 2)]
        with pytest.raises(InferenceServerException, match="batch-size 9"):
            context.run({"INPUT0": [ROW] * 9, "INPUT1": [ROW] * 9}, {"OUTPUT0": RAW}, batch_size=9)
        context.close()


def test_another_in_the_place_of_triton(
    relay: CountingRelay, open_server: RunningServer, triton: TritonServer, protocol: int
) -> None:
    """When a server has replaced Triton, a new context of a sequence is refused."""
    relay.lead_to(triton.url(protocol))
    before, requests = new_context(relay, protocol)
    assert requests == 1, "Triton is asked nothing but the configuration"
    relay.lead_to(open_server.url(protocol))
    with pytest.raises(InferenceServerException, match="extension sequence"):
        new_context_after_cut(relay, protocol, correlation_id=7)
    before.close()


def test_threads(relay: CountingRelay, mlserver: MLServer, protocol: int) -> None:
    """Contexts that threads make at one time all work, and the server stays known."""
    relay.lead_to(mlserver.url(protocol))
    result: list[Any] = []

    def work() -> None:
        context, _ = new_context(relay, protocol)
        result.append((context.run(BOTH, {"OUTPUT0": RAW})["OUTPUT0"][0].tolist(), context))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [row for row, _ in result] == [[*range(0, 32, 2)]] * 8
    _, requests = new_context(relay, protocol)
    assert requests == KNOWN
    for _, context in result:
        context.close()


def test_forked_child(relay: CountingRelay, kserve: KServeServer, protocol: int) -> None:
    """A forked child asks for the server's metadata itself; its parent still knows them."""
    relay.lead_to(kserve.url(protocol))
    context, _ = new_context(relay, protocol)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _, requests = new_context(relay, protocol)
            code = 0
        finally:
            os._exit(code)
    before = relay.requests
    assert os.waitpid(child, 0)[1] == 0
    assert relay.requests - before == UNKNOWN
    again, requests = new_context(relay, protocol)
    assert requests == KNOWN
    context.close()
    again.close()

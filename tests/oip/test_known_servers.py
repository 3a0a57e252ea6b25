"""What is known of a server without model configurations is shared by all contexts on it."""

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
#: Refused configuration, metadata of the server, metadata of the model.
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
        """Return the next bytes, after the requests that begin in them have been counted."""
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
    one = CountingRelay("127.0.0.1:1")
    with one:
        yield one


def made(relay: CountingRelay, protocol: int, name: str = "simple", **more: Any) -> Any:
    """Return a context, and how many requests it took to make it."""
    before = relay.requests
    context = InferContext(relay.address, ProtocolType(protocol), name, **more)
    return context, relay.requests - before


def made_at_last(relay: CountingRelay, protocol: int, **more: Any) -> Any:
    """Return the same after the connection has been cut, which over gRPC one call may notice."""
    try:
        return made(relay, protocol, **more)
    except InferenceServerException as broken:
        if "GRPC client failed" not in str(broken):
            raise
    return made(relay, protocol, **more)


def test_contexts_cost_one_request(
    relay: CountingRelay, open_server: RunningServer, protocol: int
) -> None:
    """The first context finds out about the server, the next ask for their model alone."""
    relay.lead_to(open_server.url(protocol))
    made_ones = [made(relay, protocol), made(relay, protocol), made(relay, protocol, "classify")]
    assert [asked for _, asked in made_ones] == [UNKNOWN, KNOWN, KNOWN]
    assert made_ones[1][0].run(BOTH, {"OUTPUT0": RAW})["OUTPUT0"][0].tolist() == [*range(0, 32, 2)]
    relay.cut()
    again, asked = made_at_last(relay, protocol)
    assert asked == UNKNOWN
    for context in (again, *(one for one, _ in made_ones)):
        context.close()


def test_models_that_are_not_there(
    relay: CountingRelay, open_server: RunningServer, protocol: int
) -> None:
    """An unknown model is refused as it is when nothing is known of the server."""
    relay.lead_to(open_server.url(protocol))
    text = []
    for _ in range(2):
        with pytest.raises(InferenceServerException) as caught:
            made(relay, protocol, "nope")
        text.append(caught.value.message())
        first, _ = made(relay, protocol)
    assert text == ["no status available for unknown model 'nope'"] * 2
    first.close()


def test_triton_in_the_place_of_another(
    relay: CountingRelay, open_server: RunningServer, triton: TritonServer, protocol: int
) -> None:
    """A context made after the exchange can do what Triton can, and one made before it, too."""
    relay.lead_to(open_server.url(protocol))
    before, _ = made(relay, protocol)
    before.run(BOTH, {"OUTPUT0": RAW})
    relay.lead_to(triton.url(protocol))
    after, asked = made_at_last(relay, protocol, correlation_id=7)
    assert asked == 1, "the configuration"
    for context in (after, before):
        result = context.run(BOTH, {"OUTPUT0": RAW}, corr_id=7)["OUTPUT0"]
        assert result[0].tolist() == [*range(0, 32, 2)]
        with pytest.raises(InferenceServerException, match="batch-size 9"):
            context.run({"INPUT0": [ROW] * 9, "INPUT1": [ROW] * 9}, {"OUTPUT0": RAW}, batch_size=9)
        context.close()


def test_another_in_the_place_of_triton(
    relay: CountingRelay, open_server: RunningServer, triton: TritonServer, protocol: int
) -> None:
    """A context made after the exchange is refused what the new server cannot do."""
    relay.lead_to(triton.url(protocol))
    before, asked = made(relay, protocol)
    assert asked == 1, "Triton is asked nothing but the configuration"
    relay.lead_to(open_server.url(protocol))
    with pytest.raises(InferenceServerException, match="extension sequence"):
        made_at_last(relay, protocol, correlation_id=7)
    before.close()


def test_threads(relay: CountingRelay, mlserver: MLServer, protocol: int) -> None:
    """Contexts that threads make at once all work, and what is known is kept."""
    relay.lead_to(mlserver.url(protocol))
    result: list[Any] = []

    def work() -> None:
        context, _ = made(relay, protocol)
        result.append((context.run(BOTH, {"OUTPUT0": RAW})["OUTPUT0"][0].tolist(), context))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [row for row, _ in result] == [[*range(0, 32, 2)]] * 8
    _, asked = made(relay, protocol)
    assert asked == KNOWN
    for _, context in result:
        context.close()


def test_forked_child(relay: CountingRelay, kserve: KServeServer, protocol: int) -> None:
    """A forked child has a connection of its own and asks for itself; its parent goes on."""
    relay.lead_to(kserve.url(protocol))
    context, _ = made(relay, protocol)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _, asked = made(relay, protocol)
            code = 0
        finally:
            os._exit(code)
    before = relay.requests
    assert os.waitpid(child, 0)[1] == 0
    assert relay.requests - before == UNKNOWN
    again, asked = made(relay, protocol)
    assert asked == KNOWN
    context.close()
    again.close()

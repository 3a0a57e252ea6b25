"""Two gateways that are restarted in turns while clients keep asking."""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Callable, Sequence

from testbed.process import free_ports
from tests.gateway.gateway_process import Client, Gateway
from tests.gateway.grpc_requests import BODY, SIMPLE, simple

#: Seconds that a connection may rest before its client makes a new connection. It is less than the
#: --drain of the gateways in the tests.
LONGEST_REST = 1.0

#: Sends a request; raises an error unless the answer is a success.
Ask = Callable[[], None]


class Clients:
    """Clients that send requests until ``end`` is called and ``least`` requests are answered."""

    def __init__(self, makers: Sequence[Callable[[], Ask]], least: int) -> None:
        self.answered = 0
        self.lost: list[str] = []
        self._least = least
        self._may_end = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(make,)) for make in makers]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let the clients end, and wait for them."""
        self._may_end.set()
        for thread in self._threads:
            thread.join()

    def _run(self, make: Callable[[], Ask]) -> None:
        ask = make()
        while not self._may_end.is_set() or self.answered < self._least:
            try:
                ask()
            except (AssertionError, OSError, HTTPException) as error:
                with self._lock:
                    self.lost.append(repr(error))
                ask = make()
            with self._lock:
                self.answered += 1


def over_http(*addresses: str) -> Ask:
    """Return a client that keeps its connection until it rests too long or is closed.

    Each side of HTTP may close a connection that rests. So a client whose thread has waited long
    for the processor makes a new connection. A gateway that closes its listener resets a client
    that is connecting, and has read nothing: the client asks the other gateway, as if refused.
    """
    kept: list[tuple[float, HTTPConnection]] = []

    def reused() -> HTTPConnection | None:
        since, connection = kept.pop()
        if time.monotonic() - since < LONGEST_REST:
            return connection
        connection.close()
        return None

    def response_of(connection: HTTPConnection) -> HTTPResponse:
        connection.request("POST", "/api/infer/simple", BODY, {"NV-InferRequest": SIMPLE})
        return connection.getresponse()

    def ask() -> None:
        connection = kept and reused()
        if connection:
            response = response_of(connection)
        else:
            connection = _connected(addresses)
            try:
                response = response_of(connection)
            except ConnectionError:
                if len(addresses) == 1:  # a proxy
                    raise
                connection = _connected(addresses)
                response = response_of(connection)
        text = response.read()
        assert response.status == 200, (response.status, text[:200])
        if connection.sock is not None:  # it is None after "Connection: close"
            kept.append((time.monotonic(), connection))

    return ask


def _connected(addresses: tuple[str, ...]) -> HTTPConnection:
    """Connect to the first address that accepts connections. Wait some time for it."""
    end = time.monotonic() + 20
    for address in itertools.cycle(addresses):
        connection = HTTPConnection(address, timeout=60)
        with suppress(ConnectionRefusedError, ConnectionResetError):
            connection.connect()
            return connection
        if time.monotonic() > end:
            break
    raise ConnectionRefusedError(f"nobody listens at {', '.join(addresses)}")


def over_grpc(*addresses: str) -> Ask:
    """Return a gRPC client with a new connection."""
    client = Client(f"ipv4:{','.join(addresses)}")

    def ask() -> None:
        code = client.code(simple(1))
        assert code == "SUCCESS", code

    return ask


class Pair:
    """Two gateways at fixed addresses."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        ports = [free_ports()[0] for _ in range(4)]
        self.http, self.grpc = ports[:2], ports[2:]
        self.gateways: dict[int, Gateway] = {}
        for number in range(2):
            self.start(number)

    def start(self, number: int) -> None:
        """Start a gateway."""
        addresses = f"127.0.0.1:{self.http[number]}", f"127.0.0.1:{self.grpc[number]}"
        self.gateways[number] = Gateway(
            "--http", addresses[0], "--grpc", addresses[1], *self._arguments
        )

    def restart(self, number: int) -> None:
        """Stop a gateway and start it again."""
        assert self.gateways[number].stop() == 0
        self.start(number)

    def memory(self) -> int:
        """Return the bytes of memory that both use."""
        return 1024 * sum(gateway.figure("VmRSS") for gateway in self.gateways.values())

    def stop(self) -> None:
        """Stop both."""
        for gateway in self.gateways.values():
            gateway.stop()

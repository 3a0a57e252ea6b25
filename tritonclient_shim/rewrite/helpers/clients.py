"""Clients: protocols, headers, threads, the last request, and what errors tell."""

from __future__ import annotations

import enum
import functools
import itertools
import sys
import threading
import time
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException

#: Module of a protocol, by its name or by the number that it had.
CLIENTS: dict[Any, Any] = {"http": httpclient, "grpc": grpcclient, 0: httpclient, 1: grpcclient}

Done = Callable[[Any, Any], None]
FLAG_NONE, FLAG_SEQUENCE_START, FLAG_SEQUENCE_END = 0, 1, 2


class ProtocolType(enum.IntEnum):
    """The protocols, by the names and numbers that they had."""

    HTTP = 0
    GRPC = 1

    @classmethod
    def from_str(cls, text: str) -> ProtocolType:
        """Return the protocol of a name in any case."""
        return cls[text.upper()]

    def __str__(self) -> str:
        return f"ProtocolType.{self.name}"


def signed_id(number: int) -> int:
    """Return a sequence id of 64 bits as the signed number that gRPC takes."""
    return int(number) - 2**64 if number >= 2**63 else int(number)


def sequence_flags(flags: int) -> dict[str, bool]:
    """Return the arguments of `infer` for the flags of a request."""
    return {"sequence_start": bool(flags & 1), "sequence_end": bool(flags & 2)}


def version_text(version: int | None) -> str:
    """Return the version of a model as text, '' for the latest."""
    return "" if version is None or int(version) < 0 else str(int(version))


def with_headers(client: Any, texts: Sequence[str | bytes] | None) -> Any:
    """Return the client, which sends headers such as "Name: value" from now on."""
    lines = [text.decode() if isinstance(text, bytes) else text for text in texts or ()]
    pairs = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs if value.strip()}
    client.register_plugin(lambda request: request.headers.update(headers))
    return client


class ThreadedClient:
    """An HTTP client for several threads, with one connection for each of them."""

    module = httpclient

    def __init__(self, url: str, headers: Any = None, **options: Any) -> None:
        self._make = functools.partial(httpclient.InferenceServerClient, url, **options)
        self._headers, self._own = headers, threading.local()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not hasattr(self._own, "client"):
            self._own.client = with_headers(self._make(), self._headers)
        return getattr(self._own.client, name)

    def __enter__(self) -> ThreadedClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def connect(module: Any, url: str, headers: Any = None, **options: Any) -> Any:
    """Return a client that several threads may use."""
    if module is httpclient:
        return ThreadedClient(url, headers, **options)
    return with_headers(module.InferenceServerClient(url, **options), headers)


class LastRequest(NamedTuple):
    """The last request of a client: its number in this program, and the model that answered."""

    number: int | None = None
    model_name: str | None = None
    model_version: int | None = None


_request_numbers = itertools.count(1)


def next_number() -> int:
    """Return the next number of this program's requests: a server numbers none."""
    return next(_request_numbers)


class RememberingClient:
    """A client that remembers its last request, and how long its requests took."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.last = LastRequest()
        self._count = self._nanoseconds = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def __enter__(self) -> RememberingClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.client.close()

    def infer(self, *arguments: Any, **options: Any) -> Any:
        """Infer, and remember the request."""
        self.last, started = LastRequest(), time.perf_counter_ns()
        return self._remember(self.client.infer(*arguments, **options), started)

    def async_infer(self, name: str, inputs: Any, callback: Any, **options: Any) -> Any:
        """Start a request, and remember it when it is done."""
        return self.client.async_infer(name, inputs, self._noting(callback), **options)

    def start_stream(self, callback: Any, **options: Any) -> None:
        """Open a stream, and remember what it answers."""
        self.client.start_stream(self._noting(callback), **options)

    def request_stat(self) -> dict[str, int]:
        """Return the number of requests that were answered, and the time that they took."""
        return {
            "completed_request_count": self._count,
            "cumulative_total_request_time_ns": self._nanoseconds,
            "cumulative_send_time_ns": 0,  # no client measures sending and receiving
            "cumulative_receive_time_ns": 0,
        }

    def _noting(self, callback: Done) -> Done:
        started = time.perf_counter_ns()

        def done(result: Any, error: Any) -> None:
            if result is not None:
                self._remember(result, started)
            callback(result, error)

        return done

    def _remember(self, result: Any, started: int) -> Any:
        answer = result.get_response()
        if not isinstance(answer, dict):
            answer = {"model_name": answer.model_name, "model_version": answer.model_version}
        name, version = answer["model_name"], int(answer["model_version"])
        self.last = LastRequest(next(_request_numbers), name, version)
        self._count += 1
        self._nanoseconds += time.perf_counter_ns() - started
        return result


def module_of(client: Any) -> Any:
    """Return tritonclient.grpc or tritonclient.http, whichever the client is from."""
    wrapped = getattr(client, "client", client)
    own = type(wrapped).__module__.partition("._")[0]
    return getattr(wrapped, "module", None) or sys.modules[own]


def message_of(error: Exception) -> str:
    """Return what an error says; over HTTP that of a connection is an OSError."""
    return str(error.message() if isinstance(error, InferenceServerException) else error)


def server_id_of(error: Exception) -> str:
    """Return the name of the server that raised an error, '' if none has answered."""
    status = error.status() if isinstance(error, InferenceServerException) else None
    return "" if status in (None, "StatusCode.UNAVAILABLE") else "triton"


def request_id_of(error: Exception) -> int:
    """Return 0: a server does not number its requests any more."""
    return 0


def _iterator(name: str) -> Callable[[Mapping[Any, Any]], Iterator[Any]]:
    return lambda mapping: iter(getattr(mapping, name)())


iteritems, itervalues, iterkeys = _iterator("items"), _iterator("values"), _iterator("keys")

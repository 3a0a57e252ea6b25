"""Clients: protocols, headers, threads, the last request, and what errors tell."""

from __future__ import annotations

import enum
import itertools
import threading
import time
from typing import Any, NamedTuple

import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException

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


def version_text(version: Any) -> str:
    """Return the version of a model as text, '' for the latest."""
    return "" if version is None or int(version) < 0 else str(int(version))


def with_headers(client: Any, texts: Any) -> Any:
    """Return the client, which sends headers such as "Name: value" from now on."""
    lines = [text.decode() if isinstance(text, bytes) else text for text in texts or ()]
    pairs = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs if value.strip()}
    client.register_plugin(lambda request: request.headers.update(headers))
    return client


class ThreadClient(threading.local, httpclient.InferenceServerClient):
    """A client with a connection for each thread, which tritonclient.http needs."""

    def __init__(self, url: str, headers: Any = None, **options: Any) -> None:
        httpclient.InferenceServerClient.__init__(self, url, **options)
        with_headers(self, headers)


def connect(protocol: Any, url: str, headers: Any = None, **options: Any) -> Any:
    """Return a client for a protocol, by its name or by the number that it had."""
    if protocol in ("http", 0):
        return ThreadClient(url, headers, **options)
    return with_headers(grpcclient.InferenceServerClient(url, **options), headers)


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
        self.client, self.last, self.stat = client, LastRequest(), [0, 0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def __enter__(self) -> RememberingClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.client.close()

    def infer(self, *arguments: Any, **options: Any) -> Any:
        """Infer, and remember the request."""
        self.last, started = LastRequest(), time.perf_counter_ns()
        result = self.client.infer(*arguments, **options)
        self.stat = [self.stat[0] + 1, self.stat[1] + time.perf_counter_ns() - started]
        reply = result.get_response()
        names = ("model_name", "model_version")
        is_dict = isinstance(reply, dict)  # over HTTP
        name, version = (reply[key] if is_dict else getattr(reply, key) for key in names)
        self.last = LastRequest(next_number(), name, int(version))
        return result

    def request_stat(self) -> dict[str, int]:
        """Return the number of requests that were answered, and the time that they took."""
        return {
            "completed_request_count": self.stat[0],
            "cumulative_total_request_time_ns": self.stat[1],
            "cumulative_send_time_ns": 0,  # no client measures sending and receiving
            "cumulative_receive_time_ns": 0,
        }


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


def iteritems(mapping: Any) -> Any:
    """Return the items of a mapping."""
    return iter(mapping.items())


def itervalues(mapping: Any) -> Any:
    """Return the values of a mapping."""
    return iter(mapping.values())


def iterkeys(mapping: Any) -> Any:
    """Return the keys of a mapping."""
    return iter(mapping)

"""Clients: protocols, headers, threads, the last request, and what errors tell."""

import threading
import time
import types

import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException

FLAG_NONE, FLAG_SEQUENCE_START, FLAG_SEQUENCE_END = 0, 1, 2


def with_headers(client, texts):
    """Return the client, which sends headers such as "Name: value" from now on."""
    lines = [text.decode() if isinstance(text, bytes) else text for text in texts or ()]
    pairs = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs if value.strip()}
    client.register_plugin(lambda request: request.headers.update(headers))
    return client


class ThreadClient(threading.local, httpclient.InferenceServerClient):
    """A client with a connection for each thread, which tritonclient.http needs."""

    def __init__(self, url, headers=None, **options):
        httpclient.InferenceServerClient.__init__(self, url, **options)
        with_headers(self, headers)


def connect(protocol, url, headers=None, **options):
    """Return a client for a protocol, by its name or by the number that it had."""
    if protocol in ("http", 0):
        return ThreadClient(url, headers, **options)
    return with_headers(grpcclient.InferenceServerClient(url, **options), headers)


class RememberingClient:
    """A client that remembers the last reply, and how long its requests took."""

    def __init__(self, client):
        self.client, self.last, self.count, self.duration = client, None, 0, 0

    def __getattr__(self, name):
        return getattr(self.client, name)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.client.close()

    def infer(self, *arguments, **options):
        """Infer, and remember the reply."""
        self.last, started = None, time.perf_counter_ns()
        result = self.client.infer(*arguments, **options)
        self.count, self.duration = self.count + 1, self.duration + time.perf_counter_ns() - started
        self.last = result.get_response()
        return result


def last_model(client):
    """Return name and version of the model that answered last, None and None before that."""
    last = client.last
    if isinstance(last, dict):  # over HTTP
        last = types.SimpleNamespace(**last)
    return (last.model_name, int(last.model_version)) if last else (None, None)


def request_stat(client):
    """Return the number of requests that were answered, and the time that they took."""
    return {
        "completed_request_count": client.count,
        "cumulative_total_request_time_ns": client.duration,
        "cumulative_send_time_ns": 0,  # no client measures sending and receiving
        "cumulative_receive_time_ns": 0,
    }


def message_of(error):
    """Return what an error says; over HTTP that of a connection is an OSError."""
    return str(error.message() if isinstance(error, InferenceServerException) else error)

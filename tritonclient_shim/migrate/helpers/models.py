"""Objects that know their model, and clients that report on their requests."""

import itertools
import time
import types

from tritonclient_shim.migrate.helpers.requests import (
    FLAG_SEQUENCE_END,
    FLAG_SEQUENCE_START,
    cached_config,
    connect,
    infer,
    protocol_of,
    version_name,
)


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def __init__(self, client, name, **options):
        self.client = RecordingClient(client)
        self.name = name
        self.options = options
        cached_config(self.client, name)  # raises an error if the server lacks the model

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()

    def run(self, inputs, outputs, batch_size=1, flags=0, corr_id=0, priority=0, timeout_us=None):
        """Infer with an array for each entry of the batch."""
        if corr_id:  # it is that of later requests, too
            self.options["sequence_id"] = int(corr_id)
        options = {**self.options, "priority": priority, "timeout": timeout_us}
        options["sequence_start"] = bool(flags & FLAG_SEQUENCE_START)
        options["sequence_end"] = bool(flags & FLAG_SEQUENCE_END)
        return infer(self.client, self.name, inputs, outputs, **options)

    def correlation_id(self):
        """Return the sequence of the requests, 0 for none."""
        return self.options.get("sequence_id", 0)

    def get_last_request_model_name(self):
        """Return the name of the model that answered last, None for none."""
        reply = self.client.last_reply
        return reply.model_name if reply else None

    def get_last_request_model_version(self):
        """Return the version of the model that answered last, None for none."""
        reply = self.client.last_reply
        return int(reply.model_version) if reply else None

    def get_last_request_id(self):
        """Return the number of the last request, 0 before it, None if it failed."""
        return self.client.last_id

    def get_stat(self):
        """Return the number of requests that were answered, and the time that they took."""
        return {
            "completed_request_count": self.client.count,
            "cumulative_total_request_time_ns": self.client.duration,
            "cumulative_send_time_ns": 0,  # no client measures sending and receiving
            "cumulative_receive_time_ns": 0,
        }

    def close(self):
        """Close the client."""
        self.client.close()


def infer_model(
    url,
    protocol,
    model_name,
    model_version=None,
    verbose=False,
    correlation_id=0,
    streaming=False,
    http_headers=None,
):
    """Return an InferModel, by the arguments of the context that it replaces. No stream opens."""
    client = connect(protocol_of(protocol), url, http_headers, verbose=verbose)
    options = {"model_version": version_name(model_version), "sequence_id": int(correlation_id)}
    return InferModel(client, model_name, **options)


class RecordingClient:
    """A client that records its requests."""

    numbers = itertools.count(1)  # of the requests of all clients

    def __init__(self, client):
        self.client = client
        self.last_reply = None
        self.last_id = 0
        self.count = 0
        self.duration = 0

    def __getattr__(self, name):
        return getattr(self.client, name)

    def infer(self, *arguments, **options):
        """Infer, and record the reply."""
        self.last_reply = None
        self.last_id = None
        started = time.perf_counter_ns()
        result = self.client.infer(*arguments, **options)
        self.duration += time.perf_counter_ns() - started
        self.count += 1
        self.last_id = next(self.numbers)
        reply = result.get_response()
        self.last_reply = types.SimpleNamespace(**reply) if isinstance(reply, dict) else reply
        return result

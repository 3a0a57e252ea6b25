"""Objects that know their model, and a pool of requests that are waited for."""

import itertools
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.requests import (
    RememberingClient,
    connect,
    infer,
    last_model,
    request_stat,
)


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def __init__(self, client, name, function=infer, **options):
        self.client, self.name, self.function, self.options = client, name, function, options
        client.get_model_config(name)  # raises an error if the server lacks the model

    def run(self, inputs, outputs, batch_size=1, flags=0, corr_id=0, priority=0, timeout_us=None):
        """Infer with an array for each entry of the batch."""
        if corr_id:  # it is that of later requests, too
            self.options["sequence_id"] = int(corr_id)
        options = {**self.options, "priority": priority, "timeout": timeout_us}
        options.update(sequence_start=bool(flags & 1), sequence_end=bool(flags & 2))
        return self.function(self.client, self.name, inputs, outputs, **options)

    def correlation_id(self):
        """Return the sequence of the requests, 0 for none."""
        return self.options.get("sequence_id", 0)

    def close(self):
        """Close the client."""
        if self.client is not None:
            self.client.close()
        self.client = None

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()


class AskedModel(InferModel):
    """An InferModel that reports on its requests."""

    def __init__(self, client, name, function=infer, **options):
        super().__init__(RememberingClient(client), name, function, **options)

    def get_last_request_model_name(self):
        """Return the name of the model that answered last, None for none."""
        return last_model(self.client)[0]

    def get_last_request_model_version(self):
        """Return the version of the model that answered last, None for none."""
        return last_model(self.client)[1]

    def get_last_request_id(self):
        """Return the number of the last request, 0 before it, None if it failed."""
        return self.client.last_id

    def get_stat(self):
        """Return the number of requests that were answered, and the time that they took."""
        return request_stat(self.client)


def model_of(
    url,
    protocol,
    model_name,
    model_version=None,
    verbose=False,
    correlation_id=0,
    streaming=False,
    http_headers=(),
    function=infer,
):
    """Return an InferModel from the arguments of the context that it replaces."""
    options = {"model_version": "" if model_version in (None, -1) else str(model_version)}
    options["sequence_id"] = int(correlation_id)
    client = connect(protocol, url, http_headers, verbose=bool(verbose))
    return InferModel(client, model_name, function, **options)


class RequestPool(ThreadPoolExecutor):
    """A pool whose futures have numbers, and that keeps those that were not fetched."""

    numbers = itertools.count(1)
    sent = []

    def submit(self, *arguments, **options):
        """Call a function in a thread."""
        future = super().submit(*arguments, **options)
        vars(future)["number"] = next(self.numbers)
        self.sent.append(future)
        return future


def ready(pool, waits=True):
    """Return a future that is done and was not fetched, None for none."""
    if not pool.sent:
        raise InferenceServerException("No asynchronous requests have been sent")
    done = wait(pool.sent, None if waits else 0, FIRST_COMPLETED).done
    return next((future for future in pool.sent if future in done), None)


def fetch(pool, future):
    """Return the result of a future, once."""
    if future not in pool.sent:
        message = "The request ID doesn't match any existing asynchronous requests"
        raise InferenceServerException(message)
    pool.sent.remove(future)
    return future.result()

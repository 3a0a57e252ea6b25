"""Objects that know their model, where a call of a function would not, and numbered requests."""

import itertools
from concurrent.futures import ThreadPoolExecutor

from tritonclient_shim.rewrite.helpers.requests import infer


class InferModel:
    """A client that knows its model, with the methods of the context that it replaces."""

    def __init__(self, client, name, function=infer, **options):
        self.client, self.name, self.function, self.options = client, name, function, options
        client.get_model_config(name)  # raises an error if the server lacks the model

    def run(self, inputs, outputs, batch_size=1, flags=0, corr_id=0, priority=0, timeout_us=None):
        """Infer with an array for each entry of the batch."""
        options = {**self.options, "priority": priority, "timeout": timeout_us}
        options["sequence_id"] = int(corr_id or self.correlation_id())
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


class NumberedPool(ThreadPoolExecutor):
    """A pool whose futures have numbers, in the order of the calls."""

    numbers = itertools.count(1)

    def submit(self, *arguments, **options):
        """Call a function in a thread."""
        future = super().submit(*arguments, **options)
        vars(future)["number"] = next(self.numbers)
        return future

"""Objects that know their model, where a call of a function would not."""

from concurrent.futures import ThreadPoolExecutor

from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.asynchronous import ready_request, run_results, start
from tritonclient_shim.rewrite.helpers.clients import (
    RememberingClient,
    connect,
    request_stat,
    version_text,
)
from tritonclient_shim.rewrite.helpers.memory import infer_in_regions
from tritonclient_shim.rewrite.helpers.requests import (
    class_counts,
    fitted,
    infer_classes,
    infer_exactly,
    model_config,
)


def check_batch(inputs, batch_size):
    """Raise an error if an input has not one array for each entry of the batch."""
    for name, rows in inputs.items():
        if len(rows) != batch_size:
            text = f"input '{name}' has {len(rows)} arrays, expected the batch size, {batch_size}"
            raise InferenceServerException(text)


class InferModel:
    """A model on a server: a client, and what each request has besides."""

    def __init__(
        self,
        url,
        protocol,
        model_name,
        model_version=None,
        verbose=False,
        correlation_id=0,
        streaming=False,
        http_headers=None,
    ):
        address = url.rpartition("://")[2]
        self.client = connect(protocol, address, http_headers, verbose=bool(verbose))
        self.name, self.version = model_name, version_text(model_version)
        self.sequence = int(correlation_id or 0)
        model_config(self.client, model_name)  # raises an error if the server lacks the model

    def run(self, inputs, outputs, batch_size=1, *rest, **named):
        """Infer with an array for each entry of the batch."""
        check_batch(inputs, batch_size)
        options = self.options(*rest, **named)
        return infer_exactly(self.client, self.name, inputs, outputs, **options)

    def options(self, flags=0, corr_id=0, priority=0, timeout_us=0):
        """Return the options of a request as those of tritonclient."""
        number = int(corr_id or self.sequence)
        if number >= 2**63 and "grpc" in self.client.get_model_config.__module__:
            number -= 2**64  # gRPC's ids are signed
        options = {"model_version": self.version, "sequence_id": number}
        options.update(sequence_start=bool(flags & 1), sequence_end=bool(flags & 2))
        return {**options, "priority": priority, "timeout": timeout_us or None}

    def correlation_id(self):
        """Return the sequence of the requests, 0 for none."""
        return self.sequence

    def close(self):
        """Close the client."""
        self.client.close()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()


class ClassModel(InferModel):
    """A model whose outputs can be classes."""

    def run(self, inputs, outputs, batch_size=1, *rest, **named):
        """Infer; outputs have the forms that programs had."""
        check_batch(inputs, batch_size)
        options, counts = self.options(*rest, **named), class_counts(outputs)
        inputs = fitted(self.client, self.name, inputs)
        return infer_classes(self.client, self.name, inputs, counts, **options)


class FullModel(ClassModel):
    """A model with asynchronous requests, which remembers its last request."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.client = RememberingClient(self.client)
        self.pool = ThreadPoolExecutor(1)  # requests of a sequence stay in their order

    def async_run(self, *arguments, callback=None, **named):
        """Start a request; its number is returned, or goes to the callback, the first argument."""
        if arguments and callable(arguments[0]):
            callback, *arguments = arguments
        return start(type(self).run, self, callback, *arguments, **named)

    async_run_with_cb = async_run
    get_async_run_results = run_results
    get_ready_async_request = ready_request

    def get_stat(self):
        """Return how many requests were answered, and the time that they took."""
        return request_stat(self.client)

    def get_last_request_id(self):
        """Return the number of the last request in this program."""
        return self.client.last.number

    def get_last_request_model_name(self):
        """Return the model that answered the last request."""
        return self.client.last.model_name

    def get_last_request_model_version(self):
        """Return the version of the model that answered the last request."""
        return self.client.last.model_version


class RegionModel(FullModel):
    """A model whose tensors can be in shared memory."""

    def run(self, inputs, outputs, batch_size=1, *rest, **named):
        """Infer, also with regions of shared memory."""
        options, counts = self.options(*rest, **named), class_counts(outputs)
        return infer_in_regions(self.client, self.name, inputs, counts, batch_size, **options)

"""Objects that know their model, where a call of a function would not."""

from __future__ import annotations

from typing import Any

from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.asynchronous import ready_request, run_results, start
from tritonclient_shim.rewrite.helpers.clients import RememberingClient, connect, version_text
from tritonclient_shim.rewrite.helpers.memory import infer_in_regions
from tritonclient_shim.rewrite.helpers.requests import (
    class_counts,
    fitted,
    infer_classes,
    infer_exactly,
    takes_batches,
)


def check_batch(inputs: Any, batch_size: int) -> None:
    """Raise an error if an input has not one array for each entry of the batch."""
    for name, rows in inputs.items():
        if len(rows) != batch_size:
            text = f"input '{name}' has {len(rows)} arrays, expected the batch size, {batch_size}"
            raise InferenceServerException(text)


class InferModel:
    """A model on a server: a client, and what each request has besides."""

    def __init__(
        self,
        url: str,
        protocol: Any,
        model_name: str,
        model_version: Any = None,
        verbose: Any = False,
        correlation_id: int = 0,
        streaming: Any = False,
        http_headers: Any = None,
    ) -> None:
        address = url.rpartition("://")[2]
        self.client = connect(protocol, address, http_headers, verbose=bool(verbose))
        self.name, self.version = model_name, version_text(model_version)
        self.sequence = int(correlation_id or 0)
        takes_batches(self.client, model_name)  # raises an error if the server lacks the model

    def run(self, inputs: Any, outputs: Any, batch_size: int = 1, *rest: Any, **named: Any) -> Any:
        """Infer with an array for each entry of the batch."""
        check_batch(inputs, batch_size)
        options = self.options(*rest, **named)
        return infer_exactly(self.client, self.name, inputs, outputs, **options)

    def options(
        self, flags: int = 0, corr_id: int = 0, priority: int = 0, timeout_us: int = 0
    ) -> dict[str, Any]:
        """Return the options of a request as those of tritonclient."""
        number = int(corr_id or self.sequence)
        if number >= 2**63 and "grpc" in self.client.get_model_config.__module__:
            number -= 2**64  # gRPC's ids are signed
        options: dict[str, Any] = {"model_version": self.version, "sequence_id": number}
        options.update(sequence_start=bool(flags & 1), sequence_end=bool(flags & 2))
        return {**options, "priority": priority, "timeout": timeout_us or None}

    def correlation_id(self) -> int:
        """Return the sequence of the requests, 0 for none."""
        return self.sequence

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class ClassModel(InferModel):
    """A model whose outputs can be classes."""

    def run(self, inputs: Any, outputs: Any, batch_size: int = 1, *rest: Any, **named: Any) -> Any:
        """Infer; outputs have the forms that programs had."""
        check_batch(inputs, batch_size)
        options, counts = self.options(*rest, **named), class_counts(outputs)
        inputs = fitted(self.client, self.name, inputs)
        return infer_classes(self.client, self.name, inputs, counts, **options)


class FullModel(ClassModel):
    """A model with asynchronous requests, which remembers its last request."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.client = RememberingClient(self.client)

    def async_run(self, *arguments: Any, callback: Any = None, **named: Any) -> int | None:
        """Start a request; its number is returned, or goes to the callback, the first argument."""
        if arguments and callable(arguments[0]):
            callback, *arguments = arguments  # type: ignore[assignment]
        return start(type(self).run, self, callback, *arguments, **named)

    async_run_with_cb = async_run
    get_async_run_results = run_results
    get_ready_async_request = ready_request

    def get_stat(self) -> Any:
        """Return how many requests were answered, and the time that they took."""
        return self.client.request_stat()

    def get_last_request_id(self) -> Any:
        """Return the number of the last request in this program."""
        return self.client.last.number

    def get_last_request_model_name(self) -> Any:
        """Return the model that answered the last request."""
        return self.client.last.model_name

    def get_last_request_model_version(self) -> Any:
        """Return the version of the model that answered the last request."""
        return self.client.last.model_version


class RegionModel(FullModel):
    """A model whose tensors can be in shared memory."""

    def run(self, inputs: Any, outputs: Any, batch_size: int = 1, *rest: Any, **named: Any) -> Any:
        """Infer, also with regions of shared memory."""
        options, counts = self.options(*rest, **named), class_counts(outputs)
        return infer_in_regions(self.client, self.name, inputs, counts, batch_size, **options)

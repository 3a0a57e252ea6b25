"""Objects that know their model, where a call of a function would not."""

from __future__ import annotations

from typing import Any

import tritonclient.grpc as grpcclient
from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.asynchronous import (
    ready_request,
    run_results,
    send,
    send_on_stream,
    start_run,
)
from tritonclient_shim.rewrite.helpers.clients import (
    CLIENTS,
    RememberingClient,
    connect,
    module_of,
    sequence_flags,
    signed_id,
    version_text,
)
from tritonclient_shim.rewrite.helpers.memory import Region, run_in_regions
from tritonclient_shim.rewrite.helpers.requests import class_counts, config_of, run_model


def check_batch(inputs: Any, batch_size: int) -> None:
    """Raise an error if an input has not one array for each entry of the batch."""
    for name, rows in inputs.items():
        if len(rows) != batch_size:
            text = f"input '{name}' has {len(rows)} arrays, expected the batch size, {batch_size}"
            raise InferenceServerException(text)


class InferModel:
    """A model on a server: a client, the model's name, and what each request has besides."""

    def __init__(
        self,
        url: str,
        protocol: Any,
        model_name: str,
        model_version: int | None = None,
        verbose: Any = False,
        correlation_id: int = 0,
        streaming: Any = False,
        http_headers: Any = None,
    ) -> None:
        address = url.rpartition("://")[2]
        self.client = connect(CLIENTS[protocol], address, http_headers, verbose=bool(verbose))
        self.name, self.stream = model_name, bool(streaming)
        self._version, self._sequence = version_text(model_version), int(correlation_id or 0)
        config_of(self.client, model_name)  # raises an error if the server lacks the model

    def run(self, inputs: Any, outputs: Any, *options: Any, **named: Any) -> dict[str, list[Any]]:
        """Infer; the options are `batch_size, flags, corr_id, priority, timeout_us`."""
        arguments = self.arguments(*options, **named)
        check_batch(inputs, named.get("batch_size", options[0] if options else 1))
        return run_model(self.client, self.name, inputs, class_counts(outputs), **arguments)

    def arguments(
        self,
        batch_size: int = 1,
        flags: int = 0,
        corr_id: int = 0,
        priority: int = 0,
        timeout_us: int = 0,
    ) -> dict[str, Any]:
        """Return the arguments of `infer` for the options of a request."""
        arguments: dict[str, Any] = {"model_version": self._version} if self._version else {}
        sequence = int(corr_id or self._sequence)
        if sequence:
            number = signed_id(sequence) if module_of(self.client) is grpcclient else sequence
            arguments.update(sequence_flags(flags), sequence_id=number)
        arguments.update({"priority": priority} if priority else {})
        return {**arguments, **({"timeout": timeout_us} if timeout_us else {})}

    def correlation_id(self) -> int:
        """Return the sequence of the requests, 0 for none."""
        return self._sequence

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class FullModel(InferModel):
    """A model with asynchronous requests, which remembers its last request."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.client = RememberingClient(self.client)

    def async_run(self, *arguments: Any, callback: Any = None, **named: Any) -> int | None:
        """Start a request: `callback, inputs, outputs`, or without the callback, and options."""
        if arguments and callable(arguments[0]):
            callback, *arguments = arguments  # type: ignore[assignment]
        values = dict(zip(("inputs", "outputs"), arguments), **named)
        inputs, outputs = values.pop("inputs"), class_counts(values.pop("outputs"))
        return start_run(
            *(self.client, self.name, callback, inputs, outputs, self),
            send=send_on_stream if self.stream else send,
            **self.arguments(*arguments[2:], **values),
        )

    async_run_with_cb = async_run

    def get_async_run_results(self, number: int, wait: bool = True) -> Any:
        """Return the results of a request; None if it runs and `wait` is false."""
        return run_results(self.client, number, wait)

    def get_ready_async_request(self, wait: bool = True) -> int | None:
        """Return the number of a request that is done."""
        return ready_request(self.client, wait)

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


def _is_plain(rows: Any) -> bool:
    return not isinstance(rows, Region) and not (rows and isinstance(rows[0], Region))


class RegionModel(FullModel):
    """A model whose tensors can be in shared memory."""

    def run(self, inputs: Any, outputs: Any, *options: Any, **named: Any) -> dict[str, list[Any]]:
        """Infer, also with regions of shared memory."""
        size = named.get("batch_size", options[0] if options else 1)
        check_batch({name: rows for name, rows in inputs.items() if _is_plain(rows)}, size)
        arguments = self.arguments(*options, **named)
        counts = class_counts(outputs)
        return run_in_regions(self.client, self.name, inputs, counts, size, **arguments)

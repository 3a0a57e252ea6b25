"""Asynchronous requests, which have numbers."""

from __future__ import annotations

import collections
import functools
import itertools
import threading
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterator, Mapping

from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.clients import Done, module_of
from tritonclient_shim.rewrite.helpers.requests import (
    Rows,
    config_of,
    infer_inputs,
    requested_outputs,
    results_of,
)

_pool = ThreadPoolExecutor(4)
_sequences = ThreadPoolExecutor(1)  # keeps the requests of a sequence in their order


def send(client: Any, done: Done, *arguments: Any, **options: Any) -> None:
    """Send a request; call `done` with its result and its error, one of them None."""
    if module_of(client).__name__ == "tritonclient.grpc":
        client.async_infer(*arguments, done, **options)
        return

    def infer() -> None:
        try:
            result, error = client.infer(*arguments, **options), None
        except Exception as raised:
            result, error = None, raised
        done(result, error)

    (_sequences if options.get("sequence_id") else _pool).submit(infer)


_streams: dict[Any, dict[str, Done]] = {}  # by client and request id
_stream_numbers = itertools.count(1)


def send_on_stream(client: Any, done: Done, *arguments: Any, **options: Any) -> None:
    """Send a request on the stream of the client, which the first request opens."""
    if client not in _streams:
        _streams[client] = {}
        client.start_stream(functools.partial(_answered, client))
        threading.Thread(target=_stop_at_end, args=(client,), daemon=True).start()
    number = str(next(_stream_numbers))
    _streams[client][number] = done
    client.async_stream_infer(*arguments, request_id=number, **options)


def _answered(client: Any, result: Any, error: Any) -> None:
    waiting = _streams[client]
    number = next(iter(waiting)) if result is None else result.get_response().id
    waiting.pop(number)(result, error)


def _stop_at_end(client: Any) -> None:
    threading.main_thread().join()
    client.stop_stream()  # its thread would keep the program from ending


_requests: collections.defaultdict[Any, dict[int, Any]] = collections.defaultdict(
    dict
)  # by client and number
_numbers: collections.defaultdict[Any, Iterator[int]] = collections.defaultdict(
    lambda: itertools.count(1)
)


def start_run(
    client: Any,
    model_name: str,
    callback: Callable[[Any, int], None] | None,
    inputs: Rows,
    outputs: Mapping[str, int],
    owner: Any = None,
    send: Callable[..., None] = send,
    **options: Any,
) -> int | None:
    """Start a request; return its number, or call the callback with it when it is done.

    callback: is called with the owner, or the client without one, and the number.
    send: the function that sends the request.
    The other arguments are those of `run_model`.
    """
    tensors = infer_inputs(client, model_name, inputs)
    number, future = next(_numbers[client]), Future()  # type: ignore[var-annotated]
    _requests[client][number] = (future, outputs, config_of(client, model_name))

    def done(result: Any, error: Any) -> None:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
        if callback is not None:
            callback(client if owner is None else owner, number)

    options["outputs"] = requested_outputs(client, outputs)
    send(client, done, model_name, tensors, **options)
    return number if callback is None else None


def run_results(client: Any, number: int, wait: bool = True) -> dict[str, list[Any]] | None:
    """Return the results of a request; None if it runs and `wait` is false."""
    if number not in _requests[client]:
        raise InferenceServerException(f"no request with number {number}")
    future, outputs, config = _requests[client][number]
    if not wait and not future.done():
        return None
    del _requests[client][number]
    return results_of(future.result(), outputs, config)


def ready_request(client: Any, wait: bool = True) -> int | None:
    """Return the number of a request that is done; None if there is none."""
    started = {future: number for number, (future, _, _) in _requests[client].items()}
    done = futures.wait(started, None if wait else 0, futures.FIRST_COMPLETED).done
    return min((started[future] for future in done), default=None)

"""Asynchronous requests, which have numbers."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from tritonclient.utils import InferenceServerException

_numbers: Any = collections.defaultdict(functools.partial(itertools.count, 1))  # of each client
_futures: Any = collections.defaultdict(dict)  # of each client, by number
_pool = ThreadPoolExecutor(8)
_in_order = ThreadPoolExecutor(1)


def start(run: Any, client: Any, callback: Any, *arguments: Any, **options: Any) -> int | None:
    """Call `run` in a thread; return its number, or call `callback(client, number)` at the end."""
    number: int = next(_numbers[client])
    pool = _in_order if hasattr(client, "sequence") else _pool
    arguments = copy.deepcopy(arguments)  # the program may change its arrays
    future = _futures[client][number] = pool.submit(run, client, *arguments, **options)
    if callback is None:
        return number
    future.add_done_callback(lambda _: callback(client, number))
    return None


def run_results(client: Any, number: int, waits: bool = True) -> Any:
    """Return the results of a request; None if it runs and `waits` is false."""
    if number not in _futures[client]:
        raise InferenceServerException(f"no request with number {number}")
    if not waits and not _futures[client][number].done():
        return None
    return _futures[client].pop(number).result()


def ready_request(client: Any, waits: bool = True) -> int | None:
    """Return the number of a request that is done; None if there is none."""
    numbers = {future: number for number, future in _futures[client].items()}
    done = wait(numbers, None if waits else 0, FIRST_COMPLETED).done
    return min((numbers[future] for future in done), default=None)

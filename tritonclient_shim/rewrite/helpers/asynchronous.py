"""Asynchronous requests, which have numbers."""

import collections
import copy
import itertools
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from tritonclient.utils import InferenceServerException

_numbers = collections.defaultdict(lambda: itertools.count(1))  # of each client
_futures = {}  # by client and number
_pool = ThreadPoolExecutor(8)


def start(run, client, callback, *arguments, **options):
    """Call `run` in a thread; return its number, or call `callback(client, number)` at the end."""
    key = client, next(_numbers[client])
    arguments = copy.deepcopy(arguments)  # the program may change its arrays
    pool = getattr(client, "pool", _pool)
    _futures[key] = pool.submit(run, client, *arguments, **options)
    if callback is None:
        return key[1]
    _futures[key].add_done_callback(lambda _: callback(*key))
    return None


def run_results(client, number, waits=True):
    """Return the results of a request; None if it runs and `waits` is false."""
    if (client, number) not in _futures:
        raise InferenceServerException(f"no request with number {number}")
    if not waits and not _futures[client, number].done():
        return None
    return _futures.pop((client, number)).result()


def ready_request(client, waits=True):
    """Return the number of a request that is done; None if there is none."""
    numbers = {future: key[1] for key, future in _futures.items() if key[0] is client}
    done = wait(numbers, None if waits else 0, FIRST_COMPLETED).done
    return min((numbers[future] for future in done), default=None)

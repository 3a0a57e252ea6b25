"""The functions by which a rewritten file knows what its last requests were, as text."""

from __future__ import annotations

LAST = '''
class LastRequest(typing.NamedTuple):
    """The last request of a client: its number in this program, and what answered it."""

    number: typing.Any = None
    model_name: typing.Any = None
    model_version: typing.Any = None


_last_requests = weakref.WeakKeyDictionary()  # by client
_request_times = weakref.WeakKeyDictionary()  # by client: number of requests, nanoseconds
_request_numbers = itertools.count(1)


def infer_remembered(client, model_name, inputs, **options):
    """Infer, and remember what answered and how long that took."""
    _last_requests.pop(client, None)
    started = time.perf_counter_ns()
    answer = client.infer(model_name, inputs, **options)  #-threads
    answer = _own_client(client).infer(model_name, inputs, **options)  #+threads
    return remembered(client, answer, time.perf_counter_ns() - started)


def remembered(client, answer, nanoseconds=0):
    """Remember what an answer says of its request, and return the answer."""
    told = answer.get_response()
    if not isinstance(told, dict):
        told = {"model_name": told.model_name, "model_version": told.model_version}
    number, name = next(_request_numbers), told["model_name"]
    _last_requests[client] = LastRequest(number, name, int(told["model_version"]))
    count, total = _request_times.get(client, (0, 0))
    _request_times[client] = count + 1, total + nanoseconds
    return answer


def last_request(client):
    """What is known of the last request of a client; None for each thing without an answer."""
    return _last_requests.get(client, LastRequest())
'''
STAT = '''
def request_stat(client):
    """The number of requests of a client that were answered, and the time that they took."""
    count, nanoseconds = _request_times.get(client, (0, 0))
    return {
        "completed_request_count": count,
        "cumulative_total_request_time_ns": nanoseconds,
    }
'''
IMPORTS = ("import itertools", "import time", "import typing", "import weakref")

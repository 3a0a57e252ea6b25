"""Record what a v1 program observes, as plain data. Needs only Python 3.6 and the v1 API.

A scenario is a function that takes a :class:`Recorder` and calls the v1 API through it. Every
call becomes a step, ``[label, outcome]``. Two runs of a scenario are equivalent if their steps
are equal. Request ids differ between any two runs, so they are recorded by rank.
"""

import hashlib
import struct
import threading

import numpy as np

import tensorrtserver.api as api
from tensorrtserver.api import InferContext, ProtocolType

RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
START, END = api.InferRequestHeader.FLAG_SEQUENCE_START, api.InferRequestHeader.FLAG_SEQUENCE_END
A, B = np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)
SUMS = {"INPUT0": [A], "INPUT1": [B]}
BOTH = {"OUTPUT0": RAW, "OUTPUT1": RAW}
WAIT = 60  # seconds; a test that waits longer has failed


def floats(*values):
    """Return a float32 array."""
    return np.array(values, dtype=np.float32)


def ints(*values):
    """Return an int32 array."""
    return np.array(values, dtype=np.int32)


def objects(*values):
    """Return an object array."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class Recorder:
    """A recorder of one scenario's observations on one protocol."""

    def __init__(self, url, protocol, token):
        self.url, self.token = url, token
        self.grpc = protocol == "grpc"
        self.protocol = ProtocolType.GRPC if self.grpc else ProtocolType.HTTP
        self.streams = (False, True) if self.grpc else (False,)
        self.steps = []
        self._ids = []
        self.ids_by_order = True  # False: several requests are in flight
        self._contexts = []
        self._lock = threading.Lock()

    def play(self, scenario):
        """Play a scenario."""
        scenario(self)

    def open(self, model, *args, **kwargs):
        """Return an InferContext on a model, closed when the scenario ends."""
        context = InferContext(self.url, self.protocol, model, *args, **kwargs)
        self._contexts.append(context)
        return context

    def of(self, name, *args, **kwargs):
        """Return a context of the named class of the API, closed when the scenario ends."""
        context = getattr(api, name)(self.url, self.protocol, *args, **kwargs)
        self._contexts.append(context)
        return context

    def close(self):
        """Close the contexts that the scenario opened."""
        for context in self._contexts:
            context.close()

    def __call__(self, label, function, *args, **kwargs):
        """Call a function, record its result or exception, and return the result or None."""
        try:
            value = function(*args, **kwargs)
        except Exception as error:  # every exception is an observation
            self.note(label, self.refusal(error))
            return None
        self.note(label, value)
        return value

    def note(self, label, value):
        """Record a value that the scenario obtained itself."""
        with self._lock:
            self.steps.append([label, self.plain(value)])

    def run(self, label, context, *args, **kwargs):
        """Record a call of ``context.run``, then the getters. Return the result."""
        value = self(label, context.run, *args, **kwargs)
        self.getters(label + ", then", context)
        return value

    def getters(self, label, context):
        """Record the results of an InferContext's getters."""
        number, name = Id(context.get_last_request_id()), context.get_last_request_model_name()
        version = context.get_last_request_model_version()
        self.note(label, [number, name, version, context.correlation_id()])

    def last_id(self, label, context):
        """Record the last request id of a context."""
        self.note(label, Id(context.get_last_request_id()))

    def refusal(self, error):
        """Return an exception as an observation."""
        if not isinstance(error, api.InferenceServerException):
            return Raised(type(error).__name__, str(error))
        number = error.request_id()
        text = str(error).replace(f" {number}] ", " <id>] ") if number else str(error)
        parts = [error.message(), error.server_id(), Id(number), text]
        return Raised(type(error).__name__, parts)

    # -------------------------------------------------------------------------- plain data

    def plain(self, value):
        """Return a value as JSON that keeps its types."""
        if value is None or type(value) in (bool, str):
            return value
        if isinstance(value, Id):
            return self._rank(value.number)
        if isinstance(value, Raised):
            return {"raised": value.kind, "with": self.plain(value.parts)}
        for kind, convert in _PLAIN:
            if isinstance(value, kind):
                return convert(self, value)
        return {type(value).__name__: str(value)}

    def _rank(self, number):
        """Return the place of a request id among the ids seen so far."""
        if number is None or number <= 0:
            return {"id": number}
        if number in self._ids:
            return {"id": "again", "of": self._ids.index(number)}
        rises = not self.ids_by_order or not self._ids or number > max(self._ids)
        place = "new" if rises else "lower than one before"
        self._ids.append(number)
        return {"id": place}

    def _array(self, array):
        result = {"dtype": array.dtype.name, "shape": list(array.shape)}
        flags = array.flags
        result["flags"] = [bool(flags.writeable), bool(flags.c_contiguous)]
        if array.dtype == object:
            result["elements"] = [self.plain(item) for item in array.flat]
        else:
            result["bytes"] = _short(array.tobytes())
        return result


class Id:
    """A request id of the server."""

    def __init__(self, number):
        self.number = number


class Raised:
    """An exception: the name of its type, and its parts."""

    def __init__(self, kind, parts):
        self.kind, self.parts = kind, parts


def _short(data):
    """Return bytes as hexadecimal digits. Return a digest of more than 256 bytes."""
    if len(data) <= 256:
        return data.hex()
    return f"{len(data)} bytes, sha1 {hashlib.sha1(data).hexdigest()}"


def _float(value):
    return {type(value).__name__: struct.pack("<d", value).hex(), "about": repr(float(value))}


def _int(value):
    return value if type(value) is int else {type(value).__name__: int(value)}


_PLAIN = (
    (np.ndarray, Recorder._array),
    (dict, lambda self, value: {"dict": [self.plain(list(item)) for item in value.items()]}),
    (list, lambda self, value: [self.plain(item) for item in value]),
    (tuple, lambda self, value: {"tuple": self.plain(list(value))}),
    (bytes, lambda self, value: {"bytes": _short(value)}),
    (float, lambda self, value: _float(value)),
    (int, lambda self, value: _int(value)),
)

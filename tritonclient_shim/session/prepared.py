"""The prepared request of a context: what its next request need not have checked again.

Programs call ``run`` in a loop, with new data in arrays of the same kind. What was checked and
converted for the first such call is kept here, as databases keep a prepared statement; the next
call binds its data, numbers and ids to it. Whatever could refuse a request, or change more of it
than these, is compared; a request that differs goes the long way through
:mod:`tritonclient_shim.translate`, which knows nothing of this, and so do all where
:data:`enabled` is False.
"""

from __future__ import annotations

from operator import attrgetter, is_, itemgetter
from typing import Any, List, Mapping, NamedTuple, Tuple

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import Fault
from tritonclient_shim.core.model import (
    FLAG_SEQUENCE_END,
    FLAG_SEQUENCE_START,
    Buffer,
    InferCall,
    InferReply,
    ModelProfile,
    TensorIn,
    V1Input,
    V1Reply,
    V1Request,
    V1Result,
)
from tritonclient_shim.translate import arguments, to_v1, to_v2
from tritonclient_shim.translate.request import RAW, Numbers, Options, RunArguments

#: The switch; the benchmarks turn it off beside the small run.
enabled = True

#: Of so many requests that none has been bound to, one is prepared.
RARELY = 8

#: The arrays of each input, in the model's order.
Data = List[Tuple[Buffer, ...]]

_kind_of_array = attrgetter("__class__", "dtype", "shape", "flags.c_contiguous")
_kind_of_tensor = itemgetter(0, 1, 2)  # name, datatype and shape


class _PreparedInput(NamedTuple):
    """One input: the caller's key, the kinds of its arrays, the tensor without their bytes."""

    key: Any
    kinds: list[Any]
    tensor: TensorIn


class _KnownReply(NamedTuple):
    """The kind of a reply: its model, its tensors, and the results with their tensors' places."""

    model: tuple[str, str]
    kinds: list[Any]
    reply: V1Reply
    places: list[int]


class PreparedRequest:
    """What requests share that differ in data, numbers and ids alone.

    Their inputs are arrays that are the tensors' bytes as they are, their outputs are arrays too,
    and nothing lies in shared memory. Any thread may use it: all that ever changes is one
    reference, to a value that does not.
    """

    def __init__(
        self,
        profile: ModelProfile,
        options: Options,
        outputs: Mapping[Any, Any],
        inputs: list[_PreparedInput],
        request: V1Request,
        call: InferCall,
    ) -> None:
        self.profile = profile
        self.options = options
        #: By input name, as contexts remember them (docs/v1-behaviour.md §3.3).
        self.shapes = {one.name: one.dims or () for one in request.inputs}
        self._inputs = inputs
        self._outputs = [*outputs.items()]
        self._types = [*map(type, outputs), *map(type, outputs.values())]
        self._request = request._replace(inputs=())  # the data are the caller's
        self._call = call._replace(inputs=())
        self._reply: _KnownReply | None = None

    def data_of(self, given: RunArguments) -> Data | None:
        """Return the data of a request with these arguments; None when it is another request."""
        inputs, outputs, batch_size, *_ = given
        if (
            not enabled
            or type(inputs) is not dict
            or type(outputs) is not dict
            or type(batch_size) is not int
            or batch_size != self.options.batch_size
            or len(inputs) != len(self._inputs)
            or [*map(type, outputs), *map(type, outputs.values())] != self._types
            or [*outputs.items()] != self._outputs
        ):
            return None
        data: Data = []
        try:
            for key, kinds, _ in self._inputs:
                arrays = inputs[key]
                if type(arrays) is not list or [*map(_kind_of_array, arrays)] != kinds:
                    return None
                data.append(tuple(arrays))
        except (AttributeError, KeyError):  # no arrays, or under another name
            return None
        return data

    def bind(
        self, data: Data, numbers: Numbers, correlation_id: int, client_id: int
    ) -> BoundRequest:
        """Return the request with these data, numbers and ids."""
        flags, _, priority, timeout_us = numbers
        # Named tuples are made directly: _replace takes several times as long.
        shared, wire = self._request, self._call
        request = V1Request(
            shared.model_version, shared.batch_size, (), shared.outputs,
            correlation_id, flags, priority, timeout_us, client_id,
        )  # fmt: skip
        tensors = [
            TensorIn(name, datatype, shape, chunks, size)
            for (_, _, (name, datatype, shape, _, size, _)), chunks in zip(self._inputs, data)
        ]
        call = InferCall(
            wire.model_name, wire.model_version, tuple(tensors), wire.outputs,
            str(client_id) if client_id else "", correlation_id,
            bool(flags & FLAG_SEQUENCE_START), bool(flags & FLAG_SEQUENCE_END),
            priority, timeout_us, wire.binary,
        )  # fmt: skip
        return BoundRequest(self, request, call)

    def v1_reply(self, answer: InferReply, client_id: int) -> V1Reply | None:
        """The v1 reply of an answer of the same kind as the first one; None of any other."""
        known = self._reply
        tensors = answer.outputs
        if (
            known is None
            or (answer.model_name, answer.model_version) != known.model
            or [*map(_kind_of_tensor, tensors)] != known.kinds
        ):
            return None
        name, version, batch_size, outputs, _ = known.reply
        results = []
        for place, (output, datatype, dims, size, _, _, _) in zip(known.places, outputs):
            data = tensors[place].data
            if data is None:
                return None
            results.append(V1Result(output, datatype, dims, size, data))
        return V1Reply(name, version, batch_size, tuple(results), client_id)

    def learn(self, answer: InferReply, reply: V1Reply) -> None:
        """Remember the kind of the first answer, which the long way has made this reply of."""
        if self._reply is not None or not to_v1.fits(self.profile, answer):
            return
        places = {tensor.name: place for place, tensor in enumerate(answer.outputs)}
        plain = all(one.data is not None and dtypes.itemsize(one.datatype) for one in reply.outputs)
        if plain and len(places) == len(answer.outputs):
            self._reply = _KnownReply(
                (answer.model_name, answer.model_version),
                [*map(_kind_of_tensor, answer.outputs)],
                reply._replace(outputs=tuple(one._replace(data=None) for one in reply.outputs)),
                [places[one.name] for one in reply.outputs],
            )


class BoundRequest(NamedTuple):
    """A prepared request with what is one request's own; ``request`` lacks its inputs."""

    prepared: PreparedRequest
    request: V1Request
    call: InferCall

    def complete(self, _: ModelProfile) -> V1Request:
        """Return the request with its inputs, as the long way makes it."""
        shapes = self.prepared.shapes
        inputs = [
            V1Input(one.name, shapes[one.name] or None, one.chunks, one.byte_size)
            for one in self.call.inputs
        ]
        return self.request._replace(inputs=tuple(inputs))


class Preparation:
    """The prepared request of one context, and the rule by which another one takes its place.

    Requests that hardly ever resemble each other are not worth it: one that nobody has been bound
    to is replaced by one of :data:`RARELY` requests only. Threads that come at once may count one
    request too few.
    """

    def __init__(self) -> None:
        self._prepared: PreparedRequest | None = None
        self._used = False
        self._others = 0

    def find(
        self, profile: ModelProfile, given: RunArguments
    ) -> tuple[PreparedRequest, Data] | None:
        """The prepared request and the data to bind to it, unless it is another request."""
        prepared = self._prepared
        if prepared is None or prepared.profile is not profile:  # or the model was reloaded
            return None
        data = prepared.data_of(given)
        if data is None:
            return None
        self._used = True
        return prepared, data

    def consider(
        self,
        profile: ModelProfile,
        options: Options,
        given: RunArguments,
        request: V1Request,
        protocol: str,
    ) -> None:
        """Prepare a request that has gone the long way, if it seems worth it."""
        if self._used or self._others % RARELY == 0:
            self._prepared = prepare(profile, options, given, request, protocol)
            self._used = False
        self._others += 1


def prepare(
    profile: ModelProfile,
    options: Options,
    given: RunArguments,
    request: V1Request,
    protocol: str,
) -> PreparedRequest | None:
    """Return what later requests may share of a request; None if they can share nothing."""
    inputs, outputs = given.inputs, given.outputs
    if not (enabled and type(inputs) is dict and type(outputs) is dict):
        return None
    if len(inputs) != len(request.inputs) or profile.decoupled:
        return None
    if not profile.server.sequences:  # numbers alone may make a request that is refused
        return None
    if any(type(value) is not tuple or value != RAW for value in outputs.values()):
        return None
    keys = [_key_of(bound, inputs) for bound in request.inputs]
    if None in keys:
        return None
    try:
        call = to_v2.infer_call(profile, request, protocol)
    except Fault:
        return None
    prepared = [
        _PreparedInput(key, [*map(_kind_of_array, bound.chunks)], tensor._replace(chunks=()))
        for key, bound, tensor in zip(keys, request.inputs, call.inputs)
    ]
    return PreparedRequest(profile, options, outputs, prepared, request, call)


def _key_of(bound: V1Input, inputs: Mapping[Any, Any]) -> Any:
    """The key under which the caller gave this input; None unless its bytes are his arrays."""
    for key, arrays in inputs.items():
        if arguments.text(key, "an input name", 3) == bound.name:
            same = type(arrays) is list and len(arrays) == len(bound.chunks)
            if (
                same
                and all(map(is_, arrays, bound.chunks))
                and {*map(type, arrays)} == {np.ndarray}
            ):
                return key
    return None

"""The prepared request of a context: what its next request need not have checked again.

Programs call ``run`` in a loop, with new data in arrays of the same kind. What was checked and
converted for the first such call is kept here, as databases keep a prepared statement. The next
call binds its data, numbers and ids to it. Whatever could refuse a request, or change more of it,
is compared. A request that differs goes the long way through :mod:`tritonclient_shim.translate`,
which knows nothing of this. So do all requests while :data:`enabled` is False.
"""

from __future__ import annotations

from operator import attrgetter, is_, itemgetter
from typing import Any, List, Mapping, NamedTuple, Tuple

import numpy as np

from tritonclient_shim.core import arguments, dtypes
from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.errors import BackendError
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
from tritonclient_shim.translate import to_v1, to_v2
from tritonclient_shim.translate.request import RAW, Options

#: The switch; the benchmarks turn it off beside the small run.
enabled = True

#: Of so many requests that none has been bound to, one is prepared.
RARELY = 8

#: The arrays of each input, in the model's order.
Data = List[Tuple[Buffer, ...]]

#: The types of flags, correlation id, priority and timeout.
_INTEGERS = [int] * 4

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
    and nothing lies in shared memory. Any thread may use it: it changes only by assignments of
    values that do not change.
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
        self.shapes = {item.name: item.dims or () for item in request.inputs}
        #: True once a request has been bound to it.
        self.used = False
        self._inputs = inputs
        self._outputs = [*outputs.items()]
        self._types = [*map(type, outputs), *map(type, outputs.values())]
        self._request = request._replace(inputs=())  # the data are the caller's
        self._call = call._replace(inputs=())
        self._reply: _KnownReply | None = None

    def data_of(self, profile: ModelProfile, passed: RunArguments) -> Data | None:
        """Return the data of a request with these arguments; None if it is another request."""
        inputs, outputs, batch_size, *numbers = passed
        if (
            not enabled
            or profile is not self.profile  # the model was reloaded
            or type(inputs) is not dict
            or type(outputs) is not dict
            or type(batch_size) is not int
            or batch_size != self.options.batch_size
            or [*map(type, numbers)] != _INTEGERS
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
        self, data: Data, passed: RunArguments, correlation_id: int, client_id: int
    ) -> tuple[V1Request, InferCall]:
        """Return the request with these data, arguments and ids, without its inputs; and its call.

        ``passed`` are the arguments whose data these are.
        """
        self.used = True
        flags = passed.flags & arguments.UINT32
        priority = passed.priority & arguments.UINT32
        timeout_us = passed.timeout_us & arguments.UINT64
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
        return request, call

    def complete(self, request: V1Request, call: InferCall, _: ModelProfile) -> V1Request:
        """Return a bound request with its inputs, as the long way makes it."""
        inputs = [
            V1Input(item.name, self.shapes[item.name] or None, item.chunks, item.byte_size)
            for item in call.inputs
        ]
        return request._replace(inputs=tuple(inputs))

    def v1_reply(self, answer: InferReply, client_id: int) -> V1Reply | None:
        """Return the v1 reply if the answer is of the first one's kind; otherwise None."""
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
        plain = all(
            result.data is not None and dtypes.itemsize(result.datatype) for result in reply.outputs
        )
        if plain and len(places) == len(answer.outputs):
            self._reply = _KnownReply(
                (answer.model_name, answer.model_version),
                [*map(_kind_of_tensor, answer.outputs)],
                reply._replace(outputs=tuple(item._replace(data=None) for item in reply.outputs)),
                [places[result.name] for result in reply.outputs],
            )


def prepare(
    profile: ModelProfile,
    options: Options,
    passed: RunArguments,
    request: V1Request,
    protocol: str,
) -> PreparedRequest | None:
    """Return what later requests may share of a request; None if they can share nothing."""
    inputs, outputs = passed.inputs, passed.outputs
    if not (enabled and type(inputs) is dict and type(outputs) is dict):
        return None
    if len(inputs) != len(request.inputs) or profile.decoupled:
        return None
    if not profile.server.configurations:  # the profile is asked for again after a time
        return None
    if any(type(value) is not tuple or value != RAW for value in outputs.values()):
        return None
    keys = [_key_of(item, inputs) for item in request.inputs]
    if None in keys:
        return None
    try:
        call = to_v2.infer_call(profile, request, protocol)
    except BackendError:
        return None
    prepared = [
        _PreparedInput(key, [*map(_kind_of_array, item.chunks)], tensor._replace(chunks=()))
        for key, item, tensor in zip(keys, request.inputs, call.inputs)
    ]
    return PreparedRequest(profile, options, outputs, prepared, request, call)


def _key_of(bound: V1Input, inputs: Mapping[Any, Any]) -> Any:
    """Return the caller's key of an input; None unless its bytes are the caller's arrays."""
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

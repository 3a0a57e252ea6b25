"""The prepared request of a context: what its next request need not have checked again.

Programs call ``run`` in a loop, with new data in arrays of the same kind. What was checked and
converted for the first such call is kept here, as databases keep a prepared statement. The next
call binds its data, numbers and ids to it. Whatever could refuse a request, or change more of it,
is compared. A request that differs goes the long way through :mod:`tritonclient_shim.translate`,
which knows nothing of this. So do all requests while :data:`enabled` is False.
"""

from __future__ import annotations

from operator import attrgetter, is_, itemgetter
from typing import Any, Callable, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from tritonclient_shim.core import arguments, dtypes
from tritonclient_shim.core.arguments import RunArguments
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
from tritonclient_shim.translate.request import CLASS, RAW, Options

#: The switch; the benchmarks turn it off beside the small run.
enabled = True

#: The arrays of each input, in the model's order.
Data = List[Tuple[Buffer, ...]]

#: The types of flags, correlation id, priority and timeout.
_INTEGERS = [int] * 4

_kind_of_array = attrgetter("__class__", "dtype", "shape", "flags.c_contiguous")
_kind_of_tensor = itemgetter(0, 1, 2)  # name, datatype and shape
_class_count = itemgetter(-1)  # of a form, (CLASS, k)


class _PreparedInput(NamedTuple):
    """One input: the caller's key, the kinds of its arrays, the tensor without their bytes."""

    key: Any
    kinds: list[Any]
    dims: tuple[int, ...] | None
    tensor: TensorIn


class PreparedRequest:
    """What requests share that differ in data, numbers and ids alone.

    Their inputs are arrays that are the tensors' bytes as they are. Their outputs are arrays or
    classes, and nothing lies in shared memory. Classes are read anew from each reply, because their
    labels may change. Any thread may use it: it changes only by assignments of values that do not
    change.
    """

    def __init__(
        self,
        profile: ModelProfile,
        options: Options,
        outputs: Mapping[Any, Any],
        keys: Sequence[Any],
        request: V1Request,
        call: InferCall,
    ) -> None:
        self.profile = profile
        self.options = options
        #: By input name, as contexts remember them (docs/v1-behaviour.md §3.3).
        self.shapes = {item.name: item.dims or () for item in request.inputs}
        # The data are the caller's: keep none.
        self._inputs = [
            _PreparedInput(
                key, [*map(_kind_of_array, item.chunks)], item.dims, tensor._replace(chunks=())
            )
            for key, item, tensor in zip(keys, request.inputs, call.inputs)
        ]
        self._request = request._replace(inputs=())
        self._call = call._replace(inputs=())
        self._outputs = [*outputs.items(), *map(type, outputs), *map(type, outputs.values())]
        self._classified = any(item.class_count is not None for item in request.outputs)
        #: The kind of the first reply, the places of its outputs' tensors, and it without data.
        self._reply: tuple[list[Any], list[int], V1Reply] | None = None

    def bind(
        self,
        profile: ModelProfile,
        passed: RunArguments,
        correlation_id: int,
        next_id: Callable[[], int],
    ) -> tuple[V1Request, InferCall] | None:
        """Return the request with these arguments, and its call; None if it is another request.

        ``correlation_id`` is the context's. ``next_id`` is called for a request that is bound.
        """
        data = self._data(profile, passed)
        if data is None:
            return None
        flags = passed.flags & arguments.UINT32
        number = passed.correlation_id & arguments.UINT64 or correlation_id
        if self._classified and (flags or number):
            return None  # the server may classify requests of a sequence: the call differs
        priority = passed.priority & arguments.UINT32
        timeout_us = passed.timeout_us & arguments.UINT64
        client_id = next_id()
        inputs, tensors = [], []
        for (_, _, dims, (name, datatype, shape, _, size, _)), chunks in zip(self._inputs, data):
            inputs.append(V1Input(name, dims, chunks, size))
            tensors.append(TensorIn(name, datatype, shape, chunks, size))
        # Named tuples are made directly: _replace takes several times as long.
        shared, wire = self._request, self._call
        request = V1Request(
            shared.model_version, shared.batch_size, tuple(inputs), shared.outputs,
            number, flags, priority, timeout_us, client_id,
        )  # fmt: skip
        call = InferCall(
            wire.model_name, wire.model_version, tuple(tensors), wire.outputs,
            str(client_id) if client_id else "", number,
            bool(flags & FLAG_SEQUENCE_START), bool(flags & FLAG_SEQUENCE_END),
            priority, timeout_us, wire.binary,
        )  # fmt: skip
        return request, call

    def _data(self, profile: ModelProfile, passed: RunArguments) -> Data | None:
        """Return the arrays of a request with these arguments; None if it is another request."""
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
            or [*outputs.items(), *map(type, outputs), *map(type, outputs.values())]
            != self._outputs
        ):
            return None
        if self._classified and {*map(type, map(_class_count, outputs.values()))} != {int}:
            return None  # 5.0 is no number of classes
        data: Data = []
        try:
            for key, kinds, _, _ in self._inputs:
                arrays = inputs[key]
                if type(arrays) is not list or [*map(_kind_of_array, arrays)] != kinds:
                    return None
                data.append(tuple(arrays))
        except (AttributeError, KeyError):  # no arrays, or under another name
            return None
        return data

    def v1_reply(self, answer: InferReply, client_id: int) -> V1Reply | None:
        """Return the v1 reply if the answer is of the first one's kind; otherwise None."""
        if self._reply is None:
            return None
        kind, places, (name, version, batch_size, outputs, _) = self._reply
        if [answer[:2], *map(_kind_of_tensor, answer.outputs)] != kind:
            return None
        results = []
        for place, (output, datatype, dims, size, _, _, _) in zip(places, outputs):
            data = answer.outputs[place].data
            if data is None:
                return None
            results.append(V1Result(output, datatype, dims, size, data))
        return V1Reply(name, version, batch_size, tuple(results), client_id)

    def learn(self, answer: InferReply, reply: V1Reply) -> None:
        """Remember the kind of the first answer, which the long way has made this reply of."""
        if self._reply is not None or self._classified or not to_v1.fits(self.profile, answer):
            return
        place_of = {tensor.name: place for place, tensor in enumerate(answer.outputs)}
        plain = all(
            result.data is not None and dtypes.itemsize(result.datatype) for result in reply.outputs
        )
        if plain and len(place_of) == len(answer.outputs):
            places = [place_of[result.name] for result in reply.outputs]
            outputs = tuple([result._replace(data=None) for result in reply.outputs])
            kind = [answer[:2], *map(_kind_of_tensor, answer.outputs)]  # with model and version
            self._reply = kind, places, reply._replace(outputs=outputs)


def prepare(
    profile: ModelProfile,
    options: Options,
    passed: RunArguments,
    request: V1Request,
    call: InferCall,
) -> PreparedRequest | None:
    """Return what later requests may share of a request; None if they can share nothing."""
    inputs, outputs = passed.inputs, passed.outputs
    if (
        not enabled
        or not profile.server.configurations  # the profile is asked for again after a time
        or type(inputs) is not dict
        or type(outputs) is not dict
        or len(inputs) != len(request.inputs)
        or not all(map(_is_plain, outputs.values()))
    ):
        return None
    classified = any(item.class_count is not None for item in request.outputs)
    if classified and to_v2.stateful(profile, request):
        return None
    by_name = {arguments.text(key, "an input name", 3): key for key in inputs}
    keys = [by_name[item.name] for item in request.inputs]
    if not all(_are_chunks(inputs[key], item) for key, item in zip(keys, request.inputs)):
        return None
    return PreparedRequest(profile, options, outputs, keys, request, call)


def _is_plain(form: Any) -> bool:
    """True if the form of an output is RAW or (CLASS, k), without shared memory."""
    return type(form) is tuple and (form == RAW or (form[0] == CLASS and type(form[1]) is int))


def _are_chunks(arrays: Any, bound: V1Input) -> bool:
    """True if the bytes of an input are the caller's arrays."""
    same = type(arrays) is list and len(arrays) == len(bound.chunks)
    return same and all(map(is_, arrays, bound.chunks)) and {*map(type, arrays)} == {np.ndarray}

"""The prepared request of a context: what its next request need not have checked again.

Programs call ``run`` in a loop, with new data in arrays of the same kind. What was checked and
converted for the first such call is kept here, as databases keep a prepared statement. The next
call binds its data, numbers and ids to it. Whatever could refuse a request, or change more of it,
is compared. A request that differs goes the long way through :mod:`tritonclient_shim.translate`,
which knows nothing of this.
"""

from __future__ import annotations

from operator import attrgetter, is_, itemgetter
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from tritonclient_shim.core import arguments, dtypes
from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.errors import (
    BackendError,
    InferenceServerException,
    UnreadableReply,
)
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
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.translate import to_v1, to_v2
from tritonclient_shim.translate.request import CLASS, RAW, Options
from tritonclient_shim.translate.result import MAX_DIMS, arrays

#: The arrays of each input, in the model's order.
Data = List[Tuple[Buffer, ...]]

#: A reply without its outputs, and what ``run`` returns of these.
Reading = Tuple[V1Reply, Dict[Any, List[Any]]]

#: The types of flags, correlation id, priority and timeout.
_INTEGERS = [int] * 4
_SEQUENCE_FLAGS = FLAG_SEQUENCE_START | FLAG_SEQUENCE_END

_kind_of_array = attrgetter("__class__", "dtype", "shape", "flags.c_contiguous")
_class_count = itemgetter(-1)  # of a form, (CLASS, k)


class _PreparedInput(NamedTuple):
    """One input: the caller's key, the kinds of its arrays, the tensor without their bytes."""

    key: Any
    kinds: list[Any]
    dims: tuple[int, ...] | None
    tensor: TensorIn


class PreparedRequest:
    """What requests share if only their data, numbers and ids differ.

    Their inputs are arrays that are the tensors' bytes as they are. Their outputs are arrays or
    classes, and nothing lies in shared memory. Classes are read anew from each reply, because their
    labels may change. It never changes, so any thread may use it.
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
        self._expected = self._arrays_expected()

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
        flags, number = passed.flags, passed.correlation_id & arguments.UINT64 or correlation_id
        if self._classified and (flags or number):
            return None  # the server may classify requests of a sequence: the call differs
        priority, timeout = passed.priority & arguments.UINT32, passed.timeout_us & arguments.UINT64
        client_id, known, wire = next_id(), self._request, self._call
        inputs, tensors = [], []
        # Named tuples are made directly: _replace takes several times as long.
        for (_, _, dims, (name, datatype, shape, _, size, _)), chunks in zip(self._inputs, data):
            inputs.append(V1Input(name, dims, chunks, size))
            tensors.append(TensorIn(name, datatype, shape, chunks, size))
        request = V1Request(
            known.model_version, known.batch_size, tuple(inputs), known.outputs,
            number, flags, priority, timeout, client_id,
        )  # fmt: skip
        call = InferCall(
            wire.model_name, wire.model_version, tuple(tensors), wire.outputs,
            str(client_id) if client_id else "", number,
            bool(flags & FLAG_SEQUENCE_START), bool(flags & FLAG_SEQUENCE_END),
            priority, timeout, wire.binary,
        )  # fmt: skip
        return request, call

    def _data(self, profile: ModelProfile, passed: RunArguments) -> Data | None:
        """Return the arrays of a request with these arguments; None if it is another request."""
        inputs, outputs, batch_size, *numbers = passed
        if (
            profile is not self.profile  # the model was reloaded
            or type(inputs) is not dict
            or type(outputs) is not dict
            or type(batch_size) is not int
            or batch_size != self.options.batch_size
            or [*map(type, numbers)] != _INTEGERS
            or not 0 <= passed.flags <= _SEQUENCE_FLAGS
            or len(inputs) != len(self._inputs)
        ):
            return None
        data: Data = []
        try:
            types = [*map(type, outputs), *map(type, outputs.values())]
            if [*outputs.items(), *types] != self._outputs:
                return None
            if self._classified and {*map(type, map(_class_count, outputs.values()))} != {int}:
                return None  # 5.0 is no number of classes
            for key, kinds, _, _ in self._inputs:
                arrays = inputs[key]
                if type(arrays) is not list or [*map(_kind_of_array, arrays)] != kinds:
                    return None
                data.append(tuple(arrays))
        except (AttributeError, KeyError, ValueError):  # no arrays, other names, arrays as forms
            return None
        return data

    def read(self, answer: InferReply | BackendError) -> Reading | None:
        """Return what is read of an answer with the outputs that were asked for, all as arrays.

        None of any other answer. Results that cannot be made are None too. The complete code then
        words the error.
        """
        expected = self._expected
        if isinstance(answer, BackendError) or not len(answer.outputs) == len(expected) > 0:
            return None
        version = to_v1.version_number(answer.model_version)
        if version < 0:  # Triton numbers its versions: another server may have replaced it
            return None
        tensors = {tensor.name: tensor for tensor in answer.outputs}
        batch, results = self._request.batch_size, {}
        for key, name, datatype in expected:
            tensor = tensors.get(name)
            if tensor is None or tensor.data is None or tensor.datatype != datatype:
                return None
            shape = tensor.shape
            if self.profile.batching:
                if shape[:1] != (batch,):
                    return None
                shape = shape[1:]
            if len(shape) > MAX_DIMS:
                return None
            try:
                results[key] = read(arrays, datatype, shape, tensor.data, batch)
            except (InferenceServerException, UnreadableReply):
                return None
        return V1Reply(answer.model_name or self.profile.name, version, batch, ()), results

    def _arrays_expected(self) -> list[tuple[Any, str, str]]:
        """Return key, name and datatype of each output; nothing if one is no plain array."""
        expected = []
        for key, output, _ in self.options.outputs:
            spec = self.profile.outputs[output.name]
            if self._classified or spec.is_shape_tensor or not dtypes.itemsize(spec.datatype):
                return []
            expected.append((key, output.name, spec.datatype))
        return expected


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
        not profile.server.configurations  # the profile is asked for again after a time
        or type(inputs) is not dict
        or type(outputs) is not dict
        or len(inputs) != len(request.inputs)
        or not all(map(_is_plain, outputs.values()))
        or not 0 < len({output.name for output in request.outputs}) == len(outputs)
        or not options.batch_size
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

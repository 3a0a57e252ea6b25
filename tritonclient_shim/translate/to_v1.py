"""InferReply → V1Reply: outputs in the order they were asked for, without batch dimension."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import ServerFault
from tritonclient_shim.core.model import (
    InferReply,
    ModelProfile,
    TensorOut,
    TensorSpec,
    V1Class,
    V1Output,
    V1Reply,
    V1Request,
    V1Result,
)
from tritonclient_shim.translate import classes, to_v2, versions
from tritonclient_shim.translate.wording import class_not_available

#: Labels by class index of one output, given the highest index that must be covered.
Labels = Callable[[TensorSpec, int], Sequence[str]]


def v1_reply(
    profile: ModelProfile, request: V1Request, reply: InferReply, labels: Labels
) -> V1Reply:
    """A v2 reply → the v1 reply; an output that the server left out is left out here too.

    ServerFault where v1's server refused what the model had produced. ``labels`` is asked
    for the labels of an output that is classified here rather than by the server. A version
    that is no number is -1 (see :func:`versions.number_of`).
    """
    tensors = {tensor.name: tensor for tensor in reply.outputs}
    results = [
        _result(profile, request, item, tensors[item.name], labels)
        for item in request.outputs
        if item.name in tensors
    ]
    raised = V1Reply(
        reply.model_name or profile.name,
        versions.number_of(reply.model_version),
        request.batch_size,
        tuple(results),
        request.id,
    )
    if reply.form is not None:
        reply.form.reading = _reading(request, reply, raised)
    return raised


class _Reading(NamedTuple):
    """What raising a reply comes to for all replies of its form, to requests of one plan."""

    outputs: tuple[V1Output, ...]  # those of the request
    batch_size: int
    reply: V1Reply
    results: tuple[tuple[int, str, str, tuple[int, ...]], ...]  # place, name, datatype, dims


def _reading(request: V1Request, reply: InferReply, raised: V1Reply) -> _Reading | None:
    if any(item.class_count is not None or item.shm for item in request.outputs):
        return None
    places = {tensor.name: place for place, tensor in enumerate(reply.outputs)}
    results = [(places[one.name], one.name, one.datatype, one.dims) for one in raised.outputs]
    return _Reading(
        request.outputs, request.batch_size, raised._replace(outputs=()), tuple(results)
    )


def raise_again(request: V1Request, reply: InferReply) -> V1Reply | None:
    """The same as :func:`v1_reply`, where its outcome is known but for the data."""
    reading = _known(request, reply)
    if reading is None:
        return None
    results = []
    for place, name, datatype, dims in reading.results:
        data: Any = reply.outputs[place].data
        results.append(V1Result(name, datatype, dims, len(data), data))
    known = reading.reply
    return V1Reply(
        known.model_name, known.model_version, known.batch_size, tuple(results), request.id
    )


def _known(request: V1Request, reply: InferReply) -> _Reading | None:
    reading: _Reading | None = None if reply.form is None else reply.form.reading
    if reading is None or reading.outputs is not request.outputs:
        return None
    return reading if reading.batch_size == request.batch_size else None


def refusal(profile: ModelProfile, request: V1Request, reply: InferReply) -> ServerFault | None:
    """A v2 reply → how v1's server would have refused it, before anyone asks for its results."""
    if _known(request, reply) is not None:
        return None
    tensors = {tensor.name: tensor for tensor in reply.outputs}
    try:
        for item in request.outputs:
            if item.name in tensors:
                _check(profile, request, item, tensors[item.name])
    except ServerFault as fault:
        return fault
    return None


def _check(profile: ModelProfile, request: V1Request, item: V1Output, tensor: TensorOut) -> None:
    spec = profile.outputs.get(item.name) or TensorSpec(item.name, tensor.datatype, ())
    if item.class_count and spec.datatype not in classes.CLASSIFIABLE:
        raise ServerFault(class_not_available(item.name, spec.datatype), "UNSUPPORTED")
    if item.class_count and tensor.datatype == dtypes.STRING.v2:  # the server has classified it
        return
    _entry_dims(profile, request, spec, tensor)
    if item.class_count and not tensor.data:
        # An empty output cannot be classified: v1's server refused it (docs/v1-behaviour.md §E.1).
        raise ServerFault(class_not_available(item.name, spec.datatype), "UNSUPPORTED")


def _result(
    profile: ModelProfile,
    request: V1Request,
    item: V1Output,
    tensor: TensorOut,
    labels: Labels,
) -> V1Result:
    _check(profile, request, item, tensor)
    spec = profile.outputs.get(item.name) or TensorSpec(item.name, tensor.datatype, ())
    if item.class_count and tensor.datatype == dtypes.STRING.v2:  # the server has classified it
        texts = classes.from_texts(tensor.data or b"", request.batch_size)
        found = [row[: item.class_count] for row in texts]
        return V1Result(item.name, spec.datatype, (), 0, classes=found)
    dims = _entry_dims(profile, request, spec, tensor)
    if item.class_count:
        found = _classify(spec, item.class_count, tensor, request.batch_size, labels)
        return V1Result(item.name, spec.datatype, dims, 0, classes=found)
    size = _byte_size(spec, tensor, dims, request.batch_size)
    shm = item.shm if tensor.data is None else None
    # A type that is newer than the table of them here has a name in the reply only.
    datatype = spec.datatype or tensor.datatype
    return V1Result(item.name, datatype, dims, size, tensor.data, shm)


def _entry_dims(
    profile: ModelProfile, request: V1Request, spec: TensorSpec, tensor: TensorOut
) -> tuple[int, ...]:
    """Shape of a v2 tensor → dims of one batch entry.

    v2 does not check that a model returned a row per batch entry; v1's server did
    (docs/v1-behaviour.md §3.4).
    """
    if not profile.batching or spec.is_shape_tensor:
        return tensor.shape
    if tensor.shape[:1] != (request.batch_size,):
        raise ServerFault(
            f"output '{spec.name}' for model '{profile.name}' has shape "
            f"{to_v2.shape_text(tensor.shape)} but model configuration specifies shape "
            f"{to_v2.shape_text((request.batch_size, *spec.dims))}",
            "INTERNAL",
        )
    return tensor.shape[1:]


def _byte_size(spec: TensorSpec, tensor: TensorOut, dims: tuple[int, ...], batch_size: int) -> int:
    if type(tensor.data) is bytes:
        return len(tensor.data)
    if tensor.data is not None:
        return memoryview(tensor.data).nbytes
    return batch_size * to_v2.byte_size(spec.datatype, dims)


def _classify(
    spec: TensorSpec, count: int, tensor: TensorOut, batch_size: int, labels: Labels
) -> list[list[V1Class]]:
    """Raw scores of a batch → the best classes of each entry, the entry flattened
    (docs/v1-behaviour.md §4.2).
    """
    scores = np.frombuffer(tensor.data or b"", dtype=dtypes.BY_V2[spec.datatype].numpy)
    rows = scores.reshape(batch_size, -1)
    known = labels(spec, rows.shape[1])
    return classes.from_scores(rows, count, known)

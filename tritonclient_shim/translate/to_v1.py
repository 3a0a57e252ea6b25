"""InferReply → V1Reply: outputs in the order they were asked for, without batch dimension."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Sequence

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
    profile: ModelProfile, request: V1Request, reply: InferReply, labels: Labels | None
) -> V1Reply:
    """A v2 reply → the v1 reply; an output that the server left out is left out here too.

    ServerFault where v1's server refused what the model had produced. ``labels`` is asked
    for the labels of an output that is classified here rather than by the server; it may be
    None where no output is. A version that is no number is -1 (see
    :func:`versions.number_of`).
    """
    tensors = {tensor.name: tensor for tensor in reply.outputs}
    results = [
        _result(profile, request, item, tensors[item.name], labels)
        for item in request.outputs
        if item.name in tensors
    ]
    return V1Reply(
        reply.model_name or profile.name,
        versions.number_of(reply.model_version),
        request.batch_size,
        tuple(results),
        request.id,
    )


def fits(profile: ModelProfile, reply: InferReply) -> bool:
    """Has the reply the outputs and data types of this profile, or those of a model since?

    Classes that the server has made are strings, whatever the output's type.
    """
    for tensor in reply.outputs:
        spec = profile.outputs.get(tensor.name)
        if spec is None and profile.open_outputs:
            continue
        if spec is None:
            return False
        if spec.datatype not in (tensor.datatype, "") and tensor.datatype != dtypes.STRING.v2:
            return False
    return True


def refusal(profile: ModelProfile, request: V1Request, reply: InferReply) -> ServerFault | None:
    """A v2 reply → how v1's server would have refused it, before anyone asks for its results."""
    tensors = {tensor.name: tensor for tensor in reply.outputs}
    try:
        for item in request.outputs:
            if item.name in tensors:
                _checked(profile, request, item, tensors[item.name])
    except ServerFault as fault:
        return fault
    return None


def _checked(
    profile: ModelProfile, request: V1Request, item: V1Output, tensor: TensorOut
) -> tuple[TensorSpec, Any]:
    """An output → its configuration, and the dims of one batch entry.

    The dims are None where the server has classified. ServerFault where v1's server refused.
    """
    spec = profile.outputs.get(item.name) or TensorSpec(item.name, tensor.datatype, ())
    if not profile.server.configurations and spec.datatype != tensor.datatype:
        # Metadata promise nothing: the answer alone tells what its bytes are.
        spec = replace(spec, datatype=tensor.datatype)
    if not item.class_count:
        return spec, _entry_dims(profile, request, spec, tensor)
    if spec.datatype not in classes.CLASSIFIABLE:
        raise ServerFault(class_not_available(item.name, spec.datatype), "UNSUPPORTED")
    if tensor.datatype == dtypes.STRING.v2:
        return spec, None
    dims = _entry_dims(profile, request, spec, tensor)
    if not tensor.data:
        # An empty output cannot be classified: v1's server refused it (docs/v1-behaviour.md §E.1).
        raise ServerFault(class_not_available(item.name, spec.datatype), "UNSUPPORTED")
    return spec, dims


def _result(
    profile: ModelProfile,
    request: V1Request,
    item: V1Output,
    tensor: TensorOut,
    labels: Labels | None,
) -> V1Result:
    spec, dims = _checked(profile, request, item, tensor)
    data = tensor.data
    # A type that is newer than the table of them here has a name in the reply only.
    datatype = spec.datatype or tensor.datatype
    if not item.class_count and data is not None:
        size = len(data) if type(data) is bytes else memoryview(data).nbytes
        return V1Result(item.name, datatype, dims, size, data)
    if dims is None:  # the server has classified it
        texts = classes.from_texts(tensor.data or b"", request.batch_size)
        found = [row[: item.class_count] for row in texts]
        return V1Result(item.name, spec.datatype, (), 0, classes=found)
    if item.class_count:
        assert labels is not None
        found = _classify(spec, item.class_count, tensor, request.batch_size, labels)
        return V1Result(item.name, spec.datatype, dims, 0, classes=found)
    size = request.batch_size * to_v2.byte_size(spec.datatype, dims)
    return V1Result(item.name, datatype, dims, size, None, item.shm)


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
        if not profile.server.configurations:
            return _without_batch(profile, request, tensor)
        raise ServerFault(
            f"output '{spec.name}' for model '{profile.name}' has shape "
            f"{to_v2.shape_text(tensor.shape)} but model configuration specifies shape "
            f"{to_v2.shape_text((request.batch_size, *spec.dims))}",
            "INTERNAL",
        )
    dims = tensor.shape[1:]
    return dims if dims or profile.server.configurations else (1,)  # see TensorSpec.scalar


def _without_batch(profile: ModelProfile, request: V1Request, tensor: TensorOut) -> tuple[int, ...]:
    """Dims of a tensor without batch dimension, from a server that promises none: all of it
    belongs to the only batch entry.
    """
    if request.batch_size == 1:
        return tensor.shape or (1,)
    raise ServerFault(
        f"output '{tensor.name}' of model '{profile.name}' has shape "
        f"{to_v2.shape_text(tensor.shape)} in the answer to {request.batch_size} batch entries; "
        "expected as many rows: send one entry at a time, or, for a model without a batch "
        "dimension, say max_batch_size 0 in the setting models",
        "INTERNAL",
    )


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

"""A v2 server's answers → v1's: InferReply → V1Reply, outputs in the order of the request, without
batch dimension; and error texts, since scripts test for v1's words.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Callable, Match, NamedTuple, Sequence

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import (
    InferReply,
    ModelProfile,
    TensorOut,
    TensorSpec,
    V1Output,
    V1Reply,
    V1Request,
    V1Result,
)
from tritonclient_shim.core.server_sentences import FAILED_VERSION, Meaning, recognise
from tritonclient_shim.translate import classes, to_v2

#: Labels by class index of one output, given the highest index that must be covered.
Labels = Callable[[TensorSpec, int], Sequence[str]]

#: v1's number for the latest version, also of a version that has no number.
_LATEST = -1
#: The versions that v1 knew: names of folders, numbers of at most 64 bits.
_VERSION = re.compile(r"[0-9]{1,19}")


def v1_reply(
    profile: ModelProfile, request: V1Request, reply: InferReply, labels: Labels | None
) -> V1Reply:
    """Return the v1 reply, without outputs that the server left out.

    Raise ServerError where v1's server refused what the model had produced. ``labels`` has the
    labels of outputs that are classified here rather than by the server. It may be None if no
    output is classified.
    """
    tensors = {tensor.name: tensor for tensor in reply.outputs}
    results = [
        _result(profile, request, item, tensors[item.name], labels)
        for item in request.outputs
        if item.name in tensors
    ]
    return V1Reply(
        reply.model_name or profile.name,
        version_number(reply.model_version),
        request.batch_size,
        tuple(results),
        request.id,
    )


@lru_cache(maxsize=256)
def version_number(version: str) -> int:
    """Return v1's number of a v2 server's version; -1 for what is no number.

    KServe v2 allows any text, such as ``v2.0``, and none at all. v1 asked for the latest version by
    -1. So a context with the number of a reply or a status finds a version of that model, where 0
    would find none.
    """
    number = int(version) if _VERSION.fullmatch(version) else _LATEST
    return number if number < 2**63 else _LATEST


def fits(profile: ModelProfile, reply: InferReply, classified: bool = False) -> bool:
    """True if the reply has outputs and data types of this profile, not those of a reload.

    Classes that the server has made are strings, whatever the output's type. So any output may be
    strings if classes were asked for.
    """
    for tensor in reply.outputs:
        spec = profile.outputs.get(tensor.name)
        if spec is None and profile.open_outputs:
            continue
        if spec is None:
            return False
        may_be_classes = classified and tensor.datatype == dtypes.STRING.v2
        if spec.datatype not in (tensor.datatype, "") and not may_be_classes:
            return False
    return True


def _result(
    profile: ModelProfile,
    request: V1Request,
    item: V1Output,
    tensor: TensorOut,
    labels: Labels | None,
) -> V1Result:
    spec = profile.outputs.get(item.name) or TensorSpec(item.name, tensor.datatype, ())
    if not profile.server.configurations and spec.datatype != tensor.datatype:
        # Metadata promise nothing: the reply alone says what its bytes are.
        spec = replace(spec, datatype=tensor.datatype)
    data = tensor.data
    batch_size = request.batch_size
    count = item.form.class_count
    # A type that is newer than the table of them here has a name in the reply only.
    datatype = spec.datatype or tensor.datatype
    classifiable = spec.datatype in classes.CLASSIFIABLE
    if count and classifiable and tensor.datatype == dtypes.STRING.v2:  # the server has classified
        entries = classes.from_texts(data or b"", batch_size)
        return V1Result(item.name, datatype, (), 0, classes=[entry[:count] for entry in entries])
    dims = _entry_dims(profile, request, spec, tensor) if classifiable or not count else ()
    if count:
        # docs/v1-behaviour.md §4.2: the best classes of each entry, the entry flattened
        if not classifiable or not data:
            # v1's server refused empty outputs, too (docs/v1-behaviour.md §E.1).
            raise ServerError(
                f"class result not available for output '{item.name}' due to unsupported type "
                f"'{dtypes.v1_name(spec.datatype)}'",
                "UNSUPPORTED",
            )
        scores = np.frombuffer(data, dtype=dtypes.BY_V2[datatype].numpy)
        rows = scores.reshape(batch_size, -1)
        known = labels(spec, rows.shape[1]) if labels else ()
        return V1Result(
            item.name, datatype, dims, 0, classes=classes.from_scores(rows, count, known)
        )
    if data is None:
        size = batch_size * to_v2.byte_size(datatype, dims)
        return V1Result(item.name, datatype, dims, size, None, item.shm)
    size = len(data) if type(data) is bytes else memoryview(data).nbytes
    return V1Result(item.name, datatype, dims, size, data)


def _entry_dims(
    profile: ModelProfile, request: V1Request, spec: TensorSpec, tensor: TensorOut
) -> tuple[int, ...]:
    """Return the dims of one batch entry.

    v2 does not check that a model returned a row per batch entry; v1's server did
    (docs/v1-behaviour.md §3.4).
    """
    shape, batch_size = tensor.shape, request.batch_size
    described = profile.server.configurations
    if not profile.batching or spec.is_shape_tensor:
        return shape
    if shape[:1] == (batch_size,):
        return shape[1:] or (() if described else (1,))  # see TensorSpec.scalar
    if described:
        raise ServerError(
            f"output '{spec.name}' for model '{profile.name}' has shape "
            f"{to_v2.shape_text(shape)} but model configuration specifies shape "
            f"{to_v2.shape_text((batch_size, *spec.dims))}",
            "INTERNAL",
        )
    if batch_size == 1:  # a server that promises no batch dimension: all is the only entry's
        return shape or (1,)
    raise ServerError(
        f"output '{spec.name}' of model '{profile.name}' has shape {to_v2.shape_text(shape)} in "
        f"the answer to {batch_size} batch entries; expected as many rows: send one entry at a "
        "time, or, for a model without a batch dimension, say max_batch_size 0 in the setting "
        "models",
        "INTERNAL",
    )


# ------------------------------------------------------------------------------- error texts


class RequestContext(NamedTuple):
    """The parts of a refused request that v1's sentence names and v2's does not."""

    model: str = ""
    version: str = ""
    batching: bool = False  # shapes in v2 begin with the batch dimension


def v1_text(message: str, context: RequestContext) -> str:
    """Return v1's wording of a v2 server's message, or the message itself if v1 had the same words
    (docs/v1-behaviour.md §E.8).
    """
    sentence = recognise(message, _WORDINGS)
    if sentence is None:
        return message
    meaning, match = sentence
    return _WORDINGS[meaning](match, context)


def _correlation_id(match: Match[str], context: RequestContext) -> str:
    return match.string.replace(" or non-empty", "")


def _shape(match: Match[str], context: RequestContext) -> str:
    expected, got = (_entry_shape(dims, context.batching) for dims in match.group(2, 3))
    return f"{match.string[: match.start()]}{match[1]}Expected {expected}, got {got}"


def _entry_shape(dims: str, batching: bool) -> str:
    """Return ``[3,4]`` for ``2,3,4`` if the model batches: v1's shapes had no batch dimension."""
    sizes = [size.strip() for size in dims.split(",") if size.strip()]
    return f"[{','.join(sizes[1:] if batching else sizes)}]"


def _load_unknown(match: Match[str], context: RequestContext) -> str:
    return f"failed to load '{match[1]}', no version is available"


def _load_failed(match: Match[str], context: RequestContext) -> str:
    versions = re.findall(FAILED_VERSION, match.string)
    return f"failed to load '{match[1]}', versions that are not available: {','.join(versions)}"


def _version(match: Match[str], context: RequestContext) -> str:
    return f"Request for unknown model: '{context.model}' version {context.version} is not found"


#: What v1 said in place of a v2 server's sentence, by the sentence's meaning.
_WORDINGS: dict[Meaning, Callable[[Match[str], RequestContext], str]] = {
    Meaning.CORRELATION_ID_MISSING: _correlation_id,
    Meaning.UNEXPECTED_SHAPE: _shape,
    Meaning.LOAD_UNKNOWN: _load_unknown,
    Meaning.LOAD_FAILED: _load_failed,
    Meaning.VERSION_NOT_POSITIVE: _version,
}

"""A v2 server's answers → v1's: InferReply → V1Reply, outputs in the order of the request, without
batch dimension; and error texts, since scripts test for v1's words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Callable, Match, NamedTuple, Sequence

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import (
    InferReply,
    TensorOut,
    V1Output,
    V1Reply,
    V1Result,
)
from tritonclient_shim.servers.base import ModelProfile, TensorSpec
from tritonclient_shim.servers.triton_sentences import FAILED_VERSION, Meaning, recognise
from tritonclient_shim.translate import classes, to_v2

#: Labels by class index of one output, given the number of its classes.
Labels = Callable[[TensorSpec, int], Sequence[str]]

#: v1's number for the latest version, also of a version that has no number.
_LATEST = -1
#: The versions that v1 knew: names of folders, numbers of at most 64 bits.
_VERSION = re.compile(r"[0-9]{1,19}")


class ReplyPlan:
    """How the replies to requests of one kind are read: all but their data and ids.

    Requests of one kind have a model, a batch size and outputs in common. ``profile`` is the model.
    ``is_classified`` is True if any output is to be classified. Nothing in the plan changes, so any
    thread may use it.
    """

    def __init__(
        self, profile: ModelProfile, batch_size: int, outputs: tuple[V1Output, ...]
    ) -> None:
        self.profile = profile
        self.is_classified = bool([item for item in outputs if item.form.class_count])
        self._batch_size = batch_size
        self._readers = [(item.name, _reader_of(profile, batch_size, item)) for item in outputs]
        #: The data types that an output may have, by its name; None for any.
        self._datatypes = {name: self._expected(spec) for name, spec in profile.outputs.items()}
        #: Those of outputs that the model does not declare.
        self._undeclared: tuple[str, ...] | None = ()
        if profile.dialect.may_have_outputs(profile):
            self._undeclared = None

    def _expected(self, spec: TensorSpec) -> tuple[str, ...] | None:
        # Classes that the server has made are strings, whatever the output's type. So any output
        # may be strings if classes were asked for.
        if not spec.datatype:
            return None
        return (spec.datatype, dtypes.STRING.v2) if self.is_classified else (spec.datatype,)

    def fits(self, reply: InferReply) -> bool:
        """True if the reply has outputs and data types of this profile, not those of a reload."""
        for tensor in reply.outputs:
            expected = self._datatypes.get(tensor.name, self._undeclared)
            if expected is not None and tensor.datatype not in expected:
                return False
        return True

    def read(self, reply: InferReply, id: int, labels: Labels | None) -> V1Reply:
        """Return the v1 reply to the request ``id``, without outputs that the server left out.

        Raise ServerError where v1's server refused what the model had produced. ``labels`` has the
        labels of outputs that are classified here rather than by the server. It may be None if no
        output is classified.
        """
        tensors = {tensor.name: tensor for tensor in reply.outputs}
        results = []
        for name, reader in self._readers:
            tensor = tensors.get(name)
            if tensor is not None:
                results.append(reader.read(tensor, labels))
        return V1Reply(
            reply.model_name or self.profile.name,
            version_number(reply.model_version),
            self._batch_size,
            tuple(results),
            id,
        )


def version_number(version: str) -> int:
    """Return v1's number of a v2 server's version; -1 for what is no number.

    KServe v2 allows any text, such as ``v2.0``, and none at all. v1 asked for the latest version by
    -1. So a context with the number of a reply or a status finds a version of that model, where 0
    would find none.
    """
    number = int(version) if _VERSION.fullmatch(version) else _LATEST
    return number if number < 2**63 else _LATEST


@dataclass(frozen=True)
class _OutputReader:
    """Makes the v1 result of a requested output from its tensor in a reply.

    ``spec`` is None if only the tensor has the data type. Else ``shape`` is that of a tensor whose
    entries have the dims of the model, as almost all do.
    """

    profile: ModelProfile
    batch_size: int
    output: V1Output
    spec: TensorSpec | None
    shape: tuple[int, ...] | None
    batched: bool  # the tensor has a row for each batch entry

    def read(self, tensor: TensorOut, labels: Labels | None) -> V1Result:
        """Return the result. Raise ServerError where v1's server refused the tensor."""
        output = self.output
        spec = self.spec or _spec_of(self.profile, tensor)
        if output.form.class_count:
            return self._classified(spec, tensor, labels)
        # A type that is newer than the table of them here has a name in the reply only.
        datatype = spec.datatype or tensor.datatype
        shape = tensor.shape
        dims = spec.dims if shape == self.shape else self._entry_dims(spec, shape)
        data = tensor.data
        if data is None:
            size = self.batch_size * to_v2.byte_size(datatype, dims)
            return V1Result(output.name, datatype, dims, size, shm=output.shm)
        return V1Result(output.name, datatype, dims, len(data), data)

    def _classified(self, spec: TensorSpec, tensor: TensorOut, labels: Labels | None) -> V1Result:
        """Return the best classes of each batch entry, the entry flattened
        (docs/v1-behaviour.md §4.2).
        """
        name = self.output.name
        count = self.output.form.class_count
        datatype = spec.datatype
        data = tensor.data
        classifiable = datatype in classes.CLASSIFIABLE
        if classifiable and tensor.datatype == dtypes.STRING.v2:  # the server has classified
            entries = classes.from_texts(data or b"", self.batch_size)
            return V1Result(name, datatype, (), 0, classes=[entry[:count] for entry in entries])
        dims = self._entry_dims(spec, tensor.shape) if classifiable else ()
        if not classifiable or not data:
            # v1's server refused empty outputs, too (docs/v1-behaviour.md §E.1).
            raise ServerError(
                f"class result not available for output '{name}' due to unsupported type "
                f"'{dtypes.v1_name(datatype)}'",
                "UNSUPPORTED",
            )
        scores = np.frombuffer(data, dtype=dtypes.BY_V2[datatype].numpy)
        rows = scores.reshape(self.batch_size, -1)
        known = labels(spec, rows.shape[1]) if labels else ()
        return V1Result(name, datatype, dims, 0, classes=classes.from_scores(rows, count, known))

    def _entry_dims(self, spec: TensorSpec, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the dims of one batch entry. Raise ServerError if the tensor has none for each."""
        if not self.batched:
            return shape
        if len(shape) > 1 and shape[0] == self.batch_size:
            return shape[1:]
        profile = self.profile
        return profile.dialect.entry_dims_of_other(profile, spec, shape, self.batch_size)


def _reader_of(profile: ModelProfile, batch_size: int, output: V1Output) -> _OutputReader:
    spec = profile.outputs.get(output.name)
    batched = profile.batching and not (spec is not None and spec.is_shape_tensor)
    if not profile.dialect.replies_as_described:
        spec = None
    shape = None
    if spec is not None:
        shape = (batch_size, *spec.dims) if batched else spec.dims
    return _OutputReader(
        profile=profile,
        batch_size=batch_size,
        output=output,
        spec=spec,
        shape=shape,
        batched=batched,
    )


def _spec_of(profile: ModelProfile, tensor: TensorOut) -> TensorSpec:
    """Return the spec of a tensor of which the reply alone says what its bytes are."""
    spec = profile.outputs.get(tensor.name) or TensorSpec(tensor.name, tensor.datatype, ())
    return spec if spec.datatype == tensor.datatype else replace(spec, datatype=tensor.datatype)


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

"""Labels of classification outputs: v2 tells them only inside classification results.

A stateless model is asked once more with the same inputs, for every class, when its labels
are first needed; the labels are kept per output and model version. A model with state is
never asked twice (docs/v2-mapping.md §1).
"""

from __future__ import annotations

from typing import Sequence

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.model import (
    InferCall,
    ModelProfile,
    OutputSpec,
    TensorSpec,
    V1Class,
    V1Request,
)
from tritonclient_shim.translate import classes, to_v2
from tritonclient_shim.translate.to_v1 import Labels


class LabelBook:
    """What has been learned of the labels of one model."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], list[str]] = {}

    def reader(
        self, backend: Backend, profile: ModelProfile, request: V1Request, version: str
    ) -> Labels:
        """How to get labels while reading the reply to ``request`` from model ``version``."""

        def labels(spec: TensorSpec, count: int) -> Sequence[str]:
            declared = profile.labels.get(spec.name)
            if declared and not to_v2.has_labels(profile, spec):
                return declared[:count]
            if not to_v2.has_labels(profile, spec) or to_v2.stateful(profile, request):
                return ()
            key = (spec.name, version)
            known = self._labels.get(key, [])
            if len(known) < count:
                found = _learn(backend, profile, request, version, spec)
                known = self._labels[key] = classes.labels_by_index(found, count)
            return known

        return labels


def _learn(
    backend: Backend, profile: ModelProfile, request: V1Request, version: str, spec: TensorSpec
) -> list[V1Class]:
    asked = to_v2.infer_call(profile, request, backend.endpoint.protocol)
    everything = (OutputSpec(spec.name, classes.ALL_CLASSES),)
    reply = backend.infer(InferCall(profile.name, version, asked.inputs, everything))
    found = [one.data for one in reply.outputs if one.datatype == dtypes.STRING.v2]
    # A v2 server without the classification extension answers with the tensor, if with any.
    rows = classes.from_texts(found[0] or b"", request.batch_size) if found else []
    return rows[0] if rows else []

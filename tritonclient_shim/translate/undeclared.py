"""Tensors that a model does not declare, as the caller's arguments tell them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import ModelProfile, TensorSpec, V1Request
from tritonclient_shim.translate import arguments
from tritonclient_shim.translate.request import RunArguments
from tritonclient_shim.translate.tensors import check_input_type

_BY_NUMPY = {row.numpy: row.v2 for row in dtypes.TABLE if row.numpy is not None}


def _is_open(profile: ModelProfile) -> bool:
    untyped = any(not spec.datatype for spec in profile.inputs.values())
    return profile.open_inputs or profile.open_outputs or untyped


def completed(profile: ModelProfile, given: RunArguments) -> ModelProfile:
    """The profile with the inputs and outputs that a request names; types are those of arrays.

    The profile itself where the model declares all. InferenceServerException for arrays that no
    tensor can be made of.
    """
    if profile.server.configurations or not _is_open(profile):
        return profile
    for key, value in given.inputs.items():
        check_input_type(key, value)
    specs = dict(profile.inputs)
    for key, value in given.inputs.items():
        name = arguments.text(key, "an input name", 3)
        known = specs.get(name)
        if known is not None and known.datatype or known is None and not profile.open_inputs:
            continue
        specs[name] = _input(name, value, profile)
    names = dict(profile.outputs)
    if profile.open_outputs:
        for key in given.outputs:
            name = arguments.text(key, "an output name", 3)
            names.setdefault(name, TensorSpec(name, "", ()))
    return replace(profile, inputs=specs, outputs=names)


def with_types(profile: ModelProfile, request: V1Request) -> V1Request:
    """A request whose inputs have the data types of the profile that they were bound to."""
    specs = profile.inputs
    typed = (one._replace(datatype=specs[one.name].datatype) for one in request.inputs)
    return request._replace(inputs=tuple(typed))


def _input(name: str, value: Any, profile: ModelProfile) -> TensorSpec:
    arrays = list(value) if isinstance(value, (list, tuple)) else []
    arrays = [one for one in arrays if isinstance(one, np.ndarray)]
    if not arrays:
        raise InferenceServerException(
            f"model '{profile.name}' does not declare the data type of its input '{name}', and no "
            "array tells it; expected a list of numpy arrays: pass one per batch entry, or name "
            "the type in the setting models"
        )
    kinds = {one.dtype for one in arrays}
    datatype = _datatype(arrays[0].dtype)
    if len(kinds) > 1 and {_datatype(kind) for kind in kinds} != {"BYTES"} or not datatype:
        told = ", ".join(sorted(map(str, kinds)))
        raise InferenceServerException(
            f"input '{name}' of model '{profile.name}' is not declared by the model, and its "
            f"arrays are of type {told}; expected one of the types of KServe v2 for all of them: "
            "convert the arrays with astype, or name the type in the setting models"
        )
    return TensorSpec(name, datatype, tuple(arrays[0].shape))


def _datatype(kind: np.dtype[Any]) -> str:
    return dtypes.STRING.v2 if kind.kind in "OSU" else _BY_NUMPY.get(kind, "")

"""Requests like one before: what was checked and lowered for that one is not done again.

A plan is for requests that name the same inputs and outputs, with arrays of the same shapes that
are the tensors' bytes as they are, and have nothing in shared memory. Every condition that could
refuse such a request, or change its form, is part of its key or tested by :func:`tensors`;
whatever is not met goes the long way through :mod:`.request` and :mod:`.lower`.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Hashable, Mapping, NamedTuple, Tuple

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.forms import CallForm
from tritonclient_shim.core.model import (
    FLAG_SEQUENCE_END,
    FLAG_SEQUENCE_START,
    InferCall,
    ModelProfile,
    TensorIn,
    V1Input,
    V1Request,
)
from tritonclient_shim.translate import arguments, to_v2
from tritonclient_shim.translate.request import Options

Tensors = Tuple[TensorIn, ...]

#: Plans of one context; one that sends more kinds of requests starts over.
MOST = 64

_type_of = attrgetter("__class__")
_dtype_of = attrgetter("dtype")
_shape_of = attrgetter("shape")
_contiguous = attrgetter("flags.c_contiguous")


class PlannedInput(NamedTuple):
    """One input: the caller's key, what its arrays must be, and the tensor without them."""

    key: Any
    dtype: np.dtype[Any]
    dims: tuple[int, ...]
    rows: int
    tensor: TensorIn


class Plan(NamedTuple):
    """What the requests of one kind have in common."""

    inputs: tuple[PlannedInput, ...]
    shapes: Mapping[str, tuple[int, ...]]  # by input name
    options: Options  # numbers are those of the first
    request: V1Request  # without inputs; numbers are those of the first
    call: InferCall  # without inputs
    classes: bool  # are any asked for?
    sequence: bool | None  # for requests with, or without, correlation id or flags; None: both

    def holds(self, correlation_id: int, flags: int) -> bool:
        """Is it for requests with these, too?

        They decide who classifies an output that has labels, the server or this client; see
        :func:`~tritonclient_shim.translate.to_v2.server_classifies`.
        """
        return self.sequence is None or self.sequence == bool(correlation_id or flags)


class Plans:
    """The plans of one context."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Plan] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(
        self, inputs: Mapping[Any, Any], outputs: Mapping[Any, Any], batch_size: Any
    ) -> tuple[Hashable, tuple[Plan, Tensors] | None]:
        """A request's key, and the plan it is one of with its tensors, if there is one.

        The key is None when there can be no plan for such a request. v1 took anything with
        ``items`` (docs/v1-behaviour.md §3.3); plans are for plain dicts.
        """
        if type(inputs) is not dict or type(outputs) is not dict:
            return None, None
        try:
            key = key_of(inputs, outputs, batch_size)
            plan = self._known.get(key)
        except (AttributeError, LookupError, TypeError):
            return None, None
        made = None if plan is None else tensors(plan, inputs)
        return key, None if plan is None or made is None else (plan, made)

    def keep(self, key: Hashable, plan: Plan | None) -> None:
        """Remember the plan under its key, if there is one."""
        if plan is None:
            return
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = plan


def key_of(inputs: Mapping[Any, Any], outputs: Mapping[Any, Any], batch_size: Any) -> Hashable:
    """What the requests of one plan agree on.

    Keys of equal value and other type are other keys: results come under the caller's own.
    TypeError, AttributeError or LookupError where the arguments are not of the usual kind; the
    key itself may turn out not to be hashable.
    """
    return (
        type(batch_size),
        batch_size,
        *inputs,
        *[value[0].shape for value in inputs.values()],
        *outputs,
        *map(type, outputs),
        *outputs.values(),
        *[type(part) for value in outputs.values() for part in value],
    )


def tensors(plan: Plan, inputs: Mapping[Any, Any]) -> Tensors | None:
    """The input tensors of a request; None where an array is not its tensor's bytes as it is."""
    made = []
    for item in plan.inputs:
        arrays = inputs[item.key]
        if type(arrays) is not list or not _fit(arrays, item):
            return None
        name, datatype, shape, _, byte_size, _ = item.tensor
        made.append(TensorIn(name, datatype, shape, tuple(arrays), byte_size))
    return tuple(made)


def _fit(arrays: list[Any], item: PlannedInput) -> bool:
    rows = item.rows
    if rows == len(arrays) == 1:
        one = arrays[0]
        same = type(one) is np.ndarray and one.dtype == item.dtype and one.shape == item.dims
        return same and one.flags.c_contiguous
    return (
        len(arrays) == rows
        and [*map(_type_of, arrays)].count(np.ndarray) == rows
        and [*map(_dtype_of, arrays)].count(item.dtype) == rows
        and [*map(_shape_of, arrays)].count(item.dims) == rows
        and all(map(_contiguous, arrays))
    )


def plan_for(
    profile: ModelProfile,
    inputs: Mapping[Any, Any],
    options: Options,
    request: V1Request,
    call: InferCall,
) -> Plan | None:
    """The plan that a request, bound and lowered the long way, is the first of."""
    if any(item.shm for item in request.outputs):
        return None
    given = {arguments.text(key, "an input name", 3): key for key in inputs}
    if len(given) != len(inputs):
        return None
    planned = []
    for bound, tensor in zip(request.inputs, call.inputs):
        key = given[bound.name]
        dtype = dtypes.BY_V2[profile.inputs[bound.name].datatype].numpy
        if bound.shm or not bound.dims or dtype is None or dtype.hasobject:
            return None
        bare = tensor._replace(chunks=())
        item = PlannedInput(key, dtype, bound.dims, len(bound.chunks), bare)
        if type(inputs[key]) is not list or not _fit(inputs[key], item):
            return None
        planned.append(item)
    form = CallForm()
    classes = any(item.class_count for item in request.outputs)
    return Plan(
        tuple(planned),
        {item.tensor.name: item.dims for item in planned},
        options,
        request._replace(inputs=()),
        call._replace(inputs=(), form=form),
        classes,
        to_v2.stateful(profile, request) if classes and not profile.stateful else None,
    )


def call_of(
    plan: Plan, made: Tensors, numbers: arguments.Numbers, correlation_id: int, client_id: int
) -> InferCall:
    """A plan, and all that is a request's own → the call that the long way would have made.

    ``numbers`` are those of :func:`~tritonclient_shim.translate.arguments.numbers`.
    """
    flags, _, priority, timeout_us = numbers
    call = plan.call
    return InferCall(
        call.model_name,
        call.model_version,
        made,
        call.outputs,
        str(client_id) if client_id else "",
        correlation_id,
        bool(flags & FLAG_SEQUENCE_START),
        bool(flags & FLAG_SEQUENCE_END),
        priority,
        timeout_us,
        call.form,
    )


def request_of(plan: Plan, made: Tensors) -> V1Request:
    """What reading the reply needs of the request: all but its own numbers and ids.

    The input data are there only where labels may have to be learned with them
    (docs/v1-behaviour.md §4.2).
    """
    return plan.request._replace(inputs=_bound(plan, made)) if plan.classes else plan.request


def _bound(plan: Plan, made: Tensors) -> tuple[V1Input, ...]:
    return tuple(
        V1Input(tensor.name, item.dims, tensor.chunks, tensor.byte_size)
        for item, tensor in zip(plan.inputs, made)
    )

"""The plan of a context's requests: compiled from its first call, run by this and later calls.

Programs call ``run`` in a loop, with new data in arrays of the same kind. :func:`compile_plan`
checks all before the inputs, in v1's order and words. :meth:`Plan.bind` checks and binds the
inputs, numeric arrays without a copy, and numbers and ids. A call of another kind compiles another
plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.model import V1Request
from tritonclient_shim.servers.base import ModelProfile
from tritonclient_shim.translate import request, to_v2
from tritonclient_shim.translate.request import (
    CLASS,
    RAW,
    InputBinder,
    LookUp,
    Options,
    kind_of_array,
)
from tritonclient_shim.translate.to_v1 import ReplyPlan
from tritonclient_shim.translate.to_v2 import CallPlan


@dataclass(frozen=True)
class RequestPlan:
    """What requests of one kind share: how they become v2 calls, and how replies are read.

    These are for one model, have equal inputs but for the data, equal outputs, and the same batch
    size and version. All or none have a correlation id, and likewise flags.
    """

    profile: ModelProfile
    calls: CallPlan
    replies: ReplyPlan
    #: True if a request must keep its place among others, and never be sent twice.
    is_stateful: bool


def compile_request(profile: ModelProfile, v1_request: V1Request, protocol: str) -> RequestPlan:
    """Return the plan of a request. Raise ServerError where v1's server refused it."""
    return RequestPlan(
        profile=profile,
        calls=to_v2.compile_call(profile, v1_request, protocol),
        replies=ReplyPlan(profile, v1_request.batch_size, v1_request.outputs),
        is_stateful=to_v2.stateful(profile, v1_request),
    )


class Plan:
    """How arguments of one kind become requests, and the plans of these.

    ``profile`` is the model that it is compiled for. Nothing in it changes except for the request
    plans that it keeps, so any thread may use it.
    """

    def __init__(
        self,
        profile: ModelProfile,
        full_profile: ModelProfile,
        options: Options,
        binders: list[InputBinder],
        outputs: Any,
    ) -> None:
        self.profile = profile
        self.options = options
        #: The profile with the tensors that only the caller declares.
        self._full_profile = full_profile
        self._binders = binders
        #: The place of each input of the model among the arguments.
        self._places: list[int] = []
        #: The first input of the model that the arguments lack.
        self._missing: str | None = None
        places = {binder.name: place for place, binder in enumerate(binders)}
        for name in full_profile.inputs:
            if name in places:
                self._places.append(places[name])
            elif self._missing is None:
                self._missing = name
        self._outputs = tuple([requested.output for requested in options.outputs])
        self._forms = [*outputs.items()] if _are_plain(outputs) else []
        #: False with shared memory: handles are looked up each time, and no region may be kept.
        self.is_reusable = _are_plain(outputs) and all(binder.kinds for binder in binders)
        #: By whether requests have a correlation id, and flags.
        self._request_plans: dict[tuple[bool, bool], RequestPlan] = {}

    def suits(self, profile: ModelProfile, arguments: RunArguments) -> bool:
        """True if these arguments would compile to an equal plan, whatever their numbers are.

        False if that is uncertain.
        """
        inputs = arguments.inputs
        outputs = arguments.outputs
        if profile is not self.profile or not self.is_reusable:  # the model may be reloaded
            return False
        if type(inputs) is not dict or len(inputs) != len(self._binders):
            return False
        if type(arguments.batch_size) is not int or type(outputs) is not dict:
            return False
        if arguments.batch_size != self.options.batch_size:
            return False
        if len(outputs) != len(self._forms):
            return False
        for (key, form), (known_key, known_form) in zip(outputs.items(), self._forms):
            if key is known_key and form is known_form:
                continue
            # Equal values may have other types: the results have the caller's keys, and 5.0 is no
            # number of classes.
            if type(key) is not type(known_key) or key != known_key:
                return False
            if not _is_plain(form) or form != known_form:
                return False
        try:
            for binder, (key, value) in zip(self._binders, inputs.items()):
                if key != binder.key or type(value) is not list:
                    return False
                if [*map(kind_of_array, value)] != binder.kinds:
                    return False
        except AttributeError:  # not an array
            return False
        return True

    def bind(
        self,
        arguments: RunArguments,
        shapes: request.StickyShapes,
        look_up: LookUp,
        model_version: int,
        correlation_id: int,
        flags: int,
        priority: int,
        timeout_us: int,
        next_id: Callable[[], int],
    ) -> V1Request:
        """Return the request of these arguments. Raise v1's errors of inputs.

        ``correlation_id`` is that of the request, 0 for none. ``next_id`` is called at the end.
        """
        inputs = []
        for binder, value in zip(self._binders, arguments.inputs.values()):
            inputs.append(binder.bind(value, shapes, look_up))
        batch_size = self.options.batch_size or 1
        if self._missing is not None:
            raise request.too_few(self._missing, batch_size, 0)
        v1_request = V1Request(  # by position, see CallPlan.bind
            model_version,
            batch_size,
            tuple([inputs[place] for place in self._places]),
            self._outputs,
            correlation_id,
            flags,
            priority,
            timeout_us,
            next_id(),
        )
        if self._full_profile is not self.profile:
            return self._full_profile.dialect.with_types(self._full_profile, v1_request)
        return v1_request

    def plan_of(self, v1_request: V1Request, protocol: str, profile: ModelProfile) -> RequestPlan:
        """Return the plan of a request that this plan has bound. Raise ServerError.

        The profile is another one if the model was reloaded meanwhile.
        """
        if profile is not self.profile or not self.is_reusable:
            return compile_request(profile, v1_request, protocol)
        kind = (bool(v1_request.correlation_id), bool(v1_request.flags))
        plan = self._request_plans.get(kind)
        if plan is None:
            plan = self._request_plans[kind] = compile_request(profile, v1_request, protocol)
        return plan


def compile_plan(profile: ModelProfile, arguments: RunArguments, look_up: LookUp) -> Plan:
    """Return the plan of a call. Raise v1's errors of everything before the inputs."""
    request.check_input_types(arguments)
    full_profile = profile.dialect.with_tensors_of(profile, arguments)
    options = request.parse_options(full_profile, arguments, look_up)
    batch_size = options.batch_size or 1
    binders = [
        request.compile_input(full_profile, key, value, batch_size)
        for key, value in arguments.inputs.items()
    ]
    return Plan(profile, full_profile, options, binders, arguments.outputs)


def _are_plain(outputs: Any) -> bool:
    """True if all forms are RAW or (CLASS, k), without shared memory."""
    return type(outputs) is dict and all(map(_is_plain, outputs.values()))


def _is_plain(form: Any) -> bool:
    if type(form) is not tuple or {*map(type, form)} != {int}:
        return False
    return form == RAW or (len(form) == 2 and form[0] == CLASS)

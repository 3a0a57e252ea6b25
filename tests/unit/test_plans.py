"""Requests like one before are made as the long way would have made them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonclient_shim.core.errors import ArgumentError, InferenceServerException
from tritonclient_shim.core.model import GRPC, ModelProfile, TensorSpec
from tritonclient_shim.translate import arguments, plans, request, to_v2

ANY = TensorSpec("ANY", "FP32", (-1,))
FIXED = TensorSpec("FIXED", "INT32", (2, 2))
TEXT = TensorSpec("TEXT", "BYTES", (1,))
#: Who classifies it depends on the request.
LABELLED = TensorSpec("LABELLED", "FP32", (4,), "labels.txt")
OUTPUT_SPECS = {"ANY": ANY, "TEXT": TEXT, "LABELLED": LABELLED}
PROFILE = ModelProfile("m", 4, {"ANY": ANY, "FIXED": FIXED}, OUTPUT_SPECS)

# few choices, so that many requests find a plan; most lists are right, some in a single way wrong
FLOATS = np.arange(4, dtype=np.float32)
ARRAYS: list[Any] = [
    FLOATS[:2],
    FLOATS[1:3],
    FLOATS,
    FLOATS[::2],
    FLOATS[:2].astype(np.int32),
    FLOATS[:2].astype(np.float64),
    FLOATS[:2].astype(">f4"),
    FLOATS[:2].reshape(2, 1),
    FLOATS[:0],
    np.float32(1),
    np.matrix([[1, 2]], dtype=np.float32),
    [1.0, 2.0],
]
SQUARES: list[Any] = [
    np.arange(4, dtype=np.int32).reshape(2, 2),
    np.arange(4, dtype=np.int32).reshape(2, 2).T,
    np.arange(4, dtype=np.uint32).reshape(2, 2),
    np.arange(4, dtype=np.int32),
]
LISTS = st.one_of(
    st.lists(st.sampled_from(ARRAYS[:2]), min_size=1, max_size=2),
    st.lists(st.sampled_from(ARRAYS), max_size=2),
    st.sampled_from([(FLOATS,), FLOATS, {0: FLOATS}, None, "text"]),
)
SQUARE_LISTS = st.one_of(
    st.lists(st.just(SQUARES[0]), min_size=1, max_size=2),
    st.lists(st.sampled_from(SQUARES), max_size=2),
)
INPUTS = st.one_of(
    st.fixed_dictionaries({"ANY": LISTS, "FIXED": SQUARE_LISTS}),
    st.fixed_dictionaries({"FIXED": SQUARE_LISTS, b"ANY": LISTS}),
    st.fixed_dictionaries({"FIXED": SQUARE_LISTS}),
    st.fixed_dictionaries({"FIXED": SQUARE_LISTS, b"FIXED": SQUARE_LISTS, "ANY": LISTS}),
)
FORMS = st.sampled_from([(1,), (1,), (True,), (1.0,), [1], (2, 1), (2, 1.0), (2, True), 2, (3, 1)])
OUTPUTS = st.dictionaries(
    st.sampled_from(["ANY", "TEXT", "LABELLED", b"ANY", np.str_("ANY")]), FORMS
)
NUMBERS = st.sampled_from([0, 0, 1, True, 3, 2**64 + 5, -1, 1.0, None, np.int32(2)])
SCALARS = st.tuples(
    st.sampled_from([1, 1, 2, 0, True, 1.0, np.int64(1), 9]), NUMBERS, NUMBERS, NUMBERS, NUMBERS
)
REQUESTS = st.tuples(INPUTS, OUTPUTS, SCALARS)

ERRORS = (InferenceServerException, ArgumentError, TypeError, AttributeError, LookupError)


def _no_region(handle: object) -> Any:
    raise AssertionError("there is no shared memory here")


def long_way(inputs: Any, outputs: Any, scalars: Any) -> Any:
    """Options, request and call, the shapes that stick, or the error."""
    shapes: dict[str, tuple[int, ...]] = {}
    try:
        options = request.parse_options(PROFILE, inputs, outputs, scalars, _no_region)
        bound = request.bind_inputs(PROFILE, options, inputs, shapes, _no_region)
    except ERRORS as error:
        return error
    made = request.build(options, bound, -1, options.correlation_id, 7)
    return options, made, to_v2.infer_call(PROFILE, made, GRPC), shapes


def told(made: Any) -> Any:
    """What is to be equal: the call, the arrays as their bytes; what reading the reply needs."""
    options, v1, call, shapes = made
    keys = [(type(plan.key), plan) for plan in options.outputs]
    tensors = [(one[:3], one.byte_size, [bytes(c) for c in one.chunks]) for one in call.inputs]
    classes = any(item.class_count for item in v1.outputs)
    needed = v1.model_version, v1.batch_size, v1.outputs, classes and to_v2.stateful(PROFILE, v1)
    return options.batch_size, keys, needed, call._replace(inputs=(), form=None), tensors, shapes


GOOD = st.tuples(
    st.sampled_from(
        [
            {"ANY": [ARRAYS[0]], "FIXED": [SQUARES[0]]},
            {b"FIXED": [SQUARES[0]] * 2, "ANY": [ARRAYS[0], ARRAYS[1]]},
        ]
    ),
    st.dictionaries(st.sampled_from(["ANY", b"ANY", "LABELLED"]), st.sampled_from([(1,), (2, 1)])),
    st.sampled_from([(1, 0, 0, 0, 0), (2, 1, 7, 1, 1)]),
)


@settings(max_examples=600)
@given(GOOD, REQUESTS, st.sets(st.integers(0, 4), max_size=2))
def test_the_second_request_of_a_plan(first: Any, other: Any, changes: set[int]) -> None:
    """Where a plan applies, it makes what the long way makes, errors in numbers included."""
    before = long_way(*first)
    if isinstance(before, Exception):
        return
    plan = plans.plan_for(PROFILE, first[0], *before[:3])
    second = tuple(
        theirs if i in changes else ours for i, (ours, theirs) in enumerate(zip(first, other))
    )
    known = plans.Plans()
    known.keep(known.find(first[0], first[1], first[2][0])[0], plan)
    _, found = known.find(second[0], second[1], second[2][0])
    if found is None:
        return
    expected = long_way(*second)
    if isinstance(expected, Exception):
        with pytest.raises(type(expected)) as caught:
            arguments.numbers(*second[2][1:])
        assert str(caught.value) == str(expected)
        return
    numbers = arguments.numbers(*second[2][1:])
    if not found[0].holds(numbers[1], numbers[0]):
        return
    call = plans.call_of(*found, numbers, numbers[1], 7)
    kept = found[0].options, plans.request_of(*found), call, found[0].shapes
    assert told(kept) == told(expected)


def planned(inputs: Any, outputs: Any, batch_size: Any = 1) -> Any:
    made = long_way(inputs, outputs, (batch_size, 0, 0, 0, 0))
    return plans.plan_for(PROFILE, inputs, *made[:3])


def test_the_usual_request_has_a_plan() -> None:
    """The same names and shapes with other data are what a plan is for."""
    first, other = ({"ANY": [array], "FIXED": [SQUARES[0]]} for array in (ARRAYS[0], ARRAYS[1]))
    known = plans.Plans()
    key, found = known.find(first, {"ANY": (1,)}, 1)
    assert found is None
    known.keep(key, planned(first, {"ANY": (1,)}))
    _, found = known.find(other, {"ANY": (1,)}, 1)
    assert found is not None
    assert found[1][0].chunks[0] is ARRAYS[1]


def test_many_kinds_of_requests() -> None:
    """A context that sends ever other kinds of requests keeps a bounded number of plans."""
    known = plans.Plans()
    plan = planned({"ANY": [ARRAYS[0]], "FIXED": [SQUARES[0]]}, {"ANY": (1,)})
    for number in range(plans.MOST + 3):
        known.keep(number, plan)
    assert len(known) == 3


@pytest.mark.parametrize("before", [(0, 0), (0, 7), (1, 0)])
def test_a_sequence_in_between(before: tuple[int, int]) -> None:
    """A plan for classes does not outlive who classifies: the server in a sequence."""
    # docs/v1-behaviour.md §4.2
    inputs, scalars = {"ANY": [ARRAYS[0]], "FIXED": [SQUARES[0]]}, (1, *before, 0, 0)
    for form, always in (((2, 1), False), ((1,), True)):
        made = long_way(inputs, {"LABELLED": form}, scalars)
        plan = plans.plan_for(PROFILE, inputs, *made[:3])
        assert plan is not None
        for flags, correlation_id in [(0, 0), (0, 7), (2, 0), (2, 7)]:
            sequence = bool(flags or correlation_id)
            assert plan.holds(correlation_id, flags) == (always or sequence == any(before))


def test_classes_keep_the_data() -> None:
    """A request for classes keeps its inputs: labels may have to be asked for with them."""
    # docs/v1-behaviour.md §4.2
    inputs = {"ANY": [ARRAYS[0]], "FIXED": [SQUARES[0]]}
    for outputs, kept in (({"ANY": (1,)}, 0), ({"ANY": (2, 1)}, 2)):
        plan = planned(inputs, outputs)
        made = plans.request_of(plan, plans.tensors(plan, inputs) or ())
        assert len(made.inputs) == kept

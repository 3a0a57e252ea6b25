"""A request that is bound by the plan of another one equals the request of its own plan."""

from __future__ import annotations

import weakref
from ctypes import ArgumentError, c_void_p
from math import prod
from typing import Any, Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tensorrtserver.api import InferContext
from tritonclient_shim import testing
from tritonclient_shim.core.arguments import UINT32, UINT64, RunArguments, unsigned
from tritonclient_shim.core.errors import (
    BackendError,
    InferenceServerException,
    ServerError,
)
from tritonclient_shim.core.model import GRPC, InferReply, TensorOut
from tritonclient_shim.servers.base import ModelProfile, TensorSpec
from tritonclient_shim.session import infer_session
from tritonclient_shim.session.plan import Plan, compile_plan
from tritonclient_shim.translate.result import results_of

ANY = TensorSpec("ANY", "FP32", (-1,))
FIXED = TensorSpec("FIXED", "INT32", (2, 2))
TEXT = TensorSpec("TEXT", "BYTES", (1,))
PROFILE = ModelProfile("m", 4, {"ANY": ANY, "FIXED": FIXED}, {"ANY": ANY, "TEXT": TEXT})

FIRST = InferReply("m", "1", (TensorOut("ANY", "FP32", (1, 2), bytes(8)),))

# few choices, so that many requests can be bound; most lists are right, some in one way wrong
FLOATS = np.arange(4, dtype=np.float32)
ARRAYS: list[Any] = [
    FLOATS[:2],
    FLOATS[1:3],
    FLOATS,
    FLOATS[::2],
    FLOATS[:2].astype(np.int32),
    FLOATS[:2].astype(np.float64),
    FLOATS[:2].astype(">f4"),
    FLOATS[:2].astype("datetime64[s]"),
    FLOATS[:2].reshape(2, 1),
    FLOATS[:0],
    np.float32(1),
    FLOATS[:2].view(type("Subclass", (np.ndarray,), {})),
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
FORMS = st.sampled_from(
    [(1,), (1,), (True,), (1.0,), [1], np.array(1), (2, 1), (2, 1.0), 2, (3, 1)]
)
OUTPUTS = st.dictionaries(st.sampled_from(["ANY", "TEXT", b"ANY", np.str_("ANY")]), FORMS)
NUMBERS = st.sampled_from([0, 0, 1, True, 3, 2**64 + 5, -1, 1.0, None, np.int32(2)])
SCALARS = st.tuples(
    st.sampled_from([1, 1, 2, 0, True, 1.0, np.int64(1), 9]), NUMBERS, NUMBERS, NUMBERS, NUMBERS
)
REQUESTS = st.tuples(INPUTS, OUTPUTS, SCALARS)
ONE = {"ANY": [ARRAYS[0]], "FIXED": [SQUARES[0]]}, 1, 0, 0, 0, 0
TWO = {b"FIXED": [SQUARES[0]] * 2, "ANY": [ARRAYS[0], ARRAYS[1]]}, 2, 1, 7, 1, 1
NAMES = st.sampled_from([("ANY",), (b"ANY",), ("TEXT", "ANY"), (b"ANY", "TEXT")])
GOOD = st.one_of(
    st.builds(
        lambda values, names: (values[0], dict.fromkeys(names, (1,)), values[1:]),
        st.sampled_from([ONE, TWO]),
        NAMES,
    ),
    st.builds(  # classes, without a sequence
        lambda names, form: (ONE[0], dict.fromkeys(names, form), ONE[1:]),
        NAMES,
        st.sampled_from([(1,), (2, 1), (2, 3)]),
    ),
)

ERRORS = (InferenceServerException, ArgumentError, TypeError, AttributeError, LookupError)


def _no_region(handle: object) -> Any:
    raise AssertionError("there is no shared memory here")


def arguments_of(inputs: Any, outputs: Any, scalars: Any) -> RunArguments:
    """Return arguments as a record; ``scalars`` follow the outputs."""
    return RunArguments(inputs, outputs, *scalars)


def compiled(arguments: RunArguments, profile: ModelProfile = PROFILE) -> Plan:
    return compile_plan(profile, arguments, _no_region)


def bound(plan: Plan, arguments: RunArguments, profile: ModelProfile = PROFILE) -> Any:
    """Return request, call and kept shapes."""
    shapes: dict[str, tuple[int, ...]] = {}
    flags = unsigned(arguments.flags, UINT32, 2)
    correlation_id = unsigned(arguments.correlation_id, UINT64, 4)
    priority = unsigned(arguments.priority, UINT32, 5)
    timeout_us = unsigned(arguments.timeout_us, UINT64, 6)
    v1_request = plan.bind(
        arguments=arguments,
        shapes=shapes,
        look_up=_no_region,
        model_version=-1,
        correlation_id=correlation_id,
        flags=flags,
        priority=priority,
        timeout_us=timeout_us,
        next_id=lambda: 7,
    )
    request_plan = plan.plan_of(v1_request, GRPC, profile)
    return v1_request, request_plan.calls.bind(v1_request), shapes


def comparable(plan: Plan, arguments: RunArguments) -> Any:
    """Return what a plan makes of arguments in a comparable form: arrays by their bytes."""
    try:
        v1_request, call, shapes = bound(plan, arguments)
    except ERRORS as error:
        return type(error), str(error)
    keys = [(type(output.key), output) for output in plan.options.outputs]
    inputs = [item._replace(chunks=[bytes(c) for c in item.chunks]) for item in v1_request.inputs]
    tensors = [item._replace(chunks=[bytes(c) for c in item.chunks]) for item in call.inputs]
    bare = v1_request._replace(inputs=()), call._replace(inputs=())
    return plan.options.batch_size, keys, inputs, tensors, bare, shapes


def check(first: RunArguments, second: RunArguments) -> bool:
    """Check that a plan that suits arguments binds them as their own plan. True if it suits."""
    plan = compiled(first)
    if not plan.suits(PROFILE, second):
        return False
    assert comparable(plan, second) == comparable(compiled(second), second)
    return True


@settings(max_examples=600)
@given(GOOD, REQUESTS, st.sets(st.integers(0, 4), max_size=2))
def test_a_request_after_another_one(first: Any, other: Any, changes: set[int]) -> None:
    """A request that another one's plan suits equals the request of its own plan."""
    second = arguments_of(
        *(theirs if i in changes else ours for i, (ours, theirs) in enumerate(zip(first, other)))
    )
    try:
        suits = check(arguments_of(*first), second)
    except ArgumentError:  # a number is no integer: the first request of a kind is refused too
        suits = True
    assert suits or changes, "a plan suits a request that is equal to the first one"


@given(REQUESTS)
def test_whatever_is_compiled_first(first: Any) -> None:
    """An odd request is bound by its plan, or refused, a second time as the first time."""
    arguments = arguments_of(*first)
    try:
        plan = compiled(arguments)
    except ERRORS:
        return
    before = comparable(plan, arguments)
    check(arguments, arguments)
    assert comparable(plan, arguments) == before


INPUTS_OF_ONE, PLAIN = ONE[0], ONE[1:]
CLASSES = arguments_of(INPUTS_OF_ONE, {"ANY": (2, 1)}, PLAIN)


@pytest.mark.parametrize("change", [{"flags": 1}, {"correlation_id": 3}], ids=str)
def test_classes_of_a_sequence(change: Any) -> None:
    """The server classifies requests of a sequence, and of none with the same plan."""
    # docs/v2-mapping.md §1
    labelled = TensorSpec("OUT", "FP32", (4,), label_filename="labels.txt")
    profile = ModelProfile("m", 4, {"ANY": ANY}, {"OUT": labelled})
    plain = arguments_of({"ANY": [ARRAYS[0]]}, {"OUT": (2, 1)}, PLAIN)
    sequence = plain._replace(**change)
    plan = compiled(plain, profile)
    counts = []
    for arguments in (plain, sequence, plain):
        assert plan.suits(profile, arguments)
        _, call, _ = bound(plan, arguments, profile)
        counts += [output.form.class_count for output in call.outputs]
    assert counts == [0, 1, 0]


@pytest.mark.parametrize("form", [np.array(1), np.arange(2), (2, np.arange(2)), (), 2], ids=str)
def test_odd_forms(form: Any) -> None:
    """A form that cannot be compared suits no plan, so its error is v1's."""
    assert not compiled(CLASSES).suits(PROFILE, CLASSES._replace(outputs={"ANY": form}))


def test_two_wrong_inputs() -> None:
    """The first wrong input is refused, also if only its data are wrong."""
    texts = np.array(["long text"], object)
    inputs = {"FIXED": [texts.reshape(1, 1)], "OTHER": [ARRAYS[0]]}
    arguments = arguments_of(inputs, {"ANY": (1,)}, PLAIN)
    with pytest.raises(InferenceServerException, match="invalid size 13 bytes for input 'FIXED'"):
        bound(compiled(arguments), arguments)


def test_no_data_is_kept() -> None:
    """A caller's arrays are not kept after their request."""
    array = np.zeros(2, np.float32)
    gone = weakref.ref(array)
    arguments = arguments_of({"ANY": [array], "FIXED": [SQUARES[0]]}, {"ANY": (1,)}, PLAIN)
    plan = compiled(arguments)
    bound(plan, arguments)
    del array, arguments
    assert plan is not None
    assert gone() is None


class Region:
    """A region of shared memory."""

    name = "r"
    byte_size = 8

    def read(self, offset: int, count: int) -> bytes:
        return bytes(count)


def test_no_region_is_kept() -> None:
    """A plan with a region of shared memory is for one request: the handle may change hands."""
    handle = c_void_p(1)
    in_region = ((1,), handle)
    for inputs, outputs in (
        (INPUTS_OF_ONE, {"ANY": in_region}),
        ({**INPUTS_OF_ONE, "ANY": handle}, {"ANY": (1,)}),
    ):
        arguments = arguments_of(inputs, outputs, PLAIN)
        plan = compile_plan(PROFILE, arguments, lambda _: Region())
        assert not plan.is_reusable
        assert not plan.suits(PROFILE, arguments)


def test_a_reloaded_model() -> None:
    """A plan for another configuration is not used, even if it looks equal."""
    arguments = arguments_of(INPUTS_OF_ONE, {"ANY": (1,)}, PLAIN)
    other = ModelProfile("m", 4, PROFILE.inputs, PROFILE.outputs)
    assert not compiled(arguments).suits(other, arguments)


# -------------------------------------------------------------------------------- replies


def _output(name: str, datatype: str, shape: Any, filled: bool, text: bytes) -> TensorOut:
    """Return an output as backends do: data of a fixed-size type fit the shape."""
    size = 4 * prod(shape)
    data = text if datatype == "BYTES" else text * size
    return TensorOut(name, datatype, shape, data if filled else None)


OUT = st.builds(
    _output,
    st.sampled_from(["ANY", "ANY", "TEXT", "other"]),
    st.sampled_from(["FP32", "FP32", "BYTES", "INT32"]),
    st.sampled_from([(1, 2), (1, 2), (2, 1), (1, 0), (1,), (2,), ()]),
    st.booleans(),
    st.sampled_from([b"0", b"1"]),
)
REPLIES = st.builds(
    InferReply,
    st.sampled_from(["m", "m", "ensemble"]),
    st.sampled_from(["1", "1", "2", "v2.0", ""]),
    st.lists(OUT, max_size=3, unique_by=lambda output: output.name).map(tuple),
)


def entries(results: Any) -> Any:
    """Return results in a comparable form."""
    return [
        (key, [(array.dtype, array.shape, array.tobytes()) for array in arrays])
        for key, arrays in results.items()
    ]


def outcome(plan: Plan, arguments: RunArguments, reply: InferReply) -> Any:
    """Return the results of a reply, or the error."""
    v1_request, _, _ = bound(plan, arguments)
    request_plan = plan.plan_of(v1_request, GRPC, PROFILE)
    try:
        v1_reply = request_plan.replies.read(reply, 7, None)
        return entries(results_of(plan.options, v1_reply))
    except (ServerError, BackendError, InferenceServerException) as error:
        return type(error), str(error)


OTHER_TYPE = FIRST._replace(outputs=(TensorOut("ANY", "BYTES", (1, 2), b"0"),))


@example(FIRST, OTHER_TYPE, ("ANY",))
@given(REPLIES, st.one_of(st.just(FIRST), REPLIES), st.sampled_from([("ANY",), ("TEXT", "ANY")]))
def test_a_reply(first: InferReply, second: InferReply, names: Any) -> None:
    """A reply is read as by a plan of its own, whatever its plan has read before."""
    arguments = arguments_of(INPUTS_OF_ONE, dict.fromkeys(names, (1,)), PLAIN)
    plan = compiled(arguments)
    outcome(plan, arguments, first)
    read_again = outcome(plan, arguments, second)
    assert read_again == outcome(compiled(arguments), arguments, second)


# ----------------------------------------------------------------------------- replacement


@testing.model(inputs=[("INPUT", "FP32", [-1])], outputs=[("OUTPUT", "FP32", [-1])])
def identity(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the model's input."""
    return {"OUTPUT": inputs["INPUT"]}


class Program:
    """A program that runs the model."""

    def __init__(self, context: InferContext, monkeypatch: pytest.MonkeyPatch) -> None:
        self._context = context
        self._compiled = 0
        monkeypatch.setattr(infer_session, "compile_plan", self._compile)

    def _compile(self, *arguments: Any) -> Plan:
        self._compiled += 1
        return compile_plan(*arguments)

    def compiles(self, size: int) -> bool:
        """True if a request with an array of this size has a plan compiled."""
        before = self._compiled
        array = np.zeros(size, np.float32)
        results = self._context.run({"INPUT": [array]}, {"OUTPUT": InferContext.ResultFormat.RAW})
        assert len(results["OUTPUT"][0]) == size
        return self._compiled > before


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    with testing.server(identity=identity) as server, InferContext(
        server.http, 0, "identity"
    ) as context:
        yield Program(context, monkeypatch)


def test_equal_requests_compile_once(program: Program) -> None:
    """A loop compiles one plan, and another one whenever its arrays change their shape."""
    compiled_for = [program.compiles(size) for size in (2, 2, 2, 3, 3, 2, 2)]
    assert compiled_for == [True, False, False, True, False, True, False]

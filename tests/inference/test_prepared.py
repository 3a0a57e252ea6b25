"""A request bound to a prepared request equals the request made by the complete code."""

from __future__ import annotations

import weakref
from ctypes import ArgumentError
from functools import partial
from math import prod
from typing import Any, Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tensorrtserver.api import InferContext
from tritonclient_shim import testing
from tritonclient_shim.core.arguments import RunArguments
from tritonclient_shim.core.errors import (
    BackendError,
    InferenceServerException,
    ServerError,
)
from tritonclient_shim.core.model import (
    GRPC,
    InferReply,
    ModelProfile,
    TensorOut,
    TensorSpec,
)
from tritonclient_shim.session import prepared
from tritonclient_shim.translate import request, to_v1, to_v2
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


def long_way(arguments: RunArguments) -> Any:
    """Return options, request, call and the kept shapes, or the error, by the complete code."""
    shapes: dict[str, tuple[int, ...]] = {}
    try:
        options = request.parse_options(PROFILE, arguments, _no_region)
        bound = request.bind_inputs(PROFILE, options, arguments, shapes, _no_region)
    except ERRORS as error:
        return error
    result = request.build(options, bound, -1, options.correlation_id, 7)
    return options, result, to_v2.infer_call(PROFILE, result, GRPC), shapes


def prepared_by(arguments: RunArguments) -> Any:
    options, result, call, _ = long_way(arguments)
    return prepared.prepare(PROFILE, options, arguments, result, call)


def bind(known: Any, arguments: RunArguments, profile: ModelProfile = PROFILE) -> Any:
    """Return the same by a prepared request; None if the request cannot be bound."""
    bound = known.bind(profile, arguments, 0, lambda: 7)
    return bound and (known.options, *bound, known.shapes)


def comparable(options: Any, bound: Any, call: Any, shapes: Any) -> Any:
    """Return a comparable value, with arrays by their bytes."""
    keys = [(type(output.key), output) for output in options.outputs]
    inputs = [item._replace(chunks=[bytes(c) for c in item.chunks]) for item in bound.inputs]
    tensors = [item._replace(chunks=[bytes(c) for c in item.chunks]) for item in call.inputs]
    bare = bound._replace(inputs=()), call._replace(inputs=())
    return options.batch_size, keys, inputs, tensors, bare, shapes


@settings(max_examples=600)
@given(GOOD, REQUESTS, st.sets(st.integers(0, 4), max_size=2))
def test_a_request_after_a_prepared_one(first: Any, other: Any, changes: set[int]) -> None:
    """A bound request equals the request of the complete code."""
    second = arguments_of(
        *(theirs if i in changes else ours for i, (ours, theirs) in enumerate(zip(first, other)))
    )
    bound = bind(prepared_by(arguments_of(*first)), second)
    if bound is None:
        assert changes, "a request that is equal to the first one can be bound"
        return
    assert comparable(*bound) == comparable(*long_way(second))


@given(REQUESTS)
def test_whatever_is_prepared_first(first: Any) -> None:
    """Odd requests that succeed are prepared correctly or not at all."""
    arguments = arguments_of(*first)
    expected = long_way(arguments)
    known = None if isinstance(expected, Exception) else prepared_by(arguments)
    bound = known and bind(known, arguments)
    if bound is not None:
        assert comparable(*bound) == comparable(*expected)


INPUTS_OF_ONE, PLAIN = ONE[0], ONE[1:]
CLASSES = arguments_of(INPUTS_OF_ONE, {"ANY": (2, 1)}, PLAIN)


@pytest.mark.parametrize("change", [{"flags": 1}, {"correlation_id": 3}], ids=str)
def test_classes_of_a_sequence_are_not_bound(change: Any) -> None:
    """A request for classes is bound, and prepared, unless it is one of a sequence."""
    # docs/v2-mapping.md §1
    sequence = CLASSES._replace(**change)
    assert bind(prepared_by(CLASSES), CLASSES) is not None
    assert bind(prepared_by(CLASSES), sequence) is None
    assert prepared_by(sequence) is None


@pytest.mark.parametrize("form", [np.array(1), np.arange(2), (2, np.arange(2))], ids=str)
def test_arrays_as_forms(form: Any) -> None:
    """A form that cannot be compared goes the long way, whose error is v1's."""
    assert bind(prepared_by(CLASSES), CLASSES._replace(outputs={"ANY": form})) is None


def test_other_replies_are_not_read() -> None:
    """The long way reads classes, replies without the outputs, and those of servers not Triton."""
    # docs/v1-behaviour.md §4.2
    assert prepared_by(CLASSES).read(FIRST) is None
    known = prepared_by(arguments_of(INPUTS_OF_ONE, {"ANY": (1,)}, PLAIN))
    assert known.read(FIRST) is not None
    assert known.read(FIRST._replace(outputs=())) is None
    assert known.read(FIRST._replace(model_version="v1")) is None


def test_no_data_is_kept() -> None:
    """A caller's arrays are not kept after their request."""
    array = np.zeros(2, np.float32)
    gone = weakref.ref(array)
    arguments = arguments_of({"ANY": [array], "FIXED": [SQUARES[0]]}, {"ANY": (1,)}, PLAIN)
    known = prepared_by(arguments)
    del array, arguments
    assert known is not None
    assert gone() is None


def test_a_reloaded_model() -> None:
    """A request prepared for another configuration is not used, even if it looks equal."""
    arguments = arguments_of(INPUTS_OF_ONE, {"ANY": (1,)}, PLAIN)
    other = ModelProfile("m", 4, PROFILE.inputs, PROFILE.outputs)
    assert bind(prepared_by(arguments), arguments, other) is None


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


def outcome(known: Any, bound: Any, reply: InferReply) -> Any:
    """Return the results by the complete code, or the error."""
    try:
        reply_of_v1 = to_v1.v1_reply(PROFILE, bound, reply, None)
        return entries(results_of(known.options, reply_of_v1))
    except (ServerError, BackendError, InferenceServerException) as error:
        return error


OTHER_TYPE = FIRST._replace(outputs=(TensorOut("ANY", "BYTES", (1, 2), b"0"),))


@example(OTHER_TYPE, ("ANY",))
@given(st.one_of(st.just(FIRST), REPLIES), st.sampled_from([("ANY",), ("TEXT", "ANY")]))
def test_a_reply(reply: InferReply, names: Any) -> None:
    """A reply that a prepared request reads is read as by the complete code."""
    arguments = arguments_of(INPUTS_OF_ONE, dict.fromkeys(names, (1,)), PLAIN)
    known = prepared_by(arguments)
    _, bound, _, _ = bind(known, arguments)
    reading = known.read(reply)
    assert reading is None or entries(reading[1]) == outcome(known, bound, reply)


# ----------------------------------------------------------------------------- replacement


@testing.model(inputs=[("INPUT", "FP32", [-1])], outputs=[("OUTPUT", "FP32", [-1])])
def identity(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the model's input."""
    return {"OUTPUT": inputs["INPUT"]}


class Program:
    """A program that runs the model."""

    def __init__(self, context: InferContext, monkeypatch: pytest.MonkeyPatch) -> None:
        self._context = context
        self._long: list[object] = []
        monkeypatch.setattr(request, "build", partial(self._note, request.build))

    def _note(self, build: Any, *arguments: Any) -> Any:
        self._long.append(arguments)
        return build(*arguments)

    def is_bound(self, size: int) -> bool:
        """True if a request with an array of this size is bound."""
        before = len(self._long)
        array = np.zeros(size, np.float32)
        results = self._context.run({"INPUT": [array]}, {"OUTPUT": InferContext.ResultFormat.RAW})
        assert len(results["OUTPUT"][0]) == size
        return len(self._long) == before


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    with testing.server(identity=identity) as server, InferContext(
        server.http, 0, "identity"
    ) as context:
        yield Program(context, monkeypatch)


def test_equal_requests_are_bound_from_the_second_on(program: Program) -> None:
    """A loop uses the complete code once, and once more after its arrays change their shape."""
    assert [program.is_bound(size) for size in (2, 2, 2, 3, 3, 2, 2)] == [
        *(False, True, True),
        *(False, True),
        *(False, True),
    ]

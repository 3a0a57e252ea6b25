"""The ``inputs`` argument: what is accepted and how it is sent (docs/v1-behaviour.md §3.3)."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tests.server.infer_cases import BOTH, ONE, RAMP, RAW, SUM, add_sub, client_error, server_error

pytest_plugins = ["tests.server.infer_fixtures"]

WANTED = (
    "values must be specified as a list of numpy arrays or as a single c_void_p (representing "
    "the shared memory handle) or as a tuple of c_void_p (representing the shared memory handle) "
    "and list (representing the shape of the input tensor)"
)


class Items:
    """A mapping by nothing but ``items``."""

    def __init__(self, *pairs: tuple[Any, Any]) -> None:
        self.pairs = pairs

    def items(self) -> tuple[tuple[Any, Any], ...]:
        return self.pairs


class Unindexed(Items):
    """A mapping but for the brackets."""

    def __iter__(self) -> Any:
        return iter([key for key, _ in self.pairs])

    def values(self) -> list[Any]:
        return [value for _, value in self.pairs]


@pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType, Items, Unindexed])
def test_dict_like(connect: Any, kind: Any) -> None:
    """Anything with ``items`` will do, for inputs and for outputs, every time."""
    # docs/v1-behaviour.md §3.3, §3.8
    context = connect("simple")
    for inputs, outputs in ([add_sub(), BOTH],) * 2:
        if issubclass(kind, Items):
            inputs, outputs = kind(*inputs.items()), kind(*outputs.items())
        results = context.run(inputs, outputs)
        assert type(results) is dict
        assert results["OUTPUT0"][0].tolist() == SUM


@pytest.mark.parametrize("kind", ["list", "NoneType", "str", "tuple"])
def test_not_dict_like(connect: Any, kind: str) -> None:
    """No ``items`` is an AttributeError, for inputs before outputs."""
    # docs/v1-behaviour.md §3.3, §3.8
    values: dict[str, Any] = {"list": [], "NoneType": None, "str": "INPUT0", "tuple": ()}
    value = values[kind]
    context = connect("simple")
    for inputs, outputs in ((value, BOTH), (value, value), (add_sub(), value)):
        with pytest.raises(AttributeError) as caught:
            context.run(inputs, outputs)
        assert str(caught.value) == f"'{kind}' object has no attribute 'items'"


def test_bytes_keys(connect: Any) -> None:
    """Keys: str or bytes; the result has the very key that was passed."""
    # docs/v1-behaviour.md §3.3, §4.1
    results = connect("simple").run(
        {b"INPUT0": [RAMP], "INPUT1": [RAMP]}, {b"OUTPUT1": (1,), "OUTPUT0": (1,)}
    )
    assert list(results) == [b"OUTPUT1", "OUTPUT0"]


@pytest.mark.parametrize("kind", [list, tuple])
def test_list_or_tuple(connect: Any, kind: Any) -> None:
    """Value: a list or a tuple of arrays, one per batch entry (docs/v1-behaviour.md §3.3)."""
    arrays = kind([RAMP, RAMP + 1])
    results = connect("simple").run({"INPUT0": arrays, "INPUT1": arrays}, BOTH, 2)
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [SUM, (2 * (RAMP + 1)).tolist()]


def test_tuple_after_an_array(connect: Any) -> None:
    """Value: a tuple passed the check of types, and failed when asked for its size."""
    # docs/v1-behaviour.md §3.3
    context = connect("simple")
    with pytest.raises(AttributeError, match="^'tuple' object has no attribute 'size'$"):
        context.run({"INPUT0": [RAMP, ()], "INPUT1": [RAMP] * 2}, BOTH, 2)


def test_subclass_of_list(connect: Any) -> None:
    """Value: subclasses of list are lists (docs/v1-behaviour.md §3.3)."""

    class Arrays(list):  # type: ignore[type-arg]
        pass

    inputs = {"INPUT0": Arrays([RAMP]), "INPUT1": Arrays([RAMP])}
    assert connect("simple").run(inputs, ONE)["OUTPUT0"][0].tolist() == SUM


HANDLE = ctypes.c_void_p(1)


class SubHandle(ctypes.c_void_p):
    pass


@pytest.mark.parametrize(
    "value",
    [
        *(RAMP, None, 5, "text", b"bytes", {}, {"a": 1}, iter([RAMP]), RAMP.tolist()),
        *([RAMP.tolist()], [RAMP, None], [RAMP, [1]], [np.int32(1)], [None]),
        *((HANDLE,), [HANDLE], (HANDLE, RAMP), (HANDLE, HANDLE), (HANDLE, [16], 0), (HANDLE, 16)),
        *(SubHandle(1), [SubHandle(1)], (SubHandle(1), [16])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_wrong_type(connect: Any, value: Any) -> None:
    """Anything else: one long sentence, before outputs and batch size are looked at."""
    # docs/v1-behaviour.md §3.3
    context = connect("simple")
    with client_error(f"input 'INPUT0' {WANTED}"):
        context.run({"INPUT0": value, "INPUT1": [RAMP]}, {"NOPE": 7}, 99)
    with client_error(f"input 'INPUT1' {WANTED}"):
        context.run({"INPUT0": [RAMP], "INPUT1": value}, BOTH)


def test_wrong_type_under_bytes_key(connect: Any) -> None:
    """The sentence names an unknown input just as well; bytes did not fit into it."""
    # docs/v1-behaviour.md §3.3
    with client_error(f"input 'nope' {WANTED}"):
        connect("simple").run({"nope": RAMP}, BOTH)
    with pytest.raises(TypeError, match="can only concatenate str"):
        connect("simple").run({b"nope": RAMP}, BOTH)


@pytest.mark.parametrize(
    ("value", "kind"), [([], "list"), ((), "tuple"), ([(RAMP,)], "list"), (((),), "tuple")]
)
def test_index_errors(connect: Any, value: Any, kind: str) -> None:
    """An empty list and a list of tuples pass as far as an IndexError."""
    # docs/v1-behaviour.md §3.3
    with pytest.raises(IndexError) as caught:
        connect("simple").run({"INPUT0": value, "INPUT1": [RAMP]}, BOTH, 2)
    assert str(caught.value) == f"{kind} index out of range"
    with client_error("unknown output 'NOPE' for 'simple'"):
        connect("simple").run({"INPUT0": value, "INPUT1": [RAMP]}, {"NOPE": RAW}, 99)


@pytest.mark.parametrize("outputs", [BOTH, {}])
def test_unknown_input(connect: Any, outputs: Any) -> None:
    """Unknown input name: a client error that names the model (docs/v1-behaviour.md §3.3)."""
    context = connect("simple")
    with client_error("unknown input 'NOPE' for 'simple'"):
        context.run({"NOPE": [RAMP], **add_sub()}, outputs)
    inputs: dict[Any, Any] = {**add_sub()}
    inputs[b"OUTPUT0"] = [RAMP]
    with client_error("unknown input 'OUTPUT0' for 'simple'"):
        context.run(inputs, outputs)


@pytest.mark.parametrize("key", [5, ("INPUT0",), 1.5])
def test_type_of_keys(connect: Any, key: Any) -> None:
    """Other exceptions: a key that is no text is ctypes' error for argument 3."""
    # docs/v1-behaviour.md §1.6
    text = f"argument 3: <class 'AttributeError'>: '{type(key).__name__}' object has no attribute"
    for arguments in (({key: [RAMP]}, BOTH), (add_sub(), {key: (1,)})):
        with pytest.raises(ctypes.ArgumentError) as caught:
            connect("simple").run(*arguments)
        assert str(caught.value) == f"{text} 'encode'"


def test_unencodable_keys(connect: Any) -> None:
    """Other exceptions: half a surrogate pair, and bytes that are no UTF-8."""
    # docs/v1-behaviour.md §1.6
    with pytest.raises(ctypes.ArgumentError, match="argument 3: <class 'UnicodeEncodeError'>"):
        connect("simple").run({"\udc80": [RAMP]}, BOTH)
    with pytest.raises(UnicodeDecodeError):
        connect("simple").run(add_sub(), {b"\xff": (1,)})


def test_none_as_key(connect: Any) -> None:
    """``{None: RAW}``: ended v1's process; the error says what was expected."""
    # docs/v1-behaviour.md §E.6
    with client_error("an input name must be str or bytes, got None"):
        connect("simple").run({None: [RAMP]}, BOTH)
    with client_error("an output name must be str or bytes, got None"):
        connect("simple").run(add_sub(), {None: (1,)})


def test_no_arguments(connect: Any) -> None:
    """Inputs and outputs are required (docs/v1-behaviour.md §2.1)."""
    for arguments in ((), (add_sub(),)):
        with pytest.raises(TypeError, match="outputs"):
            connect("simple").run(*arguments)
    with pytest.raises(TypeError, match="takes from 3 to 8 positional arguments"):
        connect("simple").run(add_sub(), BOTH, 1, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("missing", ["INPUT0", "INPUT1"])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_missing_input(connect: Any, missing: str, batch_size: int) -> None:
    """Missing input: v1 sent its memory; refused, also after a successful run."""
    # docs/v1-behaviour.md §3.3
    context = connect("simple")
    context.run(add_sub(), BOTH)
    given = add_sub(batch_size)
    del given[missing]
    with client_error(
        f"expecting {batch_size} invocations of SetRaw for input '{missing}', have 0"
    ):
        context.run(given, BOTH, batch_size)


def test_no_inputs(connect: Any) -> None:
    """Missing inputs: the first of the model's is named (docs/v1-behaviour.md §3.3)."""
    with client_error("expecting 1 invocations of SetRaw for input 'INPUT0', have 0"):
        connect("simple").run({}, BOTH)


def test_too_few_arrays(connect: Any) -> None:
    """Fewer arrays than the batch size: refused, where v1 read out of bounds."""
    # docs/v1-behaviour.md §3.3
    with client_error("expecting 3 invocations of SetRaw for input 'INPUT1', have 2"):
        connect("simple").run({"INPUT0": [RAMP] * 3, "INPUT1": [RAMP] * 2}, BOTH, 3)


@pytest.mark.parametrize("batch_size", [0, 1, 2])
def test_too_many_arrays(connect: Any, batch_size: int) -> None:
    """More arrays than the batch size: v1's text with the effective batch size."""
    # docs/v1-behaviour.md §3.3
    size = max(1, batch_size)
    message = f"expecting {size} invocations of SetRaw for input 'INPUT0', one per batch entry"
    with client_error(message):
        connect("simple").run(add_sub(size + 1), BOTH, batch_size)


@pytest.mark.parametrize(("length", "dtype"), [(15, "i4"), (17, "i4"), (0, "i4"), (8, "i4")])
def test_size(connect: Any, length: int, dtype: str) -> None:
    """The shape decides how many bytes, the server whether the shape fits."""
    # docs/v1-behaviour.md §3.3
    array = np.zeros(length, dtype)
    expected = (
        f"unexpected shape for input 'INPUT0' for model 'simple'. Expected [16], got [{length}]"
    )
    with server_error(expected):
        connect("simple").run({"INPUT0": [array], "INPUT1": [RAMP]}, BOTH)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i8", "f8", "?", "c16", "M8[s]"])
def test_byte_size(connect: Any, dtype: str) -> None:
    """Fixed-size types: bytes per array = elements of the first shape × the item size."""
    # docs/v1-behaviour.md §3.3
    array = np.zeros(16, dtype)
    with client_error(f"invalid size {array.nbytes} bytes for input 'INPUT0', expects 64 bytes"):
        connect("simple").run({"INPUT0": [array], "INPUT1": [RAMP]}, BOTH)


def test_size_before_number(connect: Any) -> None:
    """Of a surplus array of a wrong size, the size is told, as arrays are set in turn."""
    # docs/v1-behaviour.md §3.3
    arrays = [RAMP, RAMP[:3]]
    with client_error("invalid size 12 bytes for input 'INPUT0', expects 64 bytes"):
        connect("simple").run({"INPUT0": arrays, "INPUT1": [RAMP]}, BOTH)

"""Every standard model loads and computes what the table of the repository promises."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping

import numpy as np
import pytest
import tritonclient.grpc as client
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from testbed import TritonServer, repository

Arrays = Mapping[str, "np.ndarray[Any, Any]"]
DTYPES = {
    "bool": "?", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "int8": "b",
    "int16": "h", "int32": "i", "int64": "q", "fp16": "e", "fp32": "f", "fp64": "d", "string": "O",
}  # fmt: skip
ROWS = np.arange(32, dtype=np.int32).reshape(2, 16)
SCORES = np.linspace(-1, 1, 20, dtype=np.float32).reshape(2, 10)
ONE = np.array([[0.0]], np.float32)
TEXT = np.array([[b"", b"a\0b", b"\xff"]], object)


def texts(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Decimal text of each number."""
    texts = np.array([str(one).encode() for one in numbers.flat], object)
    shaped: np.ndarray[Any, Any] = texts.reshape(numbers.shape)
    return shaped


def pair(array: np.ndarray[Any, Any], names: str = "INPUT0 OUTPUT0") -> tuple[Arrays, Arrays]:
    """An identity: the array under the name of the input and of the output."""
    first, second = names.split()
    return {first: array}, {second: array}


def add_sub(array: np.ndarray[Any, Any]) -> tuple[Arrays, Arrays]:
    """The array three times and once, and their sum and difference."""
    left, right = array * 3, array
    return (
        {"INPUT0": left, "INPUT1": right},
        {"OUTPUT0": left + right, "OUTPUT1": left - right},
    )


def as_text(arrays: tuple[Arrays, Arrays]) -> tuple[Arrays, Arrays]:
    """The same in decimal text."""
    return tuple({k: texts(v) for k, v in one.items()} for one in arrays)  # type: ignore[return-value]


def identity(name: str) -> tuple[Arrays, Arrays]:
    """Three values of the datatype in one row."""
    return pair(TEXT if name == "string" else np.array([[0, 1, 3]]).astype(DTYPES[name]))


IMAGES = np.random.RandomState(7).rand(2, 3, 224, 224).astype(np.float32)
SQUARE = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
EXPECTED: dict[str, tuple[Arrays, Arrays]] = {
    "simple": add_sub(ROWS),
    "simple_nobatch": add_sub(ROWS[1]),
    "simple_string": as_text(add_sub(ROWS)),
    **{f"identity_{name}": identity(name) for name in DTYPES},
    "identity_2d": pair(SQUARE),
    "identity_nobatch": pair(SQUARE[0]),
    "identity_string_nobatch": pair(TEXT[0]),
    "identity_reshape": pair(SCORES[:, :4].copy()),
    **{
        name: pair(SCORES, "INPUT OUTPUT")
        for name in ("classify", "classify_nolabels", "classify_variable", "ensemble_classify")
    },
    "classify_nobatch": pair(SCORES[0], "INPUT OUTPUT"),
    "classify_1000": pair(np.arange(1000, dtype=np.float32)[None], "INPUT OUTPUT"),
    "classify_fp64": pair(SCORES.astype(np.float64), "INPUT OUTPUT"),
    "classify_int32": pair(ROWS[:, :10].copy(), "INPUT OUTPUT"),
    "image_classifier": (
        {"input": IMAGES},
        {"probabilities": IMAGES.reshape(2, -1)[:, :150000:150]},
    ),
    "slow": pair(ONE[0]),
    "failing": pair(ONE),
    "multi_version": ({"INPUT0": ONE}, {"OUTPUT0": ONE + 3}),
    "ensemble_simple": ({"INPUT0": ROWS, "INPUT1": ROWS}, {"OUTPUT0": ROWS * 2}),
    "tensor_names": (
        {"in/put:0": SCORES[:, :4].copy()},
        {"out/put:0": SCORES[:, :4], "out/put:1": SCORES[:, :4] * 2},
    ),
    "omits_output": pair(ONE),
    "wrong_rows": ({"INPUT0": ONE}, {"OUTPUT0": np.concatenate([ONE, ONE])}),
    "queue_policy": pair(ONE),
    "two_inputs_variable": (
        {"INPUT0": SCORES, "INPUT1": SCORES[:, :3].copy()},
        {"OUTPUT0": SCORES, "OUTPUT1": SCORES[:, :3]},
    ),
}
SEQUENCES = {"sequence_sum": "i", "sequence_oldest": "i", "sequence_labels": "f"}
OTHERS = {"identity_bf16", *SEQUENCES}  # tested below


@pytest.fixture(scope="module")
def grpc(triton: TritonServer) -> Iterator[client.InferenceServerClient]:
    """A client of the session's server."""
    with client.InferenceServerClient(triton.grpc) as connected:
        yield connected


def tensor(name: str, array: np.ndarray[Any, Any]) -> client.InferInput:
    """An input of the request."""
    made = client.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    made.set_data_from_numpy(array)
    return made


def test_every_model_is_covered() -> None:
    """The tables of this file name exactly the models loaded at start."""
    assert set(EXPECTED) | OTHERS == set(repository.LOADED_AT_START)


@pytest.mark.parametrize("name", EXPECTED)
def test_model_answers(grpc: client.InferenceServerClient, name: str) -> None:
    """One request gets the promised outputs, bit for bit."""
    inputs, expected = EXPECTED[name]
    answer = grpc.infer(name, [tensor(*one) for one in inputs.items()])
    for output, array in expected.items():
        np.testing.assert_array_equal(answer.as_numpy(output), array)


def test_bf16_passes_through(grpc: client.InferenceServerClient) -> None:
    """BF16 works on numpy 1 too: the bits come back as they went."""
    bits = np.array([0x3F80, 0xC000, 0x7FC1], "<u2").tobytes()
    request = client.InferInput("INPUT0", [1, 3], "BF16")
    request._raw_content = bits  # set_data_from_numpy differs between tritonclient versions
    answer = grpc.infer("identity_bf16", [request]).get_response()
    assert answer.raw_output_contents[0] == bits


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence_sums(grpc: client.InferenceServerClient, name: str) -> None:
    """Two interleaved sequences keep their own sums, from START to END."""
    size = repository.MODELS[name].config["input"][0]["dims"][0]

    def step(sequence: int, value: int, **flags: bool) -> float:
        given = tensor("INPUT", np.full((1, size), value, SEQUENCES[name]))
        answer = grpc.infer(name, [given], sequence_id=sequence, **flags)
        return float(answer.as_numpy("OUTPUT")[0, -1])

    assert [step(71, 5, sequence_start=True), step(72, 100, sequence_start=True)] == [5, 100]
    assert [step(71, 6), step(72, 1), step(71, 7, sequence_end=True)] == [11, 101, 18]
    assert step(72, 2, sequence_end=True) == 103


@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions(grpc: client.InferenceServerClient, version: int) -> None:
    """Each version answers with its number."""
    answer = grpc.infer("multi_version", [tensor("INPUT0", ONE)], model_version=str(version))
    assert answer.as_numpy("OUTPUT0") == [[version]]


def test_labels(grpc: client.InferenceServerClient) -> None:
    """Labels with a colon and a blank, and a blank line, arrive as they are written."""
    wanted = client.InferRequestedOutput("OUTPUT", class_count=10)
    for name in ("classify", "ensemble_classify"):
        answer = grpc.infer(name, [tensor("INPUT", SCORES[:1])], outputs=[wanted])
        labels = [one.decode().split(":", 2)[2:] for one in answer.as_numpy("OUTPUT")[0]]
        assert labels[-4] == ["a:b c"]
        assert labels[-8] in ([], [""])
        assert labels[-1] == ["l0"]


def test_failing_names_the_value(grpc: client.InferenceServerClient) -> None:
    """The error is the model's own text."""
    with pytest.raises(InferenceServerException, match="the model refused value 2.5"):
        grpc.infer("failing", [tensor("INPUT0", ONE + 2.5)])


def test_omitted_output_is_absent(grpc: client.InferenceServerClient) -> None:
    """The second output is declared, and not in the answer."""
    answer = grpc.infer("omits_output", [tensor("INPUT0", ONE)]).get_response()
    assert [one.name for one in answer.outputs] == ["OUTPUT0"]


def test_spare_loads_and_broken_does_not(start_triton: Callable[..., TritonServer]) -> None:
    """The two models kept for the control calls do what they are for."""
    with client.InferenceServerClient(start_triton([]).grpc) as own:
        own.load_model("spare")
        assert own.is_model_ready("spare")
        with pytest.raises(InferenceServerException, match="load failed for model 'broken'"):
            own.load_model("broken")

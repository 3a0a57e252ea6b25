"""CLASS results (docs/v1-behaviour.md §4.2)."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import ServerStatusContext
from tests.server.infer_cases import CLASS, END, START, server_error

pytest_plugins = ["tests.server.infer_fixtures"]

LABELS = ["l0", "l1", "l2", "a:b c", "l4", "l5", "l6", "", "l8", "l9"]
SCORES = np.array([0.1, 1e-7, 0.7, -3, 2e8, 1 / 3, 0.15, 1e-45, -1e-30, 0.5], np.float32)
ORDER = [4, 2, 9, 5, 6, 0, 1, 7, 8, 3]


def single(value: float) -> float:
    """A number as float32, widened again."""
    packed: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return packed


def classify(context: Any, scores: Any, count: int = 10) -> Any:
    return context.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, count)})["OUTPUT"][0]


def inferences(triton: Any, model: str) -> int:
    """How many requests the model has answered so far."""
    with ServerStatusContext(triton.http, 0, model) as context:
        status = context.get_server_status().model_status[model].version_status[1]
        return sum(stats.success.count for stats in status.infer_stats.values())


@pytest.mark.parametrize(
    "model", ["classify", "classify_nobatch", "classify_variable", "ensemble_classify"]
)
@pytest.mark.smoke
def test_values_and_labels(connect: Any, model: str) -> None:
    """Sorted by value, exact float32 values, labels from the file, also an ensemble's."""
    # docs/v1-behaviour.md §4.2
    expected = [(i, single(SCORES[i]), LABELS[i]) for i in ORDER]
    assert classify(connect(model), SCORES) == expected


@pytest.mark.smoke
def test_native_types(connect: Any) -> None:
    """Lists of tuples of native int, float, str; json takes them."""
    # docs/v1-behaviour.md §4.2, §F.4
    results = connect("classify").run({"INPUT": [SCORES] * 2}, {"OUTPUT": (CLASS, 2)}, 2)
    assert type(results["OUTPUT"]) is list
    for entry in results["OUTPUT"]:
        assert type(entry) is list
        for one in entry:
            assert type(one) is tuple
            assert [type(part) for part in one] == [int, float, str]
    assert json.loads(json.dumps(results))["OUTPUT"][0][0] == [4, 2e8, "l4"]
    assert "{} {} {}".format(*results["OUTPUT"][0][0]) == "4 200000000.0 l4"


@pytest.mark.parametrize("model", ["classify_nolabels", "identity_fp32"])
def test_no_labels(connect: Any, model: str) -> None:
    """Label: '' when the model has no label file, never None (docs/v1-behaviour.md §4.2)."""
    name = "INPUT0" if model == "identity_fp32" else "INPUT"
    out = name.replace("IN", "OUT")
    results = connect(model).run({name: [SCORES]}, {out: (CLASS, 2)})
    assert results[out] == [[(4, 2e8, ""), (2, single(0.7), "")]]


def test_odd_labels(connect: Any) -> None:
    """Label: colons and spaces are kept, a blank line is '' (docs/v1-behaviour.md §4.2)."""
    found = {index: label for index, _, label in classify(connect("classify"), SCORES)}
    assert (found[3], found[7]) == ("a:b c", "")


def test_label_index_past_the_file(connect: Any) -> None:
    """Label: '' for an index beyond the label file (docs/v1-behaviour.md §4.2)."""
    scores = np.arange(12, dtype=np.float32)
    assert [label for _, _, label in classify(connect("classify_variable"), scores, 4)] == [
        *("", "", "l9", "l8")
    ]


def test_labels_of_ever_longer_outputs(connect: Any) -> None:
    """Label: a variable output that grows shows labels it has not shown before."""
    # docs/v1-behaviour.md §4.2
    context = connect("classify_variable")
    for size in (2, 5, 9, 3):
        scores = np.arange(size, dtype=np.float32)
        expected = [(i, float(i), LABELS[i]) for i in reversed(range(size))]
        assert classify(context, scores, -1) == expected


@pytest.mark.parametrize("model", ["classify_fp64", "classify_int32"])
def test_other_types(connect: Any, model: str) -> None:
    """Value: the double that holds the float32 of the score, whatever the type."""
    # docs/v1-behaviour.md §4.2
    columns: dict[str, list[float]] = {
        "classify_fp64": [1e300, 1e308, 0.1, -0.1, 1e-300, 3.0, 16777217.0, -1e300, 5.5, 7.25],
        "classify_int32": [2**31 - 1, -(2**31), 16777217, 0, 1, 2, 3, 4, 5, 6],
    }
    values = columns[model]
    dtype = np.float64 if model == "classify_fp64" else np.int32
    order = sorted(range(10), key=lambda i: -values[i])
    with np.errstate(over="ignore"):
        expected = [(i, float(np.float32(values[i])), LABELS[i]) for i in order]
    assert classify(connect(model), np.array(values, dtype)) == expected


@pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int64"])
def test_integer_types(connect: Any, name: str) -> None:
    """Every integer type can be classified; order by the exact integers."""
    # docs/v1-behaviour.md §3.4, §4.2
    top = int(np.iinfo(name).max)
    array = np.array([1, top, 0, top - 1], name)
    (found,) = connect(f"identity_{name}").run({"INPUT0": [array]}, {"OUTPUT0": (CLASS, 9)})[
        "OUTPUT0"
    ]
    values = [float(np.float32(value)) for value in (top, top - 1, 1, 0)]
    assert found == [(i, value, "") for i, value in zip((1, 3, 0, 2), values)]


@pytest.mark.parametrize(("name", "dtype"), [("bool", "?"), ("fp16", "f2"), ("string", "S1")])
def test_types_without_classes(connect: Any, name: str, dtype: str) -> None:
    """CLASS on BOOL, FP16, STRING: a server error, and the server lives."""
    # docs/v1-behaviour.md §3.4, §E.1
    array = np.ones(2, dtype)
    context = connect(f"identity_{name}")
    message = (
        "class result not available for output 'OUTPUT0' due to unsupported type "
        f"'TYPE_{name.upper()}'"
    )
    for count in (1, -1):
        with server_error(message):
            context.run({"INPUT0": [array]}, {"OUTPUT0": (CLASS, count)})
    assert len(context.run({"INPUT0": [array]}, {"OUTPUT0": (1,)})["OUTPUT0"]) == 1


@pytest.mark.parametrize("model", ["identity_fp32", "classify_variable"])
def test_empty_output(connect: Any, model: str) -> None:
    """Classification of an empty output: refused as by v1's server; v2's would end."""
    # docs/v1-behaviour.md §E.1
    name = "INPUT0" if model == "identity_fp32" else "INPUT"
    out = name.replace("IN", "OUT")
    context = connect(model)
    with server_error(f"class result not available for output '{out}'"):
        context.run({name: [np.empty(0, np.float32)]}, {out: (CLASS, 1)})
    array = np.ones(1, np.float32)
    assert context.run({name: [array]}, {out: (1,)})[out][0].tolist() == [1]


def test_extra_dimensions(connect: Any) -> None:
    """k: counted over the elements of one entry, its dimensions flattened."""
    # docs/v1-behaviour.md §4.2
    array = np.array([[1, 5, 2], [9, 0, 3]], np.float32)
    expected = [(3, 9.0, ""), (1, 5.0, ""), (5, 3.0, ""), (2, 2.0, ""), (0, 1.0, ""), (4, 0.0, "")]
    for model, rows in (("identity_2d", 2), ("identity_nobatch", 1)):
        results = connect(model).run({"INPUT0": [array] * rows}, {"OUTPUT0": (CLASS, 99)}, rows)
        assert results["OUTPUT0"] == [expected] * rows


def test_infinities_and_nan(connect: Any) -> None:
    """Order: infinities at the ends; NaNs where the server's own sort leaves them."""
    # docs/v1-behaviour.md §4.2
    scores = np.array([1, np.inf, -np.inf, 0, 2, 3, 4, 5, 6, 7], np.float32)
    found = classify(connect("classify"), scores)
    assert (found[0][:2], found[-1][:2]) == ((1, np.inf), (2, -np.inf))
    scores[[0, 4]] = np.nan
    exact = classify(connect("classify"), scores)
    assert sorted(index for index, _, _ in exact) == list(range(10))
    assert [index for index, _, _ in exact] == server_order(connect, scores)


def server_order(connect: Any, scores: Any) -> list[int]:
    """The order in which the server itself sorts, told where it may classify on its own."""
    with_flags = connect("classify", correlation_id=1)  # then nothing is asked twice
    found = with_flags.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, 10)}, 1, START | END)
    return [index for index, _, _ in found["OUTPUT"][0]]


def test_negative_zero(connect: Any) -> None:
    """Value: -0.0 is 0.0, because v1's messages dropped it as the default."""
    # docs/v1-behaviour.md §4.2
    scores = np.full(10, -0.0, np.float32)
    for context in (connect("classify"), connect("classify", correlation_id=1)):
        assert {str(value) for _, value, _ in classify(context, scores)} == {"0.0"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.smoke
def test_ties(connect: Any, seed: int) -> None:
    """Equal values: the order of the server's sort, for a thousand classes as well."""
    # docs/v1-behaviour.md §4.2
    scores = np.random.default_rng(seed).integers(0, 2 + 3**seed, 1000).astype(np.float32)
    inputs = {"INPUT": [scores]}
    found = connect("classify_1000").run(inputs, {"OUTPUT": (CLASS, 50)})["OUTPUT"][0]
    told = connect("classify_1000", correlation_id=9)
    assert found == told.run(inputs, {"OUTPUT": (CLASS, 50)}, 1, 3)["OUTPUT"][0]


def test_labels_cost_one_request(connect: Any, triton: Any) -> None:
    """A context asks once more for its model's labels, then never again (docs/v2-mapping.md §1)."""
    before = inferences(triton, "classify")
    context = connect("classify")
    for count in (1, 10, 3):
        classify(context, SCORES, count)
    assert inferences(triton, "classify") == before + 4


def test_labels_in_a_sequence(connect: Any) -> None:
    """Labels come with every result, also when the correlation id comes and goes."""
    # docs/v1-behaviour.md §4.2, §3.2
    context = connect("classify")
    for given in ({}, {}, {"corr_id": 5}, {}, {"flags": START}, {"corr_id": 6, "flags": END}, {}):
        (found,) = context.run({"INPUT": [SCORES]}, {"OUTPUT": (CLASS, 1)}, **given)["OUTPUT"]
        assert found == [(4, 2e8, "l4")]


def test_no_labels_cost_nothing(connect: Any, triton: Any) -> None:
    """A model without label file is asked once per call (docs/v2-mapping.md §1)."""
    before = inferences(triton, "classify_nolabels")
    context = connect("classify_nolabels")
    for count in (1, 10):
        classify(context, SCORES, count)
    assert inferences(triton, "classify_nolabels") == before + 2


def test_stateful_model(connect: Any, triton: Any, protocol: int) -> None:
    """A stateful model is never asked twice; its values have six decimals."""
    before = inferences(triton, "sequence_labels")
    context = connect("sequence_labels", correlation_id=7000 + protocol)
    scores = np.array([0.1234567, 17.1234567, 1e-7, 0, -1, -2, -3, -4, -5, -6], np.float32)
    for flags, factor in ((START, 1), (0, 2), (END, 3)):
        total = np.float32(0)
        for _ in range(factor):
            total = total + scores
        results = context.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, 4)}, 1, flags)
        found = results["OUTPUT"][0]
        assert [(index, label) for index, _, label in found] == [
            *((1, "l1"), (0, "l0"), (2, "l2"), (3, "a:b c"))
        ]
        assert found[0][1] == float(total[1])  # exact from 16 up
        assert [value for _, value, _ in found[1:]] == [
            single(round(float(value), 6)) for value in total[[0, 2, 3]]
        ]
    assert inferences(triton, "sequence_labels") == before + 3


def test_images(connect: Any) -> None:
    """The image client's request; thousand labels, batch of two, top three."""
    # docs/v1-behaviour.md §F.4
    images = [np.zeros((3, 224, 224), np.float32) for _ in range(2)]
    for row, (image, best) in enumerate(zip(images, (17, 999))):
        image.flat[150 * best] = 0.9 + row
        image.flat[150 * 5] = 0.25
    results = connect("image_classifier").run(
        {"input": images}, {"probabilities": (CLASS, 2)}, batch_size=2
    )
    assert results["probabilities"] == [
        [(17, single(0.9), "l17"), (5, 0.25, "l5")],
        [(999, single(1.9), "l999"), (5, 0.25, "l5")],
    ]

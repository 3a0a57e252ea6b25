"""The standard model repository: a table, written as a folder that Triton reads.

Every model is a row: its behaviour in ``model.py``, and its configuration. By default a model has
``max_batch_size`` 8 and runs on the Python backend.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Mapping, Sequence

Config = Dict[str, Any]
SOURCE = Path(__file__).with_name("model.py")
LABELS_FILE = "labels.txt"
NOT_LOADED = ("spare", "broken", "refusing", "flowers", "batch_64", "large_in", "large_out")
# v1's thirteen datatypes and BF16: the name in "identity_<name>" and in the configuration
DATATYPES = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("fp16", "fp32", "fp64", "string", "bf16"),
)


class Name(str):
    """The name of an enum value, which protobuf's text format has without quotes."""


@dataclass(frozen=True)
class Model:
    """A row: the behaviour (None: an ensemble), the configuration, labels by line, versions."""

    behaviour: str | None
    config: Mapping[str, Any]
    labels: Sequence[str] = ()
    versions: tuple[int, ...] = (1,)


def tensor(name: str, datatype: str, dims: Sequence[int], **more: Any) -> Config:
    """Return an entry of ``input`` or ``output``."""
    return {"name": name, "data_type": Name(f"TYPE_{datatype.upper()}"), "dims": list(dims), **more}


# older servers choose a GPU by default, also without one
_PYTHON: Config = {"backend": "python", "instance_group": [{"kind": Name("KIND_CPU")}]}


def model(
    behaviour: str | None,
    inputs: Sequence[Config],
    outputs: Sequence[Config],
    batch: int = 8,
    labels: Sequence[str] = (),
    versions: tuple[int, ...] = (1,),
    **more: Any,
) -> Model:
    if labels:
        outputs = [{**output, "label_filename": LABELS_FILE} for output in outputs]
    platform = {"platform": "ensemble"} if behaviour is None else _PYTHON
    tensors = {"max_batch_size": batch, "input": list(inputs), "output": list(outputs)}
    return Model(behaviour, {**platform, **tensors, **more}, labels, versions)


def _add_sub(datatype: str, batch: int = 8) -> Model:
    inputs = [tensor(f"INPUT{i}", datatype, [16]) for i in (0, 1)]
    outputs = [tensor(f"OUTPUT{i}", datatype, [16]) for i in (0, 1)]
    return model("add_sub", inputs, outputs, batch)


def identity(
    datatype: str,
    dims: Sequence[int] = (-1,),
    batch: int = 8,
    behaviour: str = "identity",
    **each: Any,
) -> Model:
    pair = [tensor(name, datatype, dims, **each) for name in ("INPUT0", "OUTPUT0")]
    return model(behaviour, pair[:1], pair[1:], batch)


def _classify(
    datatype: str = "fp32", dims: Sequence[int] = (10,), batch: int = 8, labels: int = 10
) -> Model:
    inputs, outputs = [tensor("INPUT", datatype, dims)], [tensor("OUTPUT", datatype, dims)]
    return model("identity", inputs, outputs, batch, _labels(labels))


def _labels(count: int) -> list[str]:
    """Return labels l0, l1, …: label 3 is ``a:b c``, and line 7 is blank."""
    odd = {3: "a:b c", 7: ""}
    return [odd.get(index, f"l{index}") for index in range(count)]


def _sequence(strategy: Config, datatype: str = "int32", size: int = 1, labels: int = 0) -> Model:
    flags = [_control(name, f"CONTROL_SEQUENCE_{name}") for name in ("START", "END", "READY")]
    batcher = {
        # enough for a slow machine; an open sequence occupies its slot until then
        "max_sequence_idle_microseconds": 5_000_000,
        "control_input": [*flags, _control("CORRID", "CONTROL_SEQUENCE_CORRID", "UINT64")],
        **strategy,
    }
    inputs, outputs = [tensor("INPUT", datatype, [size])], [tensor("OUTPUT", datatype, [size])]
    if not labels:
        outputs.append(tensor("CORRID", "uint64", [1]))
    return model("sequence", inputs, outputs, 32, _labels(labels), sequence_batching=batcher)


def _control(name: str, kind: str, datatype: str = "") -> Config:
    values = {"data_type": Name(f"TYPE_{datatype}")} if datatype else {"int32_false_true": [0, 1]}
    return {"name": name, "control": [{"kind": Name(kind), **values}]}


def ensemble(inputs: list[Config], outputs: list[Config], *steps: Config) -> Model:
    return model(None, inputs, outputs, ensemble_scheduling={"step": list(steps)})


def step(model: str, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> Config:
    maps = {"input_map": inputs, "output_map": outputs}
    entries = {
        name: [{"key": key, "value": value} for key, value in names.items()]
        for name, names in maps.items()
    }
    return {"model_name": model, "model_version": -1, **entries}


def _with(model: Model, versions: tuple[int, ...] = (1,), **more: Any) -> Model:
    return Model(model.behaviour, {**model.config, **more}, model.labels, versions)


_ONE = ("fp32", (1,))
_FP32_4 = tensor("out/put:0", "fp32", [4]), tensor("out/put:1", "fp32", [4])
_DIRECT: Config = {"direct": {}}
_OLDEST: Config = {"oldest": {"max_candidate_sequences": 64}}
_QUEUE = {
    "timeout_action": Name("REJECT"),
    # a request can only shorten the default, and a default of 0 means no timeout
    "default_timeout_microseconds": 10_000_000,
    "allow_timeout_override": True,
}

MODELS: dict[str, Model] = {
    "simple": _add_sub("int32"),
    "simple_nobatch": _add_sub("int32", batch=0),
    "simple_string": _add_sub("string"),
    **{f"identity_{name}": identity(name) for name in DATATYPES},
    "identity_2d": identity("fp32", (-1, -1)),
    "identity_nobatch": identity("fp32", (-1, -1), batch=0),
    "identity_string_nobatch": identity("string", batch=0),
    "identity_string_2d": identity("string", (-1, -1)),
    "identity_reshape": identity("fp32", (4,), reshape={"shape": [2, 2]}),
    "classify": _classify(),
    "classify_nolabels": _classify(labels=0),
    "classify_nobatch": _classify(batch=0),
    "classify_1000": _classify(dims=(1000,), labels=1000),
    "classify_fp64": _classify("fp64"),
    "classify_int32": _classify("int32"),
    "classify_variable": _classify(dims=(-1,)),
    "image_classifier": model(
        "image_scores",
        [tensor("input", "fp32", [3, 224, 224], format=Name("FORMAT_NCHW"))],
        [tensor("probabilities", "fp32", [1000])],
        labels=_labels(1000),
    ),
    "flowers": model(
        "flowers", [tensor("values", "fp64", [4])], [tensor("predict_proba", "fp64", [3])]
    ),
    "sequence_sum": _sequence(_DIRECT),
    "sequence_oldest": _sequence(_OLDEST),
    "sequence_labels": _sequence(_DIRECT, "fp32", 10, labels=10),
    "slow": _with(
        identity(*_ONE, batch=0, behaviour="slow"),
        instance_group=[{"count": 4, "kind": Name("KIND_CPU")}],
    ),
    "failing": identity(*_ONE, behaviour="failing"),
    "multi_version": _with(
        identity(*_ONE, behaviour="version"), versions=(1, 2, 3), version_policy={"all": {}}
    ),
    "ensemble_simple": ensemble(
        [tensor(f"INPUT{i}", "int32", [16]) for i in (0, 1)],
        [tensor("OUTPUT0", "int32", [16])],
        step("simple", {"INPUT0": "INPUT0", "INPUT1": "INPUT1"}, {"OUTPUT0": "sum"}),
        step("identity_int32", {"INPUT0": "sum"}, {"OUTPUT0": "OUTPUT0"}),
    ),
    "ensemble_classify": ensemble(
        [tensor("INPUT", "fp32", [10])],
        [tensor("OUTPUT", "fp32", [10])],
        step("classify", {"INPUT": "INPUT"}, {"OUTPUT": "OUTPUT"}),
    ),
    "tensor_names": model("doubling", [tensor("in/put:0", "fp32", [4])], _FP32_4),
    "omits_output": model(
        "first_output_only",
        [tensor("INPUT0", *_ONE)],
        [tensor("OUTPUT0", *_ONE), tensor("OUTPUT1", *_ONE)],
    ),
    "wrong_rows": identity(*_ONE, behaviour="extra_row"),
    "queue_policy": _with(
        identity(*_ONE, behaviour="slow"), dynamic_batching={"default_queue_policy": _QUEUE}
    ),
    "two_inputs_variable": model(
        "identity",
        [tensor(f"INPUT{i}", "fp32", [-1]) for i in (0, 1)],
        [tensor(f"OUTPUT{i}", "fp32", [-1]) for i in (0, 1)],
    ),
    # for the benchmarks: large in one direction, with little work in the model
    "large_in": model(
        "constant",
        [tensor("INPUT0", "fp32", [3, 224, 224])],
        [tensor("OUTPUT0", "fp32", [1000])],
    ),
    "batch_64": identity("fp32", batch=64),
    "large_out": model(
        "constant", [tensor("INPUT0", "fp32", [1])], [tensor("OUTPUT0", "fp32", [4_980_736])]
    ),
    "refusing": identity("string", batch=0, behaviour="refusing"),
    "spare": identity(*_ONE),
    "broken": identity(*_ONE, behaviour="broken"),
}
LOADED_AT_START = tuple(name for name in MODELS if name not in NOT_LOADED)


def write(
    folder: Path, names: Iterable[str] = MODELS, models: Mapping[str, Model] = MODELS
) -> None:
    """Write the named models of a table under ``folder``."""
    for name in names:
        _write_model(folder / name, name, models[name])


def _write_model(folder: Path, name: str, model: Model) -> None:
    for version in model.versions:
        (folder / str(version)).mkdir(parents=True)
        if model.behaviour is not None:
            text = SOURCE.read_text("utf-8").replace('= "identity"', f'= "{model.behaviour}"', 1)
            (folder / str(version) / "model.py").write_text(text, "utf-8")
    config = "\n".join(_fields({"name": name, **model.config}))
    (folder / "config.pbtxt").write_text(f"{config}\n", "utf-8")
    if model.labels:
        (folder / LABELS_FILE).write_text("".join(f"{label}\n" for label in model.labels), "utf-8")


def _fields(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a configuration in protobuf's text format."""
    for field, value in message.items():
        for item in value if isinstance(value, list) else [value]:
            yield f"{field}: {_text(item)}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(_fields(value)) + "}"
    return value if isinstance(value, Name) else json.dumps(value)

"""The setting ``models``: facts of a model that its server does not report.

A server of the Open Inference Protocol that is not Triton has no model configurations, and
some of its models declare no tensors either. What a script needs to know of them, above all what
v1's own clients ask for before they send anything, its owner can say here.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

#: An unlimited batch size: the largest number of the configuration's field, an int32.
UNLIMITED = 2**31 - 1

_EXPECTED = (
    'a mapping of model names, or the path of a JSON file with one, such as {"iris": '
    '{"max_batch_size": 8, "inputs": {"x": {"datatype": "FP32", "dims": [4]}}, "outputs": '
    '{"predict_proba": {"datatype": "FP64", "dims": [3], "labels": "labels.txt"}}}}'
)


@dataclass(frozen=True)
class DeclaredTensor:
    """One tensor of the setting; ``dims`` are those of one batch entry."""

    name: str
    datatype: str = ""  # KServe v2 name
    dims: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    label_filename: str = ""


@dataclass(frozen=True)
class DeclaredModel:
    """One model of the setting; for None and () the server decides."""

    name: str
    max_batch_size: int | None = None
    inputs: tuple[DeclaredTensor, ...] = ()
    outputs: tuple[DeclaredTensor, ...] = ()

    def labels(self) -> dict[str, tuple[str, ...]]:
        """Return the labels of each output that has some, by class index."""
        return {output.name: output.labels for output in self.outputs if output.labels}


def declared_models(value: Any) -> Any:
    """Mapping, its JSON, or the path of a JSON file → (name, DeclaredModel) pairs.

    Label files are read here; their paths start at the folder of the JSON file.
    """
    folder = os.curdir
    if isinstance(value, (str, os.PathLike)):
        text = str(value)
        if not text.lstrip().startswith("{"):
            path = os.path.abspath(os.path.expanduser(text))
            folder = os.path.dirname(path)
            text = _content(path)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{_EXPECTED}; this is no JSON: {error}") from None
    models = _mapping(value, _EXPECTED)
    return tuple((name, _model(name, one, folder)) for name, one in models.items())


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:  # also a path or a text that is none
        raise ValueError(f"{_EXPECTED}; {path!r} cannot be read: {error}") from None


def _mapping(value: Any, expected: str, keys: Iterable[str] = ()) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError(expected)
    strange = [name for name in value if keys and name not in keys]
    if strange:
        raise ValueError(f"{expected}; {strange[0]!r} is none of these")
    return value


def _model(name: str, value: Any, folder: str) -> DeclaredModel:
    keys = ("max_batch_size", "inputs", "outputs")
    model = _mapping(value, f"for model {name!r} a mapping of {', '.join(keys)}", keys)
    largest = model.get("max_batch_size")
    if largest is not None and not (type(largest) is int and 0 <= largest <= UNLIMITED):
        raise ValueError(f"as max_batch_size of model {name!r} an integer from 0 to {UNLIMITED}")
    sides = []
    for side in keys[1:]:
        tensors = _mapping(model.get(side, {}), f"as {side} of model {name!r} a mapping of tensors")
        sides.append(tuple(_tensor(tensor, one, folder) for tensor, one in tensors.items()))
    return DeclaredModel(name, largest, *sides)


def _tensor(name: str, value: Any, folder: str) -> DeclaredTensor:
    keys = ("datatype", "dims", "labels")
    tensor = _mapping(value, f"for tensor {name!r} a mapping of {', '.join(keys)}", keys)
    datatype = _datatype(name, tensor["datatype"]) if "datatype" in tensor else ""
    dims = tensor.get("dims")
    if dims is not None:
        sizes = list(dims) if isinstance(dims, (list, tuple)) else [None]
        if not all(type(size) is int and size >= -1 for size in sizes):
            raise ValueError(f"as dims of tensor {name!r} a list of sizes, -1 for any")
        dims = tuple(sizes)
    labels, file = _labels(name, tensor.get("labels", ()), folder)
    return DeclaredTensor(name, datatype, dims, labels, file)


def _datatype(tensor: str, name: Any) -> str:
    """Data type by its name in v2 or in v1 → its name in v2."""
    from tritonclient_shim.core import dtypes  # needs NumPy, which reading settings must not

    names = {row.v2: row.v2 for row in dtypes.TABLE}
    names.update((row.v1, row.v2) for row in dtypes.TABLE)
    if not isinstance(name, str) or name not in names:
        raise ValueError(f"as datatype of tensor {tensor!r} one of {', '.join(names)}")
    return names[name]


def _labels(name: str, value: Any, folder: str) -> tuple[tuple[str, ...], str]:
    """Return labels by class index, and their file, which has one label on each line."""
    if isinstance(value, (str, os.PathLike)):
        path = os.path.join(folder, os.path.expanduser(os.fspath(value)))
        lines = _content(path).split("\n")
        return tuple(line.rstrip("\r") for line in lines[: -1 if not lines[-1] else None]), path
    if isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value):
        return tuple(value), ""
    raise ValueError(f"as labels of tensor {name!r} a list of texts, or the path of a file of them")

"""Classification: raw scores, or a server's class strings → v1 classes (v1 §4.2)."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from tritonclient_shim.model import Buffer, V1Class
from tritonclient_shim.translate import introsort
from tritonclient_shim.translate.strings import deserialize

#: Data types a server classifies (KServe v2 names). The others were refused by v1's server;
#: asking a v2 server to classify a BYTES tensor ends the server (v2-mapping §1).
CLASSIFIABLE = frozenset(
    ("UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP32", "FP64")
)

#: The largest class count a v2 server takes for what it is; asks for every class.
ALL_CLASSES = 2**31 - 1


def best(scores: np.ndarray[Any, Any], count: int) -> list[int]:
    """Scores of one batch entry (1-D) → indices of the ``count`` best, in the server's order.

    The server's full sort is repeated only where it matters: among ties and NaNs.
    """
    size = scores.size
    count = min(count, size)
    candidates = _largest(scores, min(count + 1, size))
    ranked = scores[candidates]
    has_nan = scores.dtype.kind == "f" and bool(np.isnan(scores).any())
    if has_nan or bool((ranked[1:] == ranked[:-1]).any()):
        return introsort.descending(scores.tolist())[:count]
    return candidates[:count].tolist()  # type: ignore[no-any-return]


def _largest(scores: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    if count < scores.size:
        chosen = np.argpartition(scores, scores.size - count)[scores.size - count :]
    else:
        chosen = np.arange(scores.size)
    return chosen[np.argsort(scores[chosen])[::-1]]


def from_scores(
    scores: np.ndarray[Any, Any], count: int, labels: Sequence[str]
) -> tuple[V1Class, ...]:
    """Scores of one batch entry, and labels by index → its classes with float32 values.

    The value is the score rounded to float32 whatever the tensor's type (v1 §4.2).
    """
    indices = best(scores, count)
    with np.errstate(over="ignore"):
        # v1 §4.2: 0.0 also for -0.0, which v1's messages dropped as if it were the default.
        values = (scores[indices].astype(np.float32) + np.float32(0)).tolist()
    known = len(labels)
    return tuple(
        V1Class(index, value, labels[index] if index < known else "")
        for index, value in zip(indices, values)
    )


def from_text(text: bytes) -> V1Class:
    """A server's class string ``value:index[:label]`` → class; labels may contain colons.

    The text has six decimals: exact as float32 only from 16 up (v2-mapping §1).
    """
    value, index, *label = text.split(b":", 2)
    with np.errstate(over="ignore"):
        number = float(np.float32(float(value))) + 0.0  # no -0.0, as above
    return V1Class(int(index), number, label[0].decode("utf-8", "replace") if label else "")


def from_texts(data: Buffer, batch_size: int) -> tuple[tuple[V1Class, ...], ...]:
    """A BYTES tensor of class strings → the classes of each batch entry."""
    entries = [from_text(text) for text in deserialize(data)]
    per_entry = len(entries) // batch_size if batch_size else 0
    return tuple(tuple(entries[i * per_entry : (i + 1) * per_entry]) for i in range(batch_size))


def labels_by_index(classes: Sequence[V1Class]) -> list[str]:
    """All classes of one batch entry, in any order → their labels by class index."""
    labels = [""] * (1 + max((entry.index for entry in classes), default=-1))
    for entry in classes:
        labels[entry.index] = entry.label
    return labels

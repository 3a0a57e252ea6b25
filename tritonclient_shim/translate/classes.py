"""Classification: raw scores, or a server's class strings → v1 classes
(docs/v1-behaviour.md §4.2).
"""

from __future__ import annotations

import re
from typing import Any, Sequence

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.byte_strings import deserialize
from tritonclient_shim.core.errors import UnreadableFault
from tritonclient_shim.core.model import Buffer, V1Class
from tritonclient_shim.core.reading import shown
from tritonclient_shim.translate import introsort

Scores = Any  # ndarray of a numeric dtype
Indices = Any  # ndarray of integers

#: Data types that a server classifies (KServe v2 names). v1's server refused the rest.
CLASSIFIABLE = frozenset(row.v2 for row in dtypes.TABLE if row.classes)

#: The largest class count a v2 server takes for what it is; asks for every class.
ALL_CLASSES = 2**31 - 1

#: A class as text: the longest FP64 has 317 characters, the index must be an int32 of v1's.
_VALUE = rb"-?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?(?:e[+-]?[0-9]{1,3})?|inf|nan)"
_CLASS = re.compile(rb"(%b):([0-9]{1,9})(?::(.*))?" % _VALUE, re.DOTALL)

#: For fewer classes than this, looking for the largest again and again beats sorting.
FEW = 12


def best(rows: Scores, count: int) -> Indices:
    """Scores of a batch (2-D) → indices of the ``count`` best of each entry, in the server's order.

    The server's full sort is repeated only for the entries where it matters: those with ties
    among the best, or with NaNs.
    """
    size = rows.shape[1]
    count = min(count, size)
    looked_at = min(count + 1, size)
    candidates, ranked = (_one_by_one if count < FEW else _sorted)(rows, looked_at)
    # NumPy takes a NaN for larger than anything: one is the first of the ranked.
    unsure = (ranked[:, 1:] == ranked[:, :-1]).any(axis=1) | (ranked[:, 0] != ranked[:, 0])
    unsure |= ranked[:, -1] == _lowest(rows.dtype)
    chosen: Indices = candidates[:, :count]
    for row in np.flatnonzero(unsure):
        chosen[row] = introsort.descending(rows[row].tolist())[:count]
    return chosen


def _one_by_one(rows: Scores, count: int) -> tuple[Indices, Scores]:
    """The ``count`` largest scores of each entry, in descending order, and their indices.

    Not to be relied on where the lowest of all numbers is among them, which marks those found.
    """
    left, row = rows.copy(), np.arange(len(rows))
    found = np.empty((len(rows), count), np.intp)
    scores = np.empty((len(rows), count), rows.dtype)
    for place in range(count):
        found[:, place] = best_left = left.argmax(axis=1)
        scores[:, place] = left[row, best_left]
        left[row, best_left] = _lowest(rows.dtype)
    return found, scores


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _sorted(rows: Scores, count: int) -> tuple[Indices, Scores]:
    """The same by partition; better from some ten scores on."""
    size = rows.shape[1]
    if count < size:
        found = rows.argpartition(size - count, axis=1)[:, size - count :]
    else:
        found = np.broadcast_to(np.arange(size), rows.shape)
    row = np.arange(len(rows))[:, None]
    scores = rows[row, found]
    order = scores.argsort(axis=1)[:, ::-1]
    return found[row, order], scores[row, order]


def from_scores(rows: Scores, count: int, labels: Sequence[str]) -> list[list[V1Class]]:
    """Scores of a batch (2-D), and labels by index → the classes of each batch entry.

    Values are the scores rounded to float32 whatever the tensor's type (docs/v1-behaviour.md §4.2).
    """
    indices = best(rows, count)
    with np.errstate(over="ignore"):
        # docs/v1-behaviour.md §4.2: 0.0 also for -0.0, which v1's messages dropped as if it were
        # the default.
        values = rows[np.arange(len(rows))[:, None], indices].astype(np.float32) + np.float32(0)
    unnamed = rows.shape[1] - len(labels)
    known = [*labels, *[""] * unnamed] if unnamed > 0 else labels
    return [
        [(index, value, known[index]) for index, value in zip(*row)]
        for row in zip(indices.tolist(), values.tolist())
    ]


def from_text(text: bytes) -> V1Class:
    """A server's class string ``value:index[:label]`` → class; labels may contain colons.

    The text has six decimals: exact as float32 only from 16 up (docs/v2-mapping.md §1).
    UnreadableFault for what has another form.
    """
    found = _CLASS.fullmatch(text)
    if found is None:
        raise _odd(f"{shown(text)} as a class", "'<value>:<index>' or '<value>:<index>:<label>'")
    with np.errstate(over="ignore"):
        number = float(np.float32(float(found[1]))) + 0.0  # no -0.0, as above
    return int(found[2]), number, (found[3] or b"").decode("utf-8", "replace")


def from_texts(data: Buffer, batch_size: int) -> list[list[V1Class]]:
    """A BYTES tensor of class strings → the classes of each batch entry."""
    entries = [from_text(text) for text in deserialize(data)]
    per_entry, left = divmod(len(entries), batch_size) if batch_size else (0, 0)
    if left:
        raise _odd(f"{len(entries)} classes", f"as many for each of {batch_size} batch entries")
    return [entries[i * per_entry : (i + 1) * per_entry] for i in range(batch_size)]


def labels_by_index(classes: Sequence[V1Class], count: int) -> list[str]:
    """All classes of one batch entry, in any order → the first ``count`` labels by class index."""
    labels = [""] * count
    for index, _, label in classes:
        if index < count:
            labels[index] = label
    return labels


def _odd(found: str, expected: str) -> UnreadableFault:
    return UnreadableFault(f"its classification has {found}", expected)

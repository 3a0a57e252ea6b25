"""Classification: raw scores, or a server's class strings → v1 classes
(docs/v1-behaviour.md §4.2).
"""

from __future__ import annotations

import re
from typing import Any, Sequence

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.byte_strings import deserialize
from tritonclient_shim.core.errors import UnreadableReply
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


def best(rows: Scores, count: int) -> Indices:
    """Return the indices of the ``count`` highest scores of each row, as the server sorts them.

    Repeat the server's sort only where it matters: if scores among the highest are equal or NaN.
    """
    size = rows.shape[1]
    start = max(size - count - 1, 0)  # one score more: an equal one may be the better
    each = np.arange(len(rows))[:, np.newaxis]
    highest = rows.argpartition(start, axis=1)[:, start:]  # NaNs count as the highest
    indices = highest[each, rows[each, highest].argsort(axis=1)[:, ::-1]]
    ranked = rows[each, indices]
    ordered = (ranked[:, 1:] < ranked[:, :-1]).all(axis=1)
    indices = indices[:, :count]
    for row in (~ordered).nonzero()[0]:
        indices[row] = introsort.descending(rows[row].tolist(), count)
    return indices


def from_scores(rows: Scores, count: int, labels: Sequence[str]) -> list[list[V1Class]]:
    """Return the classes of each batch entry from its scores, and labels by index.

    Values are the scores rounded to float32, whatever the tensor's type
    (docs/v1-behaviour.md §4.2).
    """
    unnamed = rows.shape[1] - len(labels)
    known = [*labels, *[""] * unnamed] if unnamed > 0 else labels
    indices = best(rows, count)
    values = _float32(rows[np.arange(len(rows))[:, np.newaxis], indices])
    return [
        [(index, value, known[index]) for index, value in zip(*entry)]
        for entry in zip(indices.tolist(), values.tolist())
    ]


def _float32(values: Scores) -> Scores:
    """Return values rounded to float32; 0.0 also for -0.0, which v1's messages dropped."""
    if values.dtype == np.float64:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    return values.astype(np.float32, copy=False) + np.float32(0)


def from_text(text: bytes) -> V1Class:
    """Return the class of a server's string ``value:index[:label]``; labels may contain colons.

    The text has six decimals: exact as float32 only from 16 up (docs/v2-mapping.md §1). Raise
    UnreadableReply for another form.
    """
    match = _CLASS.fullmatch(text)
    if match is None:
        raise _odd(f"{shown(text)} as a class", "'<value>:<index>' or '<value>:<index>:<label>'")
    value = _float32(np.array(float(match[1])))
    return int(match[2]), float(value), (match[3] or b"").decode("utf-8", "replace")


def from_texts(data: Buffer, batch_size: int) -> list[list[V1Class]]:
    """Return the classes of each batch entry, from a BYTES tensor of class strings."""
    entries = [from_text(text) for text in deserialize(data)]
    per_entry, left = divmod(len(entries), batch_size) if batch_size else (0, 0)
    if left:
        raise _odd(f"{len(entries)} classes", f"as many for each of {batch_size} batch entries")
    return [entries[i * per_entry : (i + 1) * per_entry] for i in range(batch_size)]


def labels_by_index(data: Buffer, batch_size: int, count: int) -> list[str]:
    """Return the first ``count`` labels by class index, from class strings of all classes.

    All batch entries have these labels. The first entry is parsed.
    """
    texts = deserialize(data)
    labels = [""] * count
    for index, _, label in map(from_text, texts[: len(texts) // batch_size]):
        if index < count:
            labels[index] = label
    return labels


def _odd(content: str, expected: str) -> UnreadableReply:
    return UnreadableReply(f"its classification has {content}", expected)

"""Classification: raw scores, or a server's class strings → v1 classes, in the server's order
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

Scores = Any  # ndarray of a numeric dtype
Indices = Any  # ndarray of integers

#: Data types that a server classifies (KServe v2 names). v1's server refused the rest.
CLASSIFIABLE = frozenset(row.v2 for row in dtypes.TABLE if row.classes)

#: The largest class count a v2 server takes for what it is; asks for every class.
ALL_CLASSES = 2**31 - 1

#: Up to this many scores of a row are found one by one, which is faster than a partition: 17 µs
#: instead of 76 for 6 of 1,000 scores in 8 rows, 0.4 ms instead of 8.7 for 6 of 21,841 in 32 rows.
_FEW = 17

#: A class as text: the longest FP64 has 317 characters, the index must be an int32 of v1's.
_VALUE = rb"-?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?(?:e[+-]?[0-9]{1,3})?|inf|nan)"
_CLASS = re.compile(rb"(%b):([0-9]{1,9})(?::(.*))?" % _VALUE, re.DOTALL)


def best(rows: Scores, count: int) -> Indices:
    """Return the indices of the ``count`` highest scores of each row, as the server sorts them.

    Repeat the server's sort only where it matters: if scores among the highest are equal or NaN.
    """
    # One score more: an equal score may be the better one.
    size = min(count + 1, rows.shape[1])
    indices = _few_highest(rows, size) if size <= _FEW else _highest(rows, size)
    ranked = rows[np.arange(len(rows))[:, np.newaxis], indices]
    ordered = (ranked[:, 1:] < ranked[:, :-1]).all(axis=1)
    indices = indices[:, :count]
    for row in (~ordered).nonzero()[0]:
        indices[row] = descending(rows[row].tolist(), count)
    return indices


def _few_highest(rows: Scores, size: int) -> Indices:
    """Return the indices of the highest scores of each row, one column after the other.

    A row with equal scores may have an index twice. NaN counts as the highest score.
    """
    lowest = -np.inf if rows.dtype.kind == "f" else np.iinfo(rows.dtype).min
    each = np.arange(len(rows))
    remaining = rows.copy()
    indices = np.empty((len(rows), size), np.intp)
    for column in range(size):
        highest = remaining.argmax(axis=1)
        indices[:, column] = highest
        remaining[each, highest] = lowest
    return indices


def _highest(rows: Scores, size: int) -> Indices:
    """Return the indices of the highest scores of each row. NaN counts as the highest score."""
    each = np.arange(len(rows))[:, np.newaxis]
    start = rows.shape[1] - size
    highest = rows.argpartition(start, axis=1)[:, start:]
    order = rows[each, highest].argsort(axis=1)[:, ::-1]
    return highest[each, order]


def from_scores(rows: Scores, count: int, labels: Sequence[str]) -> list[list[V1Class]]:
    """Return the classes of each batch entry from its scores, and labels by index.

    Values are the scores rounded to float32, whatever the tensor's type
    (docs/v1-behaviour.md §4.2).
    """
    unnamed = rows.shape[1] - len(labels)
    names = [*labels, *[""] * unnamed] if unnamed > 0 else labels
    indices = best(rows, count)
    values = _float32(rows[np.arange(len(rows))[:, np.newaxis], indices])
    return [
        [(index, value, names[index]) for index, value in zip(*entry)]
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


# ------------------------------------------- the order, ties and NaNs included

_RUN = 16


class _Sorter:
    """Sorts ``order`` (indices into ``values``) in place, largest value first, as a server does.

    v1's server and Triton alike sort class indices with the C++ standard library's ``sort`` and the
    comparison ``value[a] > value[b]`` (docs/v2-mapping.md §1). It is not stable: which of two equal
    classes comes first depends on the algorithm, an introsort: quicksort with the median of three
    as pivot, heap sort below a depth limit, insertion sort for runs of 16 and less.

    Only the first ``needed`` places are sorted. What follows ``end`` stays unsorted: no value there
    is larger than a value before.
    """

    def __init__(self, values: Sequence[float], needed: int) -> None:
        self.values = values
        self.order = list(range(len(values)))
        self.needed = needed
        self.end = len(values)

    def before(self, a: int, b: int) -> bool:
        """True if index ``a`` stands before index ``b``; False if a value is NaN."""
        return self.values[a] > self.values[b]

    def swap(self, i: int, j: int) -> None:
        order = self.order
        order[i], order[j] = order[j], order[i]

    # ------------------------------------------------------------------------ quicksort

    def quick(self, first: int, last: int, depth: int) -> None:
        while last - first > _RUN:
            if depth == 0:
                self.heap_sort(first, last)
                return
            depth -= 1
            cut = self.partition(first, last)
            if cut < self.needed:
                self.quick(cut, last, depth)
            else:
                self.end = cut
            last = cut

    def partition(self, first: int, last: int) -> int:
        self.median_to(first, first + 1, first + (last - first) // 2, last - 1)
        order = self.order
        values = self.values
        pivot = values[order[first]]
        low = first + 1
        high = last
        while True:
            while values[order[low]] > pivot:
                low += 1
            high -= 1
            while pivot > values[order[high]]:
                high -= 1
            if low >= high:
                return low
            self.swap(low, high)
            low += 1

    def median_to(self, result: int, a: int, b: int, c: int) -> None:
        x = self.order[a]
        y = self.order[b]
        z = self.order[c]
        if self.before(x, y):
            middle = b if self.before(y, z) else c if self.before(x, z) else a
        else:
            middle = a if self.before(x, z) else c if self.before(y, z) else b
        self.swap(result, middle)

    # ------------------------------------------------------------------------ heap sort

    def heap_sort(self, first: int, last: int) -> None:
        size = last - first
        for parent in range((size - 2) // 2, -1, -1):
            self.sift(first, parent, size, self.order[first + parent])
        for end in range(size - 1, 0, -1):
            value = self.order[first + end]
            self.order[first + end] = self.order[first]
            self.sift(first, 0, end, value)

    def sift(self, first: int, hole: int, size: int, value: int) -> None:
        order = self.order
        top = hole
        child = hole
        while child < (size - 1) // 2:
            child = 2 * (child + 1)
            if self.before(order[first + child], order[first + child - 1]):
                child -= 1
            order[first + hole] = order[first + child]
            hole = child
        if size % 2 == 0 and child == (size - 2) // 2:
            child = 2 * child + 1
            order[first + hole] = order[first + child]
            hole = child
        parent = (hole - 1) // 2
        while hole > top and self.before(order[first + parent], value):
            order[first + hole] = order[first + parent]
            hole, parent = parent, (parent - 1) // 2
        order[first + hole] = value

    # ------------------------------------------------------------------- insertion sort

    def insert(self, i: int, whole_run: bool) -> None:
        """Insert the value at ``i`` into those before it. Only the first run looks at the first."""
        order = self.order
        value = self.order[i]
        if whole_run and self.before(value, order[0]):
            order[: i + 1] = [value, *order[:i]]
            return
        while i > 0 and self.before(value, order[i - 1]):
            order[i] = order[i - 1]
            i -= 1
        order[i] = value


def descending(values: Sequence[float], count: int | None = None) -> list[int]:
    """Return the class indices of the ``count`` best values of one batch entry, or of all values.

    The order is that of the server.
    """
    size = len(values)
    # Where values compare as nothing, the whole sort decides which are the first.
    whole = count is None or any(value != value for value in values)
    sorter = _Sorter(values, size if whole else min(count or 0, size))
    if size > 1:
        sorter.quick(0, size, 2 * (size.bit_length() - 1))
        for i in range(1, sorter.end):
            sorter.insert(i, whole_run=i < _RUN)
    return sorter.order[:count]

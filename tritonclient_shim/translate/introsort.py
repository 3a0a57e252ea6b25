"""The order in which an inference server sorts classes, ties and NaNs included.

v1's server and Triton alike sort class indices with the C++ standard library's ``sort``
and the comparison ``value[a] > value[b]`` (docs/v2-mapping.md §1). It is not stable: which of two
equal classes comes first depends on the algorithm, an introsort: quicksort with the median
of three as pivot, heap sort below a depth limit, insertion sort for runs of 16 and less.
"""

from __future__ import annotations

from typing import Sequence

_RUN = 16


class _Sorter:
    """Sorts ``order`` (indices into ``values``) in place, largest value first.

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
        order, values = self.order, self.values
        pivot = values[order[first]]
        low, high = first + 1, last
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
        x, y, z = self.order[a], self.order[b], self.order[c]
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
        order, top, child = self.order, hole, hole
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
        order, value = self.order, self.order[i]
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

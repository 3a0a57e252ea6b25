"""What equal replies have in common besides data and ids is parsed once, and then remembered."""

from __future__ import annotations

from functools import lru_cache
from typing import Callable, TypeVar

T = TypeVar("T")

#: More bytes than this are parsed each time; 0 parses all, as the benchmarks do beside the small
#: run.
REMEMBERED_BYTES = 4096


def remembered(parse: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """``parse``, run once for equal bytes that come again soon; what it raises is not kept."""
    known = lru_cache(maxsize=256)(parse)
    return lambda content: (known if len(content) <= REMEMBERED_BYTES else parse)(content)

"""How functions are tested with arguments, replies and files from hypothesis."""

from __future__ import annotations

import inspect
import os
import random
import re
import threading
import time
from typing import Any, Callable

from hypothesis import HealthCheck, Phase, seed, settings

from tests.reliability.amounts import amount, is_short

#: The short profile repeats its examples. The long one chooses new ones by a printed seed.
SEED = int(os.environ.get("RELIABILITY_SEED") or random.randrange(2**32))

Test = Callable[..., None]


def fuzzed(counted: str) -> Callable[[Test], Test]:
    """Return settings with as many examples as the table of amounts says."""
    of_profile = settings(
        max_examples=amount(counted),
        deadline=None,
        database=None,
        derandomize=is_short(),
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    return lambda test: of_profile(test if is_short() else seed(SEED)(test))


def documented(of: Any) -> tuple[str, ...]:
    """Return the names of the exceptions in a docstring's section Raises."""
    section = re.search(r"^Raises\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(of) or "", re.S | re.M)
    lines = section.group(1).splitlines() if section else []
    names = [name for line in lines if line[:1] != " " for name in line.split(",")]
    return tuple(name.strip().rpartition(".")[2] for name in names)


def refused(error: BaseException, allowed: tuple[str, ...]) -> bool:
    """True if the error is of one of these exceptions or a subclass, and has a text."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(str(error).strip()) and not names.isdisjoint(allowed)


def no_thread_more(before: int, allowed: int = 1) -> bool:
    """True if the process has no new threads, once ending threads have ended."""
    for _ in range(100):
        if threading.active_count() <= before + allowed:
            return True
        time.sleep(0.1)
    return False

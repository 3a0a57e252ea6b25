"""Names of our own that are to go are gone when their release comes."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import warnings
from typing import Any, Iterator

import pytest
from deprecation import DeprecatedWarning, UnsupportedWarning, fail_if_not_removed

from tritonclient_shim import notice
from tritonclient_shim.notice import removals


@pytest.fixture(autouse=True)
def own_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test decorates is forgotten afterwards."""
    monkeypatch.setattr(removals, "GOING", dict(removals.GOING))
    yield


@fail_if_not_removed
def guarded(function: Any) -> None:
    """Call a function of ours, whatever it says to being called with nothing."""
    with contextlib.suppress(TypeError):
        function()


def test_nothing_of_ours_outlives_its_removal() -> None:
    """fail_if_not_removed passes for every decorated function of the package."""
    for found in pkgutil.iter_modules(notice.__path__, notice.__name__ + "."):
        importlib.import_module(found.name)
    for function in removals.GOING.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecatedWarning)
            guarded(function)


def test_guard_sees_what_is_overdue() -> None:
    """A function whose removal is due warns as unsupported, and the guard fails on it."""

    @removals.going("0.0.1", "0.0.2", "Use something else.")
    def overdue() -> None:
        """Gone long ago."""

    assert list(removals.GOING.values()) == [overdue]
    with pytest.warns(UnsupportedWarning):
        overdue()
    with pytest.raises(AssertionError):
        guarded(overdue)


def test_deprecated_but_not_due_only_warns() -> None:
    """Between the two releases there is a warning and no failure."""

    @removals.going("0.0.1", "99", "Use something else.")
    def waiting() -> int:
        """Goes later."""
        return 3

    with pytest.warns(DeprecatedWarning, match="Use something else"):
        assert waiting() == 3
    guarded(waiting)

"""The correlation id of a context, while several threads send requests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conftest import Connect
from tests.infer_cases import ONE


class WatchedValue:
    """A value of an input that calls a function when its text is asked for."""

    action: Any = None

    def __str__(self) -> str:
        action = self.action
        self.action = None
        if action is not None:
            action()
        return "1"


def test_requests_without_a_correlation_id_keep_another_threads(connect: Connect) -> None:
    """A request without a correlation id leaves the one that another request has set meanwhile."""
    context = connect("simple_string")
    value = WatchedValue()
    texts = np.array(["1"] * 16, object)
    plain = {"INPUT0": [texts], "INPUT1": [texts]}
    watched = texts.copy()
    watched[0] = value
    inputs = {"INPUT0": [watched], "INPUT1": [texts]}
    context.run(inputs, ONE)
    for number in (7, 9):
        value.action = lambda number=number: context.run(plain, ONE, corr_id=number)
        context.run(inputs, ONE)
        assert context.correlation_id() == number

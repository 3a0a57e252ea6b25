"""The correlation id of a context, while several threads send requests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conftest import Connect
from tests.infer_cases import ONE, RAMP


class WatchedName(str):
    """A name of an input that calls a function when its bytes are asked for."""

    action: Any = None

    def encode(self, *arguments: Any, **named: Any) -> bytes:
        action = self.action
        self.action = None
        if action is not None:
            action()
        return super().encode(*arguments, **named)


def test_requests_without_a_correlation_id_keep_another_threads(connect: Connect) -> None:
    """A request without a correlation id leaves the one that another request has set meanwhile."""
    context = connect("simple")
    name = WatchedName("INPUT0")
    inputs = {name: [RAMP], "INPUT1": [np.ones(16, np.int32)]}
    plain = {str(key): value for key, value in inputs.items()}
    context.run(inputs, ONE)
    for number in (7, 9):
        name.action = lambda number=number: context.run(plain, ONE, corr_id=number)
        context.run(inputs, ONE)
        assert context.correlation_id() == number

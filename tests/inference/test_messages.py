"""v1's wording of what a v2 server says (docs/v1-behaviour.md §E.8, §E.10, §3.4, §6.4)."""

from __future__ import annotations

import pytest

from tritonclient_shim.translate.to_v1 import RequestContext, v1_text

SHAPE = "unexpected shape for input 'INPUT0' for model 'm'. "
NOTE = " NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension"


@pytest.mark.parametrize(
    ("expected", "got", "batching", "sentence"),
    [
        ("-1,16", "1,4,4", True, "Expected [16], got [4,4]"),
        ("-1,-1,3", "2,5", True, "Expected [-1,3], got [5]"),
        ("-1, 16", "1", True, "Expected [16], got []"),
        ("-1,16", "", True, "Expected [16], got []"),
        ("-1,16", "4,4,1", False, "Expected [-1,16], got [4,4,1]"),
    ],
)
def test_shape(expected: str, got: str, batching: bool, sentence: str) -> None:
    """v1's shapes have no batch dimension, no spaces, and no note after them."""
    # docs/v1-behaviour.md §E.8
    message = f"{SHAPE}Expected [{expected}], got [{got}].{NOTE if batching else ''}"
    assert v1_text(message, RequestContext("m", batching=batching)) == SHAPE + sentence


def test_load_failed() -> None:
    """If some versions fail, v1's text has all of them, without reasons."""
    # docs/v1-behaviour.md §6.4
    message = (
        "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: Error: a\n\nAt:\n"
        "  model.py(6): initialize: in version 9 is at UNAVAILABLE state\n;\n"
        "version 12 is at UNAVAILABLE state: unloaded;\n"
    )
    assert (
        v1_text(message, RequestContext())
        == "failed to load 'm', versions that are not available: 1,12"
    )

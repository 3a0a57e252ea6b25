"""Contract: requests that a server refuses before a model runs, word for word."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.contract_calls import (
    ONE,
    SIXTEEN,
    simple,
    single,
    status_of,
    strings,
    tensor,
)
from tests.generation_marks import not_on
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import InferCall, OutputSpec, TensorIn, best_classes

_FIVE = tensor("INPUT", np.array([[5]], np.int32))
_TWO = tensor("INPUT", np.array([[5], [6]], np.int32))
_SHORT = TensorIn("INPUT0", "INT32", (1, 16), (bytes(60),), 60)
_FIRST = tensor("INPUT0", SIXTEEN)
_NINE = np.zeros((9, 16), np.int32)
_OF_SUM = "inference request to model 'sequence_sum' must specify "

#: Calls and the texts of their refusals (docs/v2-mapping.md §3, §4, §6).
REFUSALS: dict[str, tuple[InferCall, str]] = {
    "one input of two": (
        simple(inputs=(_FIRST,)),
        "expected 2 inputs but got 1 inputs for model 'simple'",
    ),
    "another input": (
        simple(inputs=(_FIRST, tensor("X", ONE))),
        "unexpected inference input 'X' for model 'simple'",
    ),
    "an input twice": (
        simple(inputs=(_FIRST, _FIRST)),
        "input 'INPUT0' already exists in request",
    ),
    "another output": (
        simple(outputs=(OutputSpec("NO"),)),
        "unexpected inference output 'NO' for model 'simple'",
    ),
    "another datatype": (
        simple(SIXTEEN.astype(np.float32)),
        "inference input 'INPUT0' data-type is 'FP32', but model 'simple' expects 'INT32'",
    ),
    "another shape": (
        simple(np.zeros((1, 15), np.int32)),
        "unexpected shape for input 'INPUT0' for model 'simple'. Expected [-1,16], got [1,15]. ",
    ),
    "unequal rows": (
        simple(np.zeros((2, 16), np.int32)),
        "' batch size does not match other inputs for 'simple'",
    ),
    "too many rows": (
        simple(_NINE, _NINE),
        "inference request batch-size must be <= 8 for 'simple'",
    ),
    "too few bytes": (
        simple(inputs=(_SHORT, tensor("INPUT1", ONE))),
        "input byte size mismatch for input 'INPUT0' for model 'simple'. Expected 64, got 60",
    ),
    "too few strings": (
        single("identity_string", TensorIn("INPUT0", "BYTES", (1, 2), (strings(b"a"),), 5)),
        "expected 2 string elements for inference input 'INPUT0' for model 'identity_string', "
        "got 1",
    ),
    "no sequence": (
        single("sequence_sum", _FIVE, "OUTPUT"),
        f"{_OF_SUM}a non-zero or non-empty correlation ID",
    ),
    "a sequence that was not started": (
        single("sequence_sum", _FIVE, "OUTPUT", sequence_id=7777),
        "inference request for sequence 7777 to model 'sequence_sum' must specify the START flag "
        "on the first request of the sequence",
    ),
    "two rows of a sequence": (
        single("sequence_sum", _TWO, "OUTPUT", sequence_id=8, sequence_start=True),
        f"{_OF_SUM}batch-size 1 due to requirements of sequence batcher",
    ),
}

_NEWER = not_on("2.33", "says it in other words, or lets the model refuse it")
_NEWER_TEXTS = ("another datatype", "too few bytes", "too few strings")


class RefusalContract:
    """Fixtures as in :mod:`contract`."""

    @pytest.mark.parametrize(
        "case", [pytest.param(case, marks=[_NEWER] * (case in _NEWER_TEXTS)) for case in REFUSALS]
    )
    def test_refusal(self, backend: Backend, case: str) -> None:
        """A request that does not fit its model is an invalid argument, in Triton's words."""
        call, text = REFUSALS[case]
        with pytest.raises(ServerError, match="inp|inference|expected") as caught:
            backend.infer(call)
        assert caught.value.code == "INVALID_ARGUMENT"
        assert caught.value.status == status_of(backend, "INVALID_ARGUMENT")
        assert text in caught.value.message

    def test_refusal_of_unknown_version(self, backend: Backend) -> None:
        """A version that does not exist is NOT_FOUND."""
        with pytest.raises(ServerError) as caught:
            backend.infer(simple(model_version="99"))
        assert caught.value.code == "NOT_FOUND"
        expected = "Request for unknown model: 'simple' version 99 is not found"
        assert caught.value.message == expected

    def test_labels_of_classes(self, backend: Backend) -> None:
        """Values have six decimals, a blank label has no colon, and ':' in a label stays."""
        # docs/v2-mapping.md §1
        value = tensor("INPUT", np.array([[0, 0, 0, 9, 0, 0, 0, 8.5, 0, 0]], np.float32))
        call = InferCall("classify", "", (value,), (OutputSpec("OUTPUT", best_classes(2)),))
        (output,) = backend.infer(call).outputs
        assert bytes(output.data or b"") == strings(b"9.000000:3:a:b c", b"8.500000:7")

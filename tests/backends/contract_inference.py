"""Contract: inference, also asynchronous."""

from __future__ import annotations

import threading
from functools import partial
from queue import SimpleQueue

import numpy as np
import pytest

from tests.backends.contract_calls import (
    ONE,
    PATIENCE,
    SIXTEEN,
    array_of,
    bytes_of,
    outcome_of,
    simple,
    single,
    slow,
    strings,
    tensor,
)
from tritonclient_shim.backends.base import Backend, Outcome
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import InferCall, InferReply, OutputSpec, TensorIn, best_classes


class InferenceContract:
    """Fixtures as in :mod:`contract`."""

    def test_infer(self, backend: Backend) -> None:
        """Inputs reach the model. Outputs come back by name, datatype and shape."""
        reply = backend.infer(simple(request_id="18446744073709551615"))
        assert (reply.model_name, reply.model_version) == ("simple", "1")
        assert reply.request_id == "18446744073709551615"
        arrays = {output.name: array_of(output) for output in reply.outputs}
        np.testing.assert_array_equal(arrays["OUTPUT0"], SIXTEEN + ONE)
        np.testing.assert_array_equal(arrays["OUTPUT1"], SIXTEEN - ONE)

    def test_infer_without_id(self, backend: Backend) -> None:
        """A call without request id has a reply without request id."""
        assert backend.infer(simple()).request_id == ""

    def test_infer_without_output_list(self, backend: Backend) -> None:
        """An empty list of outputs requests every output."""
        reply = backend.infer(simple(outputs=()))
        assert {output.name for output in reply.outputs} == {"OUTPUT0", "OUTPUT1"}
        assert all(output.data is not None for output in reply.outputs)

    def test_infer_joins_chunks(self, backend: Backend) -> None:
        """One tensor may come in pieces of any buffer type, empty ones included."""
        pieces = (bytes(64), SIXTEEN.data, b"", bytearray(64), np.full(16, 7, np.int32))
        whole = TensorIn("INPUT0", "INT32", (4, 16), pieces, 256)
        other = tensor("INPUT1", np.zeros((4, 16), np.int32))
        reply = backend.infer(simple(inputs=(whole, other), outputs=(OutputSpec("OUTPUT0"),)))
        result = array_of(reply.outputs[0])
        assert result.shape == (4, 16)
        np.testing.assert_array_equal(result[1], SIXTEEN[0])
        np.testing.assert_array_equal(result[3], np.full(16, 7))

    @pytest.mark.parametrize("row", dtypes.TABLE, ids=lambda row: row.v2)
    def test_every_datatype_is_exact(self, backend: Backend, row: dtypes.DataType) -> None:
        """The bytes of every datatype return as they were sent (docs/v2-mapping.md §3)."""
        model = "identity_" + ("string" if row is dtypes.STRING else row.v2.lower())
        content = (
            strings(b"", b"\0\xff") if row is dtypes.STRING else bytes(range(row.itemsize * 2))
        )
        if row.v2 == "BOOL":
            content = b"\1\0"
        value = TensorIn("INPUT0", row.v2, (1, 2), (content,), len(content))
        (output,) = backend.infer(single(model, value)).outputs
        assert (output.datatype, output.shape) == (row.v2, (1, 2))
        assert bytes_of(output) == content

    @pytest.mark.parametrize("model", ["identity_fp32", "identity_string"])
    def test_empty_tensor(self, backend: Backend, model: str) -> None:
        """A tensor without elements can be input and output (docs/v2-mapping.md §3)."""
        datatype = "BYTES" if model.endswith("string") else "FP32"
        value = TensorIn("INPUT0", datatype, (2, 0), (), 0)
        (output,) = backend.infer(single(model, value)).outputs
        assert output.shape == (2, 0)
        assert bytes_of(output) == b""

    @pytest.mark.parametrize("elements", [1 << 14, (1 << 14) + 1, 1 << 20])
    def test_large_tensor(self, backend: Backend, elements: int) -> None:
        """Messages of 64 KiB and more are exact too, although other code handles them."""
        content = np.arange(elements, dtype=np.float32).reshape(1, -1)
        (output,) = backend.infer(single("identity_fp32", tensor("INPUT0", content))).outputs
        np.testing.assert_array_equal(array_of(output), content)

    def test_version(self, backend: Backend) -> None:
        """A version can be chosen; '' is the latest version."""
        value = tensor("INPUT0", np.zeros((1, 1), np.float32))
        for version, used in (("1", "1"), ("2", "2"), ("", "3")):
            call = InferCall("multi_version", version, (value,), (OutputSpec("OUTPUT0"),))
            reply = backend.infer(call)
            assert reply.model_version == used
            assert array_of(reply.outputs[0]).item() == float(used)

    def test_classification(self, backend: Backend) -> None:
        """Classes come as strings 'value:index:label' (docs/v2-mapping.md §1)."""
        value = tensor("INPUT", np.arange(10, dtype=np.float32).reshape(1, 10))
        call = InferCall("classify", "", (value,), (OutputSpec("OUTPUT", best_classes(2)),))
        (output,) = backend.infer(call).outputs
        assert (output.datatype, output.shape) == ("BYTES", (1, 2))
        assert bytes_of(output) == strings(b"9.000000:9:l9", b"8.000000:8:l8")

    @pytest.mark.parametrize("number", [1, 2**63 - 1, 2**63, 2**64 - 1])
    def test_sequence(self, backend: Backend, number: int) -> None:
        """Sequence ids have 64 bits, and the flags start and end a sequence."""
        # docs/v2-mapping.md §4
        sums = []
        for value, start, end in ((5, True, False), (6, False, False), (7, False, True)):
            number_in = tensor("INPUT", np.array([[value]], np.int32))
            flags = {"sequence_start": start, "sequence_end": end}
            call = single("sequence_sum", number_in, "OUTPUT", sequence_id=number, **flags)
            sums.append(array_of(backend.infer(call).outputs[0]).item())
        assert sums == [5, 11, 18]

    @pytest.mark.parametrize("number", [1, 2**63, 2**64 - 1])
    def test_priority_and_timeout(self, backend: Backend, number: int) -> None:
        """Priority and timeout have 64 bits (docs/v2-mapping.md §5)."""
        reply = backend.infer(simple(priority=number, timeout_us=number))
        assert [output.name for output in reply.outputs] == ["OUTPUT0", "OUTPUT1"]

    def test_request_id_is_not_in_messages(self, backend: Backend) -> None:
        """The server's mention of the request id is removed (docs/v1-behaviour.md §E.10)."""
        call = simple(np.zeros((1, 15), np.int32), request_id="77")
        with pytest.raises(ServerError) as caught:
            backend.infer(call)
        assert caught.value.code == "INVALID_ARGUMENT"
        assert caught.value.message.startswith("unexpected shape for input 'INPUT0' for model")

    def test_model_error(self, backend: Backend) -> None:
        """A model's own error is INTERNAL and keeps its text."""
        with pytest.raises(ServerError) as caught:
            backend.infer(single("failing", tensor("INPUT0", np.array([[3]], np.float32))))
        assert caught.value.code == "INTERNAL"
        assert "the model refused value" in caught.value.message

    def test_threads(self, backend: Backend) -> None:
        """Any number of threads may share one backend; each gets its own result."""
        wrong: list[int] = []

        def work(number: int) -> None:
            mine = np.full((1, 16), number, np.int32)
            for _ in range(20):
                outputs = backend.infer(simple(mine, ONE)).outputs
                sums = next(output for output in outputs if output.name == "OUTPUT0")
                if not np.array_equal(array_of(sums), mine + 1):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads)
        assert wrong == []

    # asynchronous

    def test_async(self, backend: Backend) -> None:
        """The outcome of an asynchronous call is the reply."""
        outcome = outcome_of(backend, simple(request_id="5"))
        assert isinstance(outcome, InferReply)
        assert outcome.request_id == "5"

    def test_async_error(self, backend: Backend) -> None:
        """A refusal is an outcome too; it is not raised."""
        outcome = outcome_of(backend, simple(model_name="no_such_model"))
        assert isinstance(outcome, ServerError)
        assert outcome.code == "NOT_FOUND"

    def test_async_has_read_the_buffers(self, backend: Backend) -> None:
        """The caller may overwrite an array as soon as the call returns."""
        # docs/v2-mapping.md §10
        value = np.ones((1, 1 << 16), np.float32)
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        backend.infer_async(single("identity_fp32", tensor("INPUT0", value)), outcomes.put)
        value[:] = -1
        outcome = outcomes.get(timeout=PATIENCE)
        assert isinstance(outcome, InferReply)
        np.testing.assert_array_equal(array_of(outcome.outputs[0]), np.ones_like(value))

    def test_async_is_concurrent(self, backend: Backend) -> None:
        """A quick call overtakes slow ones that were started before."""
        finished: SimpleQueue[str] = SimpleQueue()
        for _ in range(3):
            backend.infer_async(slow(1.0), lambda outcome: finished.put("slow"))
        backend.infer_async(simple(), lambda outcome: finished.put("quick"))
        order = [finished.get(timeout=PATIENCE) for _ in range(4)]
        assert order == ["quick", "slow", "slow", "slow"]

    def test_async_many(self, backend: Backend) -> None:
        """Of far more calls than connections, each has exactly one outcome."""
        outcomes: SimpleQueue[tuple[int, Outcome]] = SimpleQueue()
        for number in range(200):
            call = simple(request_id=str(number + 1))
            backend.infer_async(call, partial(_put, outcomes, number))
        received = [outcomes.get(timeout=PATIENCE) for _ in range(200)]
        assert sorted(number for number, _ in received) == list(range(200))
        assert all(reply.request_id == str(n + 1) for n, reply in received)  # type: ignore[union-attr]
        assert outcomes.empty()

    def test_call_from_done(self, backend: Backend) -> None:
        """``done`` may start the next call."""
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        backend.infer_async(simple(), lambda first: backend.infer_async(simple(), outcomes.put))
        assert isinstance(outcomes.get(timeout=PATIENCE), InferReply)


def _put(outcomes: SimpleQueue[tuple[int, Outcome]], number: int, outcome: Outcome) -> None:
    outcomes.put((number, outcome))

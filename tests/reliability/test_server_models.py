"""Models whose configuration differs after a reload or a restart."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.reliability.amounts import some
from tests.reliability.identified_calls import KINDS, STYLES, Outcome, in_style, numbers, payload
from tests.reliability.server_process import ServerProcess, some_of

#: A change: text in the configuration, its replacement, the beginning of a refusal for a call of
#: the old model, and whether the next call fits the new model.
CHANGES = {
    "other dims": ("dims: -1", "dims: 4", "unexpected shape for input 'INPUT0'", False),
    "other datatype": ("TYPE_INT32", "TYPE_FP32", "inference input 'INPUT0' data-type is", True),
    "no batching": ("max_batch_size: 8", "max_batch_size: 0", "unexpected shape for input", True),
}
UNBEGUN = "inference request for sequence {} to model 'sequence_sum' must specify the START flag"
BROKEN = "The stream broke in the midst of sequence "
LOST = "GRPC client failed: 14: "  # the server has restarted, and the client sees it now


@pytest.fixture(scope="module")
def summing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yield a server with a model of sequences."""
    summing = ServerProcess(tmp_path_factory.mktemp("sequences"), "sequence_sum")
    yield summing
    summing.close()


def bring(server: ServerProcess, number: int) -> None:
    """Make the server read the model's files, by a load or a restart."""
    if number % 2:
        server.kill()
        server.start()
    else:
        server.load()


def answered(context: InferContext, style: str) -> Outcome:
    """Return a call whose result, if any, must be the bytes that it sent."""
    data = payload(next(numbers))
    for _ in range(5):
        outcome = in_style(context, style, {"INPUT0": [data]})
        if not outcome.message.startswith(LOST):
            break
    assert outcome.error is not None or outcome.result.tobytes() == data.tobytes()
    assert len(outcome.callbacks) == outcome.expected_callbacks
    return outcome


@some_of(CHANGES)
def test_another_form(number: int, kind: str, name: str, server: ServerProcess) -> None:
    """One call may be refused after a change; the next call fits the new model."""
    old, new, refusal, fits = CHANGES[name]
    for style in some(STYLES, "kinds and styles", number):
        context = server.opened(kind)
        assert answered(context, style).message == ""
        server.change_model(old, new)
        bring(server, number)
        first, second = answered(context, style), answered(context, style)
        assert first.error is None or first.message.startswith(refusal)
        assert second.message.startswith(refusal) if not fits else second.message == ""
        server.write_model()
        bring(server, number)
        answered(context, style)  # may be refused too
        assert answered(context, style).message == ""
        context.close()


@some_of(CHANGES)
def test_within_a_call(number: int, kind: str, name: str, server: ServerProcess) -> None:
    """A request in the model during a reload is answered by the old model."""
    old, new, refusal, fits = CHANGES[name]
    context = server.opened(kind)
    with ThreadPoolExecutor(1) as threads:
        server.hold()
        under_way = threads.submit(answered, context, STYLES[number % len(STYLES)])
        server.wait_for_request()
        server.change_model(old, new)
        server.load()
        server.release()
        assert under_way.result(60).message == ""
    answered(context, "sync")
    last = answered(context, "sync")
    assert last.message == "" if fits else last.message.startswith(refusal)
    server.write_model()
    server.load()
    context.close()


def step(context: InferContext, value: int, flags: int = 0, sequence: int = 0) -> int:
    """Send one request of a sequence, and return the sum so far."""
    inputs = {"INPUT": [np.array([value], np.int32)]}
    result: Any = context.run(inputs, {"OUTPUT": InferContext.ResultFormat.RAW}, 1, flags, sequence)
    return int(result["OUTPUT"][0][0])


@pytest.mark.parametrize("way", ["loaded", "started"])
def test_within_a_sequence(way: str, summing: ServerProcess) -> None:
    """A sequence that the server lost is refused until it restarts, and no sum is wrong."""
    contexts = {kind: summing.opened(kind) for kind in KINDS}
    for number, context in enumerate(contexts.values(), 9500):
        assert [step(context, 5, 1, number), step(context, 6)] == [5, 11]
    summing.change_model(r"max_batch_size: \d+", f"max_batch_size: {len(way)}")
    bring(summing, way == "started")
    for number, (kind, context) in enumerate(contexts.items(), 9500):
        for _ in range(2):
            with pytest.raises(InferenceServerException) as caught:
                step(context, 7)
            broken = (kind, way) == ("stream", "started")
            assert caught.value.message().startswith(BROKEN if broken else UNBEGUN.format(number))
        assert [step(context, 1, 1, number), step(context, 2, 2)] == [1, 3]
        context.close()

"""``tritonclient-shim explain``."""

from __future__ import annotations

import pytest

from tritonclient_shim.cli import main
from tritonclient_shim.registry import ENTRIES


@pytest.mark.parametrize("id", ENTRIES)
def test_every_id_is_explained(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An id gives its symbol, its successors, whether it is automatic, and the guide."""
    assert main(["explain", id.lower()]) == 0
    text, entry = capsys.readouterr().out, ENTRIES[id]
    for part in (id, entry.symbol, entry.grpc, entry.http, entry.pytriton, entry.guide):
        assert part in text
    assert ("automatic" if entry.automatic else "by hand") in text


@pytest.mark.parametrize(
    ("what", "ids"),
    [
        ("tensorrtserver.api.InferContext.run", ["TS051"]),
        ("InferContext.run", ["TS051"]),
        ("is_live", ["TS021"]),
        ("create_shared_memory_region", ["TS081", "TS086"]),
        ("timeout_us", ["TS113"]),
        ("np.object", []),
        ("numpy.object", ["TS201"]),
    ],
)
def test_symbols_by_their_ends_and_parts(
    what: str, ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole symbol is itself; an end or a part gives everything that it fits."""
    assert main(["explain", what]) == int(not ids)
    text = capsys.readouterr().out
    assert [line[:5] for line in text.splitlines() if line.startswith("TS")] == ids


def test_a_misspelt_symbol_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of that name: exit status 1, and the nearest names."""
    assert main(["explain", "InferContext.asyn_run"]) == 1
    assert "did you mean async_run" in capsys.readouterr().err


def test_an_unknown_id_gets_advice(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing near of that name: what to give instead."""
    assert main(["explain", "TS999"]) == 1
    assert "give an id, which notices, reports and" in capsys.readouterr().err

"""The table of recognised sentences of servers (docs/v2-mapping.md §6)."""

from __future__ import annotations

import re

import pytest

from tritonclient_shim.protos import request_status_pb2
from tritonclient_shim.servers.triton_sentences import (
    SENTENCES,
    Meaning,
    Sentence,
    recognise,
    says,
    v1_code,
    without_request_id,
)

EACH = pytest.mark.parametrize(
    "row", SENTENCES, ids=lambda row: f"{row.meaning.name}-{row.pattern}"
)


@EACH
def test_a_sentence_is_recognised_by_its_row(row: Sentence) -> None:
    """The first row that recognises a measured sentence is its own row."""
    assert (
        next(sentence for sentence in SENTENCES if re.search(sentence.pattern, row.sample)) is row
    )
    result = recognise(row.sample)
    assert result is not None and result[0] is row.meaning
    assert says(row.sample, row.meaning)


@EACH
def test_codes_exist(row: Sentence) -> None:
    """A row's v1 code is one of v1's."""
    if row.v1_code:
        assert v1_code(row.sample) == row.v1_code
        assert row.v1_code in request_status_pb2.RequestStatusCode.keys()  # noqa: SIM118 (no dict)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the model refused value 5",
        "Failed to process the request(s) for model 'm_0_0', message: RuntimeError: boom",
        "Failed to process the request(s) for model 'm_0_0', message: TritonModelException: "
        "Request for unknown model: 'n' is not found",
        "This region is restricted",
    ],
)
def test_other_sentences_mean_nothing(text: str) -> None:
    """A model's own error matches no row, even if it quotes the start of a sentence."""
    assert recognise(text) is None
    assert v1_code(text) == ""
    assert not says(text, Meaning.MALFORMED_REQUEST)


def test_request_ids_are_left_out() -> None:
    """The request id is removed at any place (docs/v1-behaviour.md §E.10)."""
    text = "[request id: 1] in ensemble 'e', [request id: <id_unknown>] boom [request id]"
    assert without_request_id(text) == "in ensemble 'e', boom [request id]"

"""Headers whose text is remembered are what protobuf's text format writes."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from tritonclient_shim.gateway.http.responses import header_texts, status_header, success_text
from tritonclient_shim.protos import api_pb2, model_config_pb2, request_status_pb2


@pytest.mark.parametrize("id", [0, 1, 2**64 - 1])
@pytest.mark.parametrize("outputs", [0, 1, 200])  # 200 are more than is remembered
def test_response_headers(id: int, outputs: int) -> None:
    """The value of NV-InferResponse and the body, the first time and again."""
    header = api_pb2.InferResponseHeader(id=id, model_name='a "b"\n', model_version=3, batch_size=2)
    for number in range(outputs):
        header.output.add(name=f"OUTPUT{number}", raw={"dims": [16, number], "batch_byte_size": 64})
    line = text_format.MessageToString(header, as_one_line=True, as_utf8=False)
    body = text_format.MessageToString(header, as_utf8=False).encode()
    for _ in range(2):
        assert header_texts(header, False) == (line, body)
    assert header_texts(api_pb2.InferResponseHeader(), True) == ("", b"")


def test_data_types() -> None:
    """The field ``data_type`` is in the text where the release emulated had it there."""
    header = api_pb2.InferResponseHeader()
    header.output.add(name="OUTPUT0", data_type=model_config_pb2.TYPE_INT32)
    with_it, without = (header_texts(header, wanted)[0] for wanted in (True, False))
    assert with_it == 'output { name: "OUTPUT0" data_type: TYPE_INT32 }'
    assert without == 'output { name: "OUTPUT0" }'
    assert header.output[0].data_type == model_config_pb2.TYPE_INT32  # binary keeps it


@pytest.mark.parametrize("server_id", ["", "inference:0", 'a "b"'])
def test_successes(server_id: str) -> None:
    """The value of NV-Status."""
    success = request_status_pb2.SUCCESS
    for number in (1, 2, 2**63):
        status = request_status_pb2.RequestStatus(
            code=success, server_id=server_id, request_id=number
        )
        assert success_text(status) == text_format.MessageToString(status, as_one_line=True)


def test_a_message_that_is_longer_than_a_header() -> None:
    """A message too long for a header of HTTP is cut."""
    status = request_status_pb2.RequestStatus(msg="x" * 30_000)
    assert 16_000 < len(status_header(status)) < 20_000

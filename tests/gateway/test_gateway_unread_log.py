"""A reader of stderr that stops reading: the gateway answers, drops lines and counts them."""

from __future__ import annotations

import json
import os
import select
from contextlib import suppress
from typing import Iterator

import pytest

from tests.gateway.bad_clients import Raw
from tests.gateway.gateway_process import PATIENCE, StartGateway, until
from tests.gateway.test_gateway_observed import metrics

OPTIONS = ("--triton-grpc", "127.0.0.1:9", "--access-log", "--metrics-address", "127.0.0.1:0")
REQUEST = b"GET /" + b"x" * 8000 + b" HTTP/1.1\r\nHost: gateway\r\n\r\n"
#: More lines than the pipe and the gateway keep.
COUNT = 1000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe; the test closes the end for writing."""
    read_end, write_end = os.pipe()
    yield read_end, write_end
    with suppress(OSError):  # the test has closed it
        os.close(read_end)


def read_log(read_end: int) -> bytes:
    """Return further bytes of the log. Fail if none come."""
    readable, _, _ = select.select([read_end], [], [], PATIENCE)
    assert readable, "the gateway has logged nothing"
    return os.read(read_end, 65536)


def test_an_unread_log_stops_nothing(pipe: tuple[int, int], start_gateway: StartGateway) -> None:
    """Requests are answered while nobody reads the log; later lines say what is missing."""
    read_end, write_end = pipe
    gateway = start_gateway(*OPTIONS, stderr=write_end)
    os.close(write_end)
    client = Raw(gateway)
    for _ in range(COUNT):
        client.send(REQUEST)
        assert client.answer().code == 400
    dropped = metrics(gateway)[("dropped_log_lines_total",)]
    assert 0 < dropped < COUNT
    text = b""
    expected = f"{int(dropped)} lines of this log were dropped".encode()
    while expected not in text:
        text += read_log(read_end)
    objects = [json.loads(line) for line in text.splitlines() if line.startswith(b"{")]
    assert len(objects) == COUNT - dropped
    assert gateway.stop() == 0


def test_a_read_log_is_complete(pipe: tuple[int, int], start_gateway: StartGateway) -> None:
    """No line is dropped while the log is read, however many there are."""
    read_end, write_end = pipe
    gateway = start_gateway(*OPTIONS, stderr=write_end)
    os.close(write_end)
    client = Raw(gateway)
    text = b""
    for _ in range(COUNT):
        client.send(REQUEST)
        assert client.answer().code == 400
        text += read_log(read_end)
    assert len(text) > 4 * 1024 * 1024
    assert metrics(gateway)[("dropped_log_lines_total",)] == 0


def test_an_unread_log_does_not_delay_the_end(
    pipe: tuple[int, int], start_gateway: StartGateway
) -> None:
    """A gateway whose log nobody reads stops with exit status 0."""
    read_end, write_end = pipe
    gateway = start_gateway(*OPTIONS, stderr=write_end)
    os.close(write_end)
    client = Raw(gateway)
    for _ in range(100):
        client.send(REQUEST)
        assert client.answer().code == 400
    client.close()
    assert gateway.stop() == 0


def test_a_log_without_reader(pipe: tuple[int, int], start_gateway: StartGateway) -> None:
    """A gateway whose reader has ended answers requests."""
    read_end, write_end = pipe
    gateway = start_gateway(*OPTIONS, stderr=write_end)
    for end in pipe:
        os.close(end)
    for _ in range(3):
        assert gateway.get("/nowhere").code == 400
    until(lambda: metrics(gateway)[("dropped_log_lines_total",)] > 0)
    assert gateway.stop() == 0

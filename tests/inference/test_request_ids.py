"""Ids of requests over HTTP: no request gets the reply to another one."""

from __future__ import annotations

import socket
import threading
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import RAW
from tests.scripted_triton import (
    ReceivedRequest,
    ScriptedReply,
    configuration,
    json_reply,
    scripted_triton,
    tensor_reply,
)

OUTPUTS = {"Y": RAW}


def inputs(value: int) -> dict[str, Any]:
    """Return the inputs with a value."""
    return {"X": [np.array([value], np.int32)]}


def repeat(request: ReceivedRequest) -> ScriptedReply:
    """Return the reply to a request: its input, under its id."""
    if not request.is_inference:
        return json_reply(configuration("INT32", [1]))
    return tensor_reply("Y", "INT32", [1], request.body[-4:], request_id=request.header["id"])


def fetch(context: InferContext, style: str, value: int) -> int:
    """Return the result of a request, sent in a style."""
    if style == "run":
        results = context.run(inputs(value), OUTPUTS)
    else:
        request_id: Any = context.async_run(inputs(value), OUTPUTS)
        results = context.get_async_run_results(request_id, True)
    result: int = results["Y"][0].item()
    return result


@pytest.mark.parametrize("style", ["run", "async_run"])
def test_requests_of_all_contexts_have_different_ids(style: str) -> None:
    """Each request of any context has an id that no other request has."""
    with scripted_triton(repeat) as server:
        for _ in range(2):
            with InferContext(server.url, 0, "m") as context:
                assert [fetch(context, style, value) for value in range(3)] == [0, 1, 2]
        ids = [request.header["id"] for request in server.inferences]
    assert len(set(ids)) == len(ids) == 6


@pytest.mark.parametrize("style", ["run", "async_run"])
def test_the_reply_to_another_request(style: str) -> None:
    """The reply to another request is an error, and no result."""
    replies: list[ScriptedReply] = []

    def late(request: ReceivedRequest) -> ScriptedReply:
        reply = repeat(request)
        if not request.is_inference:
            return reply
        replies.append(reply)
        return replies[-2] if len(replies) > 1 else reply

    with scripted_triton(late) as server, InferContext(server.url, 0, "m") as context:
        assert fetch(context, style, 1) == 1
        for value in (2, 3):
            with pytest.raises(InferenceServerException, match="the answer to another request"):
                fetch(context, style, value)
        server.script = repeat
        assert [fetch(context, style, value) for value in (4, 5)] == [4, 5]


def test_a_connection_that_is_out_of_step() -> None:
    """A connection with an answer too many is closed, so that later requests succeed."""
    answers: list[bytes] = []

    def http(reply: ScriptedReply) -> bytes:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(reply.body)}\r\n"
        if reply.header_length is not None:
            head += f"Inference-Header-Content-Length: {reply.header_length}\r\n"
        return f"{head}\r\n".encode() + reply.body

    def serve(client: socket.socket) -> None:
        with client, client.makefile("rb") as stream:
            for line in iter(stream.readline, b""):
                headers = {}
                for header in iter(stream.readline, b"\r\n"):
                    name, _, value = header.decode().partition(": ")
                    headers[name] = value.strip()
                body = stream.read(int(headers.get("Content-Length", 0)))
                method, path, _ = line.decode().split(" ", 2)
                answer = http(repeat(ReceivedRequest(method, path, headers, body)))
                if path.endswith("/infer"):
                    answers.append(answer)
                    if len(answers) == 2:  # the first answer comes a second time
                        answer = answers[0] + answer
                client.sendall(answer)

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=accept, args=(listener,), daemon=True)
    thread.start()
    try:
        with InferContext(f"127.0.0.1:{listener.getsockname()[1]}", 0, "m") as context:
            assert fetch(context, "run", 1) == 1
            with pytest.raises(InferenceServerException, match="the answer to another request"):
                fetch(context, "run", 2)
            assert [fetch(context, "run", value) for value in (3, 4, 5)] == [3, 4, 5]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()

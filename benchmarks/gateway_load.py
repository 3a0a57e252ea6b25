"""Clients that load a gateway, or a server that only forwards, with equal requests.

``python -m benchmarks.gateway_load v1|v2 grpc|http ADDRESS BYTES COUNT CLIENTS``: prints seconds.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any, Awaitable, Callable

import grpc

from tritonclient_shim.backends.grpc.framing import encode_request
from tritonclient_shim.core.model import InferCall, OutputSpec, TensorIn
from tritonclient_shim.protos import grpc_service_pb2 as pb

MODEL, INPUT, OUTPUT = "identity_fp32", "INPUT0", "OUTPUT0"
METHODS = {
    "v1": "/nvidia.inferenceserver.GRPCService/Infer",
    "v2": "/inference.GRPCInferenceService/ModelInfer",
}

#: A function that sends a request and receives its reply.
Send = Callable[[], Awaitable[Any]]


def grpc_request(version: str, size: int) -> bytes:
    """Return a serialised request."""
    if version == "v2":
        tensor = TensorIn(INPUT, "FP32", (1, size // 4), (bytes(size),), size)
        return encode_request(InferCall(MODEL, "", (tensor,), (OutputSpec(OUTPUT),)))
    request = pb.InferRequest(model_name=MODEL, model_version=-1, raw_input=[bytes(size)])
    request.meta_data.batch_size = 1
    request.meta_data.input.add(name=INPUT, dims=[size // 4])
    request.meta_data.output.add(name=OUTPUT)
    return bytes(request.SerializeToString())


def http_request(size: int) -> bytes:
    """Return an HTTP request: head and body."""
    header = f'batch_size: 1 input {{ name: "{INPUT}" dims: {size // 4} }} '
    field = f'NV-InferRequest: {header}output {{ name: "{OUTPUT}" }}'
    head = f"POST /api/infer/{MODEL} HTTP/1.1\r\nHost: x\r\n{field}\r\n"
    return f"{head}Content-Length: {size}\r\n\r\n".encode() + bytes(size)


async def over_grpc(version: str, address: str, size: int) -> Send:
    """Return a client with its own channel."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    request = grpc_request(version, size)
    infer = grpc.aio.insecure_channel(address, options=options).unary_unary(METHODS[version])

    async def send() -> None:
        reply = await infer(request)
        assert len(reply) > size, reply[:200]

    return send


async def over_http(_: str, address: str, size: int) -> Send:
    """Return a client that keeps its connection."""
    host, _, port = address.rpartition(":")
    replies, requests = await asyncio.open_connection(host, int(port), limit=2**20)
    request = http_request(size)

    async def send() -> None:
        requests.write(request)
        await requests.drain()
        head = (await replies.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200 "), head
        length = int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r")[0])
        await replies.readexactly(length)

    return send


async def load(version: str, protocol: str, address: str, size: int, count: int, n: int) -> float:
    """Return the seconds that ``n`` clients take for ``count`` requests."""
    make = over_grpc if protocol == "grpc" else over_http
    clients = [await make(version, address, size) for _ in range(n)]
    left = iter(range(count))

    async def work(send: Send) -> None:
        for _ in left:
            await send()

    start = time.perf_counter()
    await asyncio.gather(*map(work, clients))
    return time.perf_counter() - start


if __name__ == "__main__":
    _version, _protocol, _address, *_numbers = sys.argv[1:]
    print(asyncio.run(load(_version, _protocol, _address, *map(int, _numbers))))

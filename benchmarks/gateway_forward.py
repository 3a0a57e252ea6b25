"""A server that forwards inferences to Triton and translates nothing: the least cost of a gateway.

``python -m benchmarks.gateway_forward grpc|http ADDRESS``: ADDRESS is Triton's for gRPC. It prints
its own address. It has the gateway's libraries and does none of its work. Over gRPC, it forwards
messages unchanged. Over HTTP, it sends Triton a request of equal size, and replies with the body of
the client's request.
"""

from __future__ import annotations

import asyncio
import sys
from functools import lru_cache
from typing import Any

import grpc.aio
from aiohttp import web

from benchmarks.gateway_load import METHODS, grpc_request

_ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_SERVERS: list[Any] = []  # a server without a reference would end


class _Forwarded(grpc.GenericRpcHandler):
    """A handler that forwards every call to one method."""

    def __init__(self, infer: Any) -> None:
        async def forward(_requests: Any, context: Any) -> Any:
            return await infer(await context.read())

        self._handler = grpc.stream_unary_rpc_method_handler(forward)

    def service(self, _details: Any) -> Any:
        """Return the handler of a call."""
        return self._handler


async def over_grpc(infer: Any) -> int:
    """Serve gRPC, and return the port."""
    server = grpc.aio.server(handlers=[_Forwarded(infer)], options=_ANY_SIZE)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    _SERVERS.append(server)
    return int(port)


async def over_http(infer: Any) -> int:
    """Serve HTTP, and return the port."""
    request_of = lru_cache(maxsize=None)(lambda size: grpc_request("v2", size))

    async def forward(request: web.BaseRequest) -> web.Response:
        body = bytearray()
        while piece := await request.content.readany():
            body += piece
        await infer(request_of(len(body)))
        return web.Response(body=body)

    front = web.Server(forward, read_bufsize=256 * 1024)
    server = await asyncio.get_running_loop().create_server(front, "127.0.0.1", 0)
    return int(server.sockets[0].getsockname()[1])


async def main(protocol: str, triton: str) -> None:
    """Serve until the process ends."""

    infer = grpc.aio.insecure_channel(triton, options=_ANY_SIZE).unary_unary(METHODS["v2"])
    port = await (over_grpc if protocol == "grpc" else over_http)(infer)
    print(f"127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

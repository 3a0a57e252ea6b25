"""A server for unit tests, inside the process: its models are Python functions.

There is no Triton and no port. Programs of the old API reach it by its addresses, over both
protocols, with the checks, errors and statuses of a real server::

    from tritonclient_shim import testing

    @testing.model(
        inputs=[("INPUT0", "INT32", [16]), ("INPUT1", "INT32", [16])],
        outputs=[("OUTPUT0", "INT32", [16])],
        max_batch_size=8,
    )
    def simple(inputs):
        return {"OUTPUT0": inputs["INPUT0"] + inputs["INPUT1"]}

    with testing.server(simple=simple) as triton:
        context = InferContext(triton.grpc, ProtocolType.GRPC, "simple")
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple

from tritonclient_shim import backends
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.backends.in_process.backend import InProcessBackend
from tritonclient_shim.backends.in_process.declared import Model, Sequence, ServerError, Tensor
from tritonclient_shim.backends.in_process.server import InProcessServer
from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.settings.addresses import without_scheme

__all__ = ["Model", "Sequence", "Server", "ServerError", "Tensor", "model", "server"]

_numbers = itertools.count(1)


class Server(NamedTuple):
    """A server that runs: the addresses to give to programs."""

    http: str
    grpc: str

    def url(self, protocol: Any) -> str:
        """Return the address for a protocol: ``ProtocolType``, ``"http"`` or ``"grpc"``."""
        return self.grpc if protocol in (1, GRPC) else self.http


def model(
    *,
    inputs: Iterable[Any],
    outputs: Iterable[Any],
    max_batch_size: int = 0,
    stateful: bool = False,
    loaded: bool = True,
    versions: Mapping[int, Callable[..., dict[str, Any]]] | None = None,
) -> Callable[[Callable[..., dict[str, Any]]], Model]:
    """Declare a function as a model; it can still be called as the function that it is.

    The function gets a dict of arrays by the names of the inputs, and returns one by those of the
    outputs. An exception that it raises is the server's refusal; :class:`ServerError` has a message
    and a status of its own.

    Parameters
    ----------
    inputs, outputs : list of Tensor, or of tuples (name, data type, dims)
        Fourth in the tuple of an output can be its labels.
    max_batch_size : int
        With 1 or more, the arrays begin with the batch dimension; 0 for a model without batching.
    stateful : bool
        Requests belong to sequences: the function's second argument is a :class:`Sequence`.
    loaded : bool
        False for a model that has to be loaded first, as with ``ModelControlContext``.
    versions : dict of int to function
        Functions of other versions; the decorated function is the one after the last of them.
    """
    arguments, results = (tuple(map(_tensor, tensors)) for tensors in (inputs, outputs))

    def declared(function: Callable[..., dict[str, Any]]) -> Model:
        functions = dict(versions or {})
        functions[max(functions, default=0) + 1] = function
        return Model(functions, arguments, results, max_batch_size, stateful, loaded)

    return declared


def _tensor(row: Any) -> Tensor:
    if isinstance(row, Tensor):
        return row
    if not isinstance(row, (tuple, list)) or len(row) not in (3, 4):
        raise TypeError(
            f"{row!r} is no tensor; expected (name, data type, dims), such as "
            '("INPUT0", "INT32", [16]), with labels as a fourth for the classes of an output'
        )
    return Tensor(*row)


@contextmanager
def server(
    models: Mapping[str, Model] | None = None,
    /,
    *,
    at: tuple[str, str] | None = None,
    id: str = "triton",
    **named: Model,
) -> Iterator[Server]:
    """Serve models inside this process as long as the ``with`` block lasts → :class:`Server`.

    Parameters
    ----------
    models : dict of str to Model
        For names that are no Python names; all others can be keyword arguments.
    at : tuple of str
        The addresses for HTTP and gRPC. Without it they are new ones that no real server has; give
        it for programs that have theirs written into them, such as
        ``("localhost:8000", "localhost:8001")``.
    id : str
        The server's id, which its errors begin with.

    Raises
    ------
    TypeError
        A function has not been declared with :func:`model`.
    ValueError
        Another such server has one of the addresses.
    """
    served = {**(models or {}), **named}
    for name, served_model in served.items():
        if not isinstance(served_model, Model):
            raise TypeError(
                f"model {name!r} is {served_model!r}; expected a function that is declared with "
                "@testing.model(inputs=…, outputs=…)"
            )
    host = f"in-process-{next(_numbers)}.test"
    running = Server(*(at or (f"{host}:8000", f"{host}:8001")))
    process_server = InProcessServer(id, served)

    def opened(endpoint: Endpoint) -> Backend:
        return InProcessBackend(endpoint, process_server)

    endpoints = (_endpoint(HTTP, running.http), _endpoint(GRPC, running.grpc))
    begun = []
    try:
        for endpoint in endpoints:
            backends.serve(endpoint, opened)
            begun.append(endpoint)
        yield running
    finally:
        process_server.running = False
        for endpoint in begun:
            backends.end(endpoint)


def _endpoint(protocol: str, url: str) -> Endpoint:
    return Endpoint(protocol, without_scheme(url.strip())[0].rstrip("/"))

"""The half-way house: the tritonclient client of a legacy context."""

from __future__ import annotations

from typing import Any

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.session.server import ServerSession


def unwrap(context: Any) -> Any:
    """Return the live tritonclient client of a context, for everything that the old API never had.

    It uses the context's connections, HTTP headers and settings (TLS, plugin, time-outs). Any
    thread may use it, over HTTP as well, which tritonclient's own clients do not allow. Its
    errors are tritonclient's, and ``tensorrtserver.api.InferenceServerException`` catches them
    too.

    Parameters
    ----------
    context
        Any open context of ``tensorrtserver.api``.

    Returns
    -------
    tritonclient.http.InferenceServerClient or tritonclient.grpc.InferenceServerClient
        By the context's protocol; the same object every time. Use it while the context is open.
        Closing it does not close the context.

    Raises
    ------
    InferenceServerException
        The context is closed, or its url is none.
    TypeError
        `context` is something else.
    """
    session = getattr(context, "_ctx", False)
    if session is None:
        name = type(context).__name__
        raise InferenceServerException(
            f"{name} is closed; unwrap() needs an open context, and its client ends with it"
        )
    if not isinstance(session, ServerSession):
        raise TypeError(
            f"unwrap() takes a context of tensorrtserver.api, got {type(context).__name__}"
        )
    with session.guard():
        return session.backend.client()

"""What is caught, and what errors are asked for."""

from __future__ import annotations


def _tried(made: str, caught: str, then: str) -> str:
    return f"h = {made}\ntry:\n    h.is_{{0}}live()\nexcept {caught}:\n    {then}\n"


def _pair(number: int, caught: str, then: str, after: str, told: str) -> tuple[str, str]:
    protocol = ("http", "grpc")[number]
    before = _tried(f'ServerHealthContext("u", {number})', caught, then)
    client = f'{protocol}client.InferenceServerClient("u")'
    return before.format(""), _tried(client, after, told).format("server_") + "h.close()\n"


_OWN, _BOTH = "InferenceServerException", "(InferenceServerException, OSError)"
PAIRS = {
    "gRPC": _pair(1, f"{_OWN} as e", "print(e.message())", f"{_OWN} as e", "print(e.message())"),
    "nobody there over HTTP": _pair(0, _OWN, "pass", _BOTH, "pass"),
    "message over HTTP": _pair(
        0, f"{_OWN} as e", "print(e.message())", f"{_BOTH} as e", "print(message_of(e))"
    ),
    "several": _pair(0, f"({_OWN}, KeyError)", "pass", f"({_OWN}, OSError, KeyError)", "pass"),
    "caught already": _pair(0, f"({_OWN}, OSError)", "pass", f"({_OWN}, OSError)", "pass"),
    "ids of v1's server": _pair(
        1,
        f"{_OWN} as e",
        "print(e.server_id(), e.request_id())",
        f"{_OWN} as e",
        "print(server_id_of(e), request_id_of(e))",
    ),
    "any exception": _pair(
        0,
        "Exception as ex",
        "print(ex.message(), ex.server_id())",
        "Exception as ex",
        "print(message_of(ex), server_id_of(ex))",
    ),
}

"""Settings → arguments of a gRPC channel."""

from __future__ import annotations

from typing import Iterator, Tuple, Union

from tritonclient_shim.backends.grpc.framing import LIMIT
from tritonclient_shim.settings import Settings

Option = Tuple[str, Union[int, str]]

_BASE: tuple[Option, ...] = (
    ("grpc.max_send_message_length", LIMIT),
    ("grpc.max_receive_message_length", LIMIT),
    # After a failure gRPC waits before it connects again. The wait belongs to a pool of sockets: a
    # new channel that has a pool of its own connects at once.
    ("grpc.use_local_subchannel_pool", 1),
)
_ALGORITHMS = {"deflate": 1, "gzip": 2}  # of gRPC's compression.h


def options_of(settings: Settings) -> tuple[Option, ...]:
    """All channel arguments, those that the user gives by name last and so decisive."""
    wanted = [*_BASE, *_of_settings(settings), *settings.grpc_channel_arguments]
    return tuple(dict(wanted).items())


def _of_settings(settings: Settings) -> Iterator[Option]:
    if settings.grpc_compression in _ALGORITHMS:
        algorithm = _ALGORITHMS[settings.grpc_compression]
        yield "grpc.default_compression_algorithm", algorithm
    if settings.grpc_load_balancing != "pick_first":
        yield "grpc.lb_policy_name", settings.grpc_load_balancing
    if settings.connect_timeout is not None:
        milliseconds = _milliseconds(settings.connect_timeout)
        yield "grpc.min_reconnect_backoff_ms", milliseconds  # limits one attempt, too
        yield "grpc.initial_reconnect_backoff_ms", milliseconds
    if settings.keepalive_time is not None:
        yield from _keepalive(settings, settings.keepalive_time)
    if settings.proxy == "off":
        yield "grpc.enable_http_proxy", 0
    elif settings.proxy != "environment":
        yield "grpc.http_proxy", settings.proxy


def _keepalive(settings: Settings, time: float) -> Iterator[Option]:
    yield "grpc.keepalive_time_ms", _milliseconds(time)
    patience = _milliseconds(settings.keepalive_timeout or 20.0)
    yield "grpc.keepalive_timeout_ms", patience
    yield "grpc.http2.ping_timeout_ms", patience  # what newer grpcio goes by, else a minute
    if settings.keepalive_without_calls:
        yield "grpc.keepalive_permit_without_calls", 1
        yield "grpc.http2.max_pings_without_data", 0


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)

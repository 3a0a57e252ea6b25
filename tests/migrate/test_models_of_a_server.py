"""``--server`` asks a real server about its models."""

from __future__ import annotations

from tests.migrate.round_trips import RoundTrips
from tritonclient_shim.cli._models import configurations


def test_either_protocol(round_trips: RoundTrips) -> None:
    """``--server`` returns equal configurations for the address of HTTP and of gRPC."""
    over_http, over_grpc = (
        configurations(round_trips.server.url(protocol)) for protocol in ("http", "grpc")
    )
    assert set(over_http) == set(over_grpc) >= {"simple", "classify"}
    for name, config in over_http.items():
        assert _used(config) == _used(over_grpc[name])


def _used(config: object) -> object:
    """Return what ``migrate`` reads of a configuration. JSON of a message lacks zeros."""
    assert isinstance(config, dict)
    tensors = [*config["input"], *config["output"]]
    parts = [
        (item["name"], item["data_type"], [int(dim) for dim in item["dims"]]) for item in tensors
    ]
    return int(config.get("max_batch_size", 0)), parts

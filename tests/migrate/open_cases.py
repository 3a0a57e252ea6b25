"""What does not end as before yet, with the reason. A case that does is to be taken out."""

from __future__ import annotations

_BOTH = ("grpc", "http")
_FORMATS = "RAW and CLASS reach the written function as v1's own values, through variables"
_SIZES = "a wrong number of elements raises ValueError, which no handler of the program expects"

_REASONS = {
    ("both_protocols",): ("grpc", "an address that belongs to HTTP gets a client of gRPC"),
    ("classify_labels",): (*_BOTH, "values of classes are read as doubles: 0.9 for 0.8999999761"),
    ("context_manager",): (*_BOTH, "what stands for a context is no context manager"),
    ("demo_sequence_client", "demo_sequence_client-streaming"): (
        "grpc",
        "tritonclient refuses ids of sequences from 2**63 on; id - 2**64 is the same to a server",
    ),
    ("ensemble", "service"): (*_BOTH, _SIZES),
    ("errors",): (*_BOTH, "request_id() and server_id() of an exception are left and told as done"),
    ("health_probe-nobody",): ("http", "where nobody is, tritonclient raises an OSError over HTTP"),
    tuple(
        f"scenario_{name}"
        for name in ("callbacks", "classes", "datatypes", "inputs", "sequences", "strings", "sync")
    ): (*_BOTH, _FORMATS),
}
OPEN = {
    f"{name}-{protocol}": reason
    for names, (*protocols, reason) in _REASONS.items()
    for name in names
    for protocol in protocols
}
#: With the safe rewrites alone.
OPEN_SAFE = {
    "both_protocols-grpc": OPEN["both_protocols-grpc"],
    "context_manager-grpc": OPEN["context_manager-grpc"],
    "ensemble-grpc": OPEN["ensemble-grpc"],
    "errors-grpc": OPEN["errors-grpc"],
    "repeated_array-grpc": "run is rewritten without the CLASS in a variable that it is given",
}

"""Every legacy symbol and usage pattern, by id: data only.

Notices, the usage report, ``scan``, ``explain`` and the guide's tables all read this; nothing
else says what replaces what. An id never changes its meaning and is never given again.
"""

from __future__ import annotations

from tritonclient_shim.registry import contexts, inference, memory, messages, patterns
from tritonclient_shim.registry.entry import RegistryEntry

_ROWS = (*patterns.ROWS, *contexts.ROWS, *inference.ROWS, *messages.ROWS, *memory.ROWS)

#: id → row, in the order of the ids.
ENTRIES: dict[str, RegistryEntry] = {row.id: row for row in sorted(_ROWS, key=lambda row: row.id)}

#: Dotted symbol → row. Of the two styles of async_run it is the later one's.
BY_SYMBOL: dict[str, RegistryEntry] = {row.symbol: row for row in ENTRIES.values()}

#: Public names without a row, and why they need none.
EXEMPT: dict[str, str] = {
    "tensorrtserver.api.tensorrtserver": "the package itself, bound by its own import",
    "tensorrtserver.api.text_format": "protobuf's own module, bound by its own import",
    "tensorrtserver.api.DESCRIPTOR": "protobuf's own description of api.proto; goes with TS005",
    "tensorrtserver.api.model__config__pb2": "another name of model_config_pb2 (TS003)",
    "tensorrtserver.api.InferContext.close": "the client has close() as well",
    "tensorrtserver.api.InferContext.ResultFormat": "only its two members are ever used",
    "tensorrtserver.api.ServerHealthContext.close": "the client has close() as well",
    "tensorrtserver.api.ServerStatusContext.close": "the client has close() as well",
    "tensorrtserver.api.ModelRepositoryContext.close": "the client has close() as well",
    "tensorrtserver.api.ModelControlContext.close": "the client has close() as well",
    "tensorrtserver.api.SharedMemoryControlContext.close": "the client has close() as well",
    **{
        f"tensorrtserver.api.{name}.get_last_request_id": "as ServerStatusContext's, TS046"
        for name in (
            "ServerHealthContext",
            "ModelRepositoryContext",
            "ModelControlContext",
            "SharedMemoryControlContext",
        )
    },
    "tensorrtserver.api.InferenceServerException.message": "the successor has message() as well",
    "tensorrtserver.api.InferenceServerException.status": "tritonclient's own",
    "tensorrtserver.api.InferenceServerException.debug_details": "tritonclient's own",
    "tensorrtserver.api.grpc_service_pb2_grpc.GRPCServiceServicer": "for servers; part of TS008",
    "tensorrtserver.api.grpc_service_pb2_grpc.add_GRPCServiceServicer_to_server": (
        "for servers; part of TS008"
    ),
}

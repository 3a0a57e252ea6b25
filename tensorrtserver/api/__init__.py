"""The v1 client API: contexts, exceptions and messages, as of 1.15 and every release before.

Supports ``from tensorrtserver.api import *`` with exactly the names that v1 bound (v1 §1.2);
``tests/unit/test_star_import.py`` holds the ledger.
"""

import tensorrtserver
from tensorrtserver.api import api_pb2, model_config_pb2, server_status_pb2
from tensorrtserver.api._contexts import (
    ModelControlContext,
    ModelRepositoryContext,
    ServerHealthContext,
    ServerStatusContext,
)
from tensorrtserver.api._infer import InferContext
from tensorrtserver.api._protocol import ProtocolType
from tensorrtserver.api._shm_context import SharedMemoryControlContext
from tensorrtserver.api._star_names import NAMES as _NAMES
from tensorrtserver.api._strings import serialize_string_tensor
from tensorrtserver.api.api_pb2 import (
    DESCRIPTOR,
    InferRequestHeader,
    InferResponseHeader,
    InferSharedMemory,
)
from tensorrtserver.api.server_status_pb2 import (
    ModelRepositoryIndex,
    ServerStatus,
    SharedMemoryStatus,
)
from tritonclient_shim.errors import InferenceServerException

model__config__pb2 = model_config_pb2  # bound by name since 1.12 (v1 §1.2)
globals().update(_NAMES)

__all__ = [
    "DESCRIPTOR",
    "InferContext",
    "InferRequestHeader",
    "InferResponseHeader",
    "InferSharedMemory",
    "InferenceServerException",
    "ModelControlContext",
    "ModelRepositoryContext",
    "ModelRepositoryIndex",
    "ProtocolType",
    "ServerHealthContext",
    "ServerStatus",
    "ServerStatusContext",
    "SharedMemoryControlContext",
    "SharedMemoryStatus",
    "api_pb2",
    "model__config__pb2",
    "model_config_pb2",
    "serialize_string_tensor",
    "server_status_pb2",
    "tensorrtserver",
]
__all__ += _NAMES

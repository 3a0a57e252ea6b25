"""The v1 client API: contexts, exceptions and messages, as in 1.15 and all earlier releases.

``from tensorrtserver.api import *`` binds exactly the names that v1 bound.
``tests/installation/test_star_import.py`` lists them. `tritonclient-shim guide` describes each
call. What v1 did, section by section with the evidence, stands in v1-behaviour.md of the source
distribution. The messages, the exception and text_format
are imported when a program first uses their names, as a star import does.
"""

import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any

import tensorrtserver
from tensorrtserver.api._base import ProtocolType, serialize_string_tensor
from tensorrtserver.api._contexts import (
    ModelControlContext,
    ModelRepositoryContext,
    ServerHealthContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tensorrtserver.api._infer import InferContext
from tritonclient_shim.registry.star_names import STAR_NAMES as _STAR_NAMES

if TYPE_CHECKING:
    from google.protobuf import text_format

    from tensorrtserver.api import api_pb2, model_config_pb2, server_status_pb2
    from tensorrtserver.api import model_config_pb2 as model__config__pb2
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
    from tritonclient_shim.core.errors import InferenceServerException

# Scripts use names of other modules that `import *` bound, such as np, os, struct and all of ctypes
# (docs/v1-behaviour.md §1.2). v1's shared-memory modules bound them, except these two.
_NAMES = {**_STAR_NAMES, "sys": sys, "threading": threading}
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
    "text_format",
]
__all__ += _NAMES

# Name → module that has it, or that it stands for; imported at the first use of the name.
_LATER = {
    "DESCRIPTOR": "tensorrtserver.api.api_pb2",
    "InferRequestHeader": "tensorrtserver.api.api_pb2",
    "InferResponseHeader": "tensorrtserver.api.api_pb2",
    "InferSharedMemory": "tensorrtserver.api.api_pb2",
    "InferenceServerException": "tritonclient_shim.core.errors",
    "ModelRepositoryIndex": "tensorrtserver.api.server_status_pb2",
    "ServerStatus": "tensorrtserver.api.server_status_pb2",
    "SharedMemoryStatus": "tensorrtserver.api.server_status_pb2",
    "api_pb2": "tensorrtserver.api.api_pb2",
    "model__config__pb2": "tensorrtserver.api.model_config_pb2",  # since 1.12
    "model_config_pb2": "tensorrtserver.api.model_config_pb2",
    "server_status_pb2": "tensorrtserver.api.server_status_pb2",
    "text_format": "google.protobuf.text_format",  # since 1.12
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LATER[name])
    globals()[name] = getattr(module, name, module)
    return globals()[name]


def __dir__() -> "list[str]":
    return sorted({*globals(), *_LATER})

"""v1's ``grpc_service_pb2_grpc``: the raw stub, and the servicer.

This is the only module of ``tensorrtserver`` that imports grpc.
"""

# ruff: noqa: F401
import grpc

from tensorrtserver.api import grpc_service_pb2 as grpc__service__pb2
from tritonclient_shim.protos.grpc_service_pb2_grpc import (
    GRPCServiceServicer as GRPCServiceServicer,
)
from tritonclient_shim.protos.grpc_service_pb2_grpc import (
    add_GRPCServiceServicer_to_server as add_GRPCServiceServicer_to_server,
)
from tritonclient_shim.stub import GRPCServiceStub as GRPCServiceStub

"""Import order, foreign copies of the v1 protos, and what importing the messages costs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from google.protobuf.internal import api_implementation

OURS = "from tensorrtserver.api import grpc_service_pb2"
TRITON = "import tritonclient.grpc"
USE = "print(grpc_service_pb2.server__status__pb2.ServerStatus(id='inference:0').id)"
USE_TRITON = "from tritonclient.grpc import model_config_pb2 as v2; v2.ModelConfig(name='m')"

# A program's own generated copy: same package and messages, in the default pool.
COPY = """
from google.protobuf import descriptor_pb2, descriptor_pool
def register(prefix, names):
    for name in names.split():
        file = descriptor_pb2.FileDescriptorProto()
        file.name, file.package, file.syntax = prefix + name, 'nvidia.inferenceserver', 'proto3'
        message = file.message_type.add(name=MESSAGES[name])
        message.field.add(name='batch_size', number=1, label=1, type=13)
        descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
MESSAGES = {'model_config.proto': 'ModelConfig', 'api.proto': 'InferRequestHeader',
            'request_status.proto': 'RequestStatus', 'server_status.proto': 'ServerStatus',
            'grpc_service.proto': 'InferRequest'}
"""
OWN_PROTO = """
file = descriptor_pb2.FileDescriptorProto(name='job.proto', package='user', syntax='proto3')
file.dependency.append('api.proto')
field = file.message_type.add(name='Job').field.add(name='header', number=1, label=1, type=11)
field.type_name = '.nvidia.inferenceserver.InferRequestHeader'
descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
job = descriptor_pool.Default().FindMessageTypeByName('user.Job')
assert job.fields[0].message_type.file.name == 'api.proto'
"""
ALL = "model_config.proto request_status.proto api.proto server_status.proto grpc_service.proto"


def implementations() -> list[str]:
    """Return the protobuf runtime's implementations here: compiled, if any, and pure Python."""
    return sorted({api_implementation.Type(), "python"})


def run(lines: list[str], implementation: str) -> str:
    """Run the lines of a program in a fresh interpreter, and return its output."""
    env: dict[str, str] = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation}
    if implementation == api_implementation.Type():
        del env["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env=env,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.mark.parametrize("implementation", implementations())
@pytest.mark.parametrize("order", [[OURS, TRITON], [TRITON, OURS]], ids=["before", "after"])
def test_beside_tritonclient(order: list[str], implementation: str) -> None:
    """One process loads both sets of messages, in either order."""
    # docs/v1-behaviour.md §8.4
    assert run([*order, USE, USE_TRITON], implementation) == "inference:0"


@pytest.mark.parametrize("implementation", implementations())
@pytest.mark.parametrize("prefix", ["", "src/core/", "mine/"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_beside_a_programs_own_copy(first: str, prefix: str, implementation: str) -> None:
    """A program's own copy of the v1 protos loads before or after ours."""
    # docs/v1-behaviour.md §8.4
    steps = [OURS, f"register({prefix!r}, {ALL!r})"]
    order = steps if first == "ours" else steps[::-1]
    assert run([COPY, *order, USE], implementation) == "inference:0"


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_beside_a_proto_that_embeds_the_programs_copy(first: str) -> None:
    """A proto that imports the program's own api.proto gets it, also beside tritonclient."""
    steps = [OURS + "\n" + TRITON, "register('', 'api.proto')" + OWN_PROTO]
    order = steps if first == "ours" else steps[::-1]
    assert run([COPY, *order, USE], api_implementation.Type()) == "inference:0"


@pytest.mark.smoke
def test_the_default_pool_stays_as_it_was() -> None:
    """Importing the messages adds no name to protobuf's default pool."""
    # docs/v1-behaviour.md §8.4
    check = """
from google.protobuf import descriptor_pool
try:
    descriptor_pool.Default().FindMessageTypeByName('nvidia.inferenceserver.ModelConfig')
except KeyError:
    print('absent')
"""
    assert run([OURS, check], api_implementation.Type()) == "absent"


def test_no_warning_at_import() -> None:
    """No protobuf runtime deprecates a function that the generated modules call."""
    lines = ["import google.protobuf.reflection, warnings", "warnings.simplefilter('error')"]
    assert run([*lines, OURS, USE], api_implementation.Type()) == "inference:0"

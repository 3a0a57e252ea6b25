"""A client in Node.js, made from our ``.proto`` files (docs/v1-behaviour.md §9)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
from google.protobuf import text_format

import tritonclient_shim
from testbed import TritonServer
from testbed.foreign_programs import NodePackages, node_packages
from testbed.missing import MissingPrerequisite
from tests.gateway.gateway_process import Gateway
from tests.gateway.grpc_requests import A, B
from tritonclient_shim.protos import request_status_pb2

pytestmark = pytest.mark.release  # packages of Node.js

pytest_plugins = ["tests.gateway.gateway_fixtures"]

CLIENT = Path(__file__).with_name("node_client.js")
#: gRPC's status codes.
DEADLINE_EXCEEDED, CANCELLED, UNIMPLEMENTED, INTERNAL = 4, 1, 12, 13


@pytest.fixture(scope="module")
def packages() -> NodePackages:
    """gRPC for Node.js, installed now if need be."""
    try:
        return node_packages()
    except MissingPrerequisite as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def own_gateway(behind: TritonServer) -> Iterator[Gateway]:
    """A gateway that no other test has anything to log on."""
    running = Gateway("--triton-grpc", behind.grpc, "--server-id", "inference:0")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def seen(
    packages: NodePackages, own_gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """What one run of the client has seen."""
    protos = tmp_path_factory.mktemp("protos")
    (protos / "tensorrtserver").mkdir()
    (protos / "tensorrtserver" / "api").symlink_to(
        Path(tritonclient_shim.__file__).parent / "protos"
    )
    own_gateway.wait_until_unloaded("spare")
    addresses = own_gateway.grpc, own_gateway.http
    done = subprocess.run(
        ["node", str(CLIENT), *addresses, str(protos), f"/node-test-{os.getpid()}"],
        env={**os.environ, "NODE_PATH": packages.modules},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def direct(behind: TritonServer) -> Any:
    """The outputs of ``simple`` as Triton itself answers them."""
    inputs = []
    for name, data in (("INPUT0", A), ("INPUT1", B)):
        inputs.append(triton_grpc.InferInput(name, [1, 16], "INT32"))
        inputs[-1].set_data_from_numpy(data[np.newaxis])
    with triton_grpc.InferenceServerClient(behind.grpc) as client:
        result = client.infer("simple", inputs)
        return [result.as_numpy(name)[0].tolist() for name in ("OUTPUT0", "OUTPUT1")]


def succeeded(status: Any) -> bool:
    """Is a status that of a success, under the gateway's id?"""
    return (status["code"], status["msg"], status["server_id"]) == ("SUCCESS", "", "inference:0")


def test_inference(seen: Any, direct: Any) -> None:
    """Values are Triton's own; ids beyond JavaScript's integers come back."""
    found = seen["inference"]
    assert succeeded(found["status"]) and int(found["status"]["request_id"]) > 0
    assert found["outputs"] == found["zipped"] == direct
    header = found["header"]
    assert (header["id"], header["model_version"]) == ("9007199254740993", "1")
    assert [one["name"] for one in header["output"]] == ["OUTPUT0", "OUTPUT1"]
    assert header["output"][0]["raw"] == {"dims": ["16"], "batch_byte_size": "64"}


def test_classes(seen: Any) -> None:
    """Classes with index, value and label, and one empty raw output (docs/v1-behaviour.md §9.2)."""
    found = [(one["idx"], one["label"]) for one in seen["inference"]["classes"]]
    assert found == [(9, "l9"), (8, "l8"), (7, "")]
    values = [one["value"] for one in seen["inference"]["classes"]]
    assert values == np.array([0.9, 0.8, 0.7], np.float32).tolist()
    assert seen["inference"]["class_bytes"] == 1


def test_streams(seen: Any) -> None:
    """A sequence over a stream, with the largest correlation id; a refusal among answers; none."""
    found = seen["streams"]
    assert found["sequence"] == [[3], [7], [12]]
    assert [number for number, _ in found["mixed"]] == ["1", "2", "3"]
    statuses = [status for _, status in found["mixed"]]
    assert succeeded(statuses[0]) and succeeded(statuses[2])
    assert (statuses[1]["code"], statuses[1]["msg"]) == ("INTERNAL", "the model refused value 7")
    assert found["empty"] == []
    assert found["left"] == CANCELLED


def test_control(seen: Any) -> None:
    """Health, status, loading, unloading and the index (docs/v1-behaviour.md §6)."""
    found = seen["control"]
    assert (found["live"], found["ready"], found["state"]) == (True, True, "SERVER_READY")
    inputs = [(one["name"], one["data_type"], one["dims"]) for one in found["inputs"]]
    assert inputs == [("INPUT0", "TYPE_INT32", ["16"]), ("INPUT1", "TYPE_INT32", ["16"])]
    assert {"simple", "classify"} <= set(found["all"])
    assert found["codes"] == ["SUCCESS", "SUCCESS"] and "spare" in found["index"]


def test_errors(seen: Any) -> None:
    """What v1 refused is in ``request_status``; what is no call of v1's in gRPC's trailers."""
    found = seen["errors"]
    unknown = found["unknown"]["request_status"]
    assert unknown["code"] == "UNAVAILABLE"
    assert unknown["msg"].startswith("Request for unknown model: 'nope'")
    assert found["unknown"]["meta_data"]["id"] == "5"
    assert found["short"]["request_status"]["code"] == "INVALID_ARG"
    assert (
        found["status"]["request_status"]["msg"] == "no status available for unknown model 'nope'"
    )
    assert (found["method"], found["garbage"], found["too_old"]) == (UNIMPLEMENTED, INTERNAL, 0)
    assert seen["inference"]["late"]["grpc_code"] == DEADLINE_EXCEEDED


def test_shared_memory(seen: Any, direct: Any) -> None:
    """Node.js writes a region, registers it, and reads the output that Triton has written."""
    found = seen["shared_memory"]
    assert succeeded(found["first"]) and succeeded(found["done"]) and found["gone"] == "SUCCESS"
    assert found["again"]["msg"] == "shared memory region 'node' already in manager"
    assert [(one["name"], one["byte_size"]) for one in found["listed"]] == [("node", "192")]
    assert found["output"] == direct[0]


def test_http(seen: Any, direct: Any) -> None:
    """Node's own HTTP client and ``fetch``: bodies whole and in chunks, errors in NV-Status."""
    found = seen["http"]
    assert found["live"] == 200
    assert found["whole"] == found["chunked"] == found["fetched"] == direct[0]
    assert (found["tail"]["model_name"], found["tail"]["batch_size"]) == ("simple", 1)
    assert 'model_name: "simple"' in found["header"]
    code, text, header, size = found["unknown"]
    status = text_format.Parse(text, request_status_pb2.RequestStatus())
    assert (code, status.code, header, size) == (400, request_status_pb2.UNAVAILABLE, "", 0)
    assert found["json"] == ["simple"]
    assert (found["wrong_method"], found["wrong_path"]) == (405, 400)


def test_nothing_is_logged(seen: Any, own_gateway: Gateway) -> None:
    """Errors, cancelled streams and passed deadlines of clients are no lines of the log."""
    assert seen and own_gateway.said() == ""

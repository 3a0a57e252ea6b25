"""A client in Node.js, made from our ``.proto`` files (docs/v1-behaviour.md §9)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
from google.protobuf import text_format

import tritonclient_shim
from testbed import TritonServer
from testbed.foreign_programs import node_packages
from testbed.progress import MissingPrerequisite
from tests.gateway.gateway_process import Gateway
from tests.gateway.grpc_requests import A, B
from tritonclient_shim.protos import request_status_pb2

pytestmark = pytest.mark.release  # packages of Node.js

CLIENT = Path(__file__).with_name("node_client.js")
SUMS = [(A + B).tolist(), (A - B).tolist()]
#: gRPC's status codes.
DEADLINE_EXCEEDED, CANCELLED, UNIMPLEMENTED, INTERNAL = 4, 1, 12, 13


@pytest.fixture(scope="module")
def packages() -> str:
    """Return gRPC for Node.js, installed now if it is missing."""
    try:
        return node_packages()
    except MissingPrerequisite as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def own_gateway(behind: TritonServer) -> Iterator[Gateway]:
    """Start a gateway for this module, so that its log has no lines of other tests."""
    running = Gateway("--triton-grpc", behind.grpc, "--server-id", "inference:0")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def seen(packages: str, own_gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the results of one run of the client."""
    protos = tmp_path_factory.mktemp("protos")
    (protos / "tensorrtserver").mkdir()
    (protos / "tensorrtserver" / "api").symlink_to(
        Path(tritonclient_shim.__file__).parent / "protos"
    )
    own_gateway.wait_until_unloaded("spare")
    addresses = own_gateway.grpc, own_gateway.http
    done = subprocess.run(
        ["node", str(CLIENT), *addresses, str(protos), f"/node-test-{os.getpid()}"],
        env={**os.environ, "NODE_PATH": packages},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def succeeded(status: Any) -> bool:
    """True for the status of a success, under the gateway's id."""
    return (status["code"], status["msg"], status["server_id"]) == ("SUCCESS", "", "inference:0")


def test_inference(seen: Any) -> None:
    """Values are right; ids beyond JavaScript's integers arrive exactly."""
    result = seen["inference"]
    assert succeeded(result["status"]) and int(result["status"]["request_id"]) > 0
    assert result["outputs"] == result["zipped"] == SUMS
    header = result["header"]
    assert (header["id"], header["model_version"]) == ("9007199254740993", "1")
    assert [output["name"] for output in header["output"]] == ["OUTPUT0", "OUTPUT1"]
    assert header["output"][0]["raw"] == {"dims": ["16"], "batch_byte_size": "64"}


def test_classes(seen: Any) -> None:
    """Classes have index, value and label, and an empty raw output (docs/v1-behaviour.md §9.2)."""
    classes = seen["inference"]["classes"]
    assert [(entry["idx"], entry["label"]) for entry in classes] == [(9, "l9"), (8, "l8"), (7, "")]
    values = [entry["value"] for entry in classes]
    assert values == np.array([0.9, 0.8, 0.7], np.float32).tolist()
    assert seen["inference"]["class_bytes"] == 1


def test_streams(seen: Any) -> None:
    """Streams carry sequences, refusals among answers, or nothing, and can be cancelled."""
    streams = seen["streams"]
    assert streams["sequence"] == [[3], [7], [12]]
    assert [number for number, _ in streams["mixed"]] == ["1", "2", "3"]
    statuses = [status for _, status in streams["mixed"]]
    assert succeeded(statuses[0]) and succeeded(statuses[2])
    assert (statuses[1]["code"], statuses[1]["msg"]) == ("INTERNAL", "the model refused value 7")
    assert streams["empty"] == []
    assert streams["left"] == CANCELLED


def test_control(seen: Any) -> None:
    """Health, status, loading, unloading and the index work (docs/v1-behaviour.md §6)."""
    control = seen["control"]
    assert (control["live"], control["ready"], control["state"]) == (True, True, "SERVER_READY")
    inputs = [(row["name"], row["data_type"], row["dims"]) for row in control["inputs"]]
    assert inputs == [("INPUT0", "TYPE_INT32", ["16"]), ("INPUT1", "TYPE_INT32", ["16"])]
    assert {"simple", "classify"} <= set(control["all"])
    assert control["codes"] == ["SUCCESS", "SUCCESS"] and "spare" in control["index"]


def test_errors(seen: Any) -> None:
    """v1's refusals are in ``request_status``; errors of other calls are in gRPC's trailers."""
    errors = seen["errors"]
    unknown = errors["unknown"]["request_status"]
    assert unknown["code"] == "UNAVAILABLE"
    assert unknown["msg"].startswith("Request for unknown model: 'nope'")
    assert errors["unknown"]["meta_data"]["id"] == "5"
    assert errors["short"]["request_status"]["code"] == "INVALID_ARG"
    assert (
        errors["status"]["request_status"]["msg"] == "no status available for unknown model 'nope'"
    )
    assert (errors["method"], errors["garbage"], errors["too_old"]) == (UNIMPLEMENTED, INTERNAL, 0)
    assert seen["inference"]["late"]["grpc_code"] == DEADLINE_EXCEEDED


def test_shared_memory(seen: Any) -> None:
    """Node.js writes a region, registers it, and reads the output that Triton has written."""
    memory = seen["shared_memory"]
    assert succeeded(memory["first"]) and succeeded(memory["done"]) and memory["gone"] == "SUCCESS"
    assert memory["again"]["msg"] == "shared memory region 'node' already in manager"
    regions = [(region["name"], region["byte_size"]) for region in memory["listed"]]
    assert regions == [("node", "192")]
    assert memory["output"] == SUMS[0]


def test_http(seen: Any) -> None:
    """Node's HTTP client and ``fetch`` may send chunks, and get errors in NV-Status."""
    answers = seen["http"]
    assert answers["live"] == 200
    assert answers["whole"] == answers["chunked"] == answers["fetched"] == SUMS[0]
    assert (answers["tail"]["model_name"], answers["tail"]["batch_size"]) == ("simple", 1)
    assert 'model_name: "simple"' in answers["header"]
    code, text, header, size = answers["unknown"]
    status = text_format.Parse(text, request_status_pb2.RequestStatus())
    assert (code, status.code, header, size) == (400, request_status_pb2.UNAVAILABLE, "", 0)
    assert answers["json"] == ["simple"]
    assert (answers["wrong_method"], answers["wrong_path"]) == (405, 400)


def test_nothing_is_logged(seen: Any, own_gateway: Gateway) -> None:
    """Errors, cancelled streams and passed deadlines of clients are not logged."""
    assert seen and own_gateway.log_text() == ""

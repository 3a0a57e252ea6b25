"""curl as a client of the gateway (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import numpy as np
import pytest
import tritonclient.http as triton_http
from google.protobuf import text_format

from testbed import TritonServer
from tests.gateway.bad_clients import until
from tests.gateway.gateway_process import Gateway, StartGateway, code_of
from tests.gateway.grpc_requests import A, B, seconds
from tritonclient_shim.protos import api_pb2, request_status_pb2, server_status_pb2

pytest_plugins = ["tests.gateway.gateway_fixtures"]

BODY = A.tobytes() + B.tobytes()
INPUTS = 'batch_size: 1 input { name: "INPUT0" dims: 16 } input { name: "INPUT1" dims: 16 } '
HEADER = f'NV-InferRequest: {INPUTS}output {{ name: "OUTPUT0" }}'
INFER = "/api/infer/simple?format=binary"
CONTROL = "/api/sharedmemorycontrol"


class Seen(NamedTuple):
    """What curl has received."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def status(self) -> Any:
        """The message in NV-Status."""
        return text_format.Parse(self.headers["nv-status"], request_status_pb2.RequestStatus())


class Curl:
    """Runs curl against one gateway, in a folder of its own."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self.gateway = gateway
        self.folder = folder
        (folder / "body").write_bytes(BODY)

    def __call__(self, path: str, *options: str) -> Seen:
        """One request."""
        files = ["-o", str(self.folder / "out"), "-D", str(self.folder / "headers")]
        done = self.run(path, *files, "-w", "%{http_code}", *options)
        assert done.returncode == 0, done.stderr
        last = (self.folder / "headers").read_text("latin-1").replace("\r", "").strip()
        lines = last.split("\n\n")[-1].splitlines()[1:]
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
        out = self.folder / "out"
        return Seen(int(done.stdout), headers, out.read_bytes() if out.exists() else b"")

    def run(self, path: str, *options: str) -> subprocess.CompletedProcess[str]:
        """curl, to its end."""
        return subprocess.run(
            ["curl", "-sS", "--max-time", "60", *options, f"http://{self.gateway.http}{path}"],
            capture_output=True,
            text=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            timeout=90,
            check=False,
        )


@pytest.fixture
def curl(gateway: Gateway, tmp_path: Path) -> Curl:
    """curl against the gateway of this run."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed (apt-get install curl)")
    return Curl(gateway, tmp_path)


@pytest.fixture(scope="module")
def direct(behind: TritonServer) -> list[int]:
    """OUTPUT0 of ``simple`` as Triton itself answers it."""
    inputs = []
    for name, data in (("INPUT0", A), ("INPUT1", B)):
        inputs.append(triton_http.InferInput(name, [1, 16], "INT32"))
        inputs[-1].set_data_from_numpy(data[np.newaxis])
    with triton_http.InferenceServerClient(behind.http) as client:
        found: list[int] = client.infer("simple", inputs).as_numpy("OUTPUT0")[0].tolist()
        return found


@pytest.mark.parametrize(
    "options",
    [
        ["--data-binary", "@body"],
        ["--http1.0", "--data-binary", "@body"],
        ["--http2", "--data-binary", "@body"],
        ["-H", "Expect: 100-continue", "--data-binary", "@body"],
        ["-X", "POST", "-T", "body"],
        ["-X", "POST", "-H", "Transfer-Encoding: chunked", "-T", "body"],
        ["-H", "Content-Type: application/json", "--compressed", "--data-binary", "@body"],
        ["-H", "Content-Encoding: gzip", "--data-binary", "@zipped"],
        ["--limit-rate", "100", "--data-binary", "@body"],
        ["-H", "Connection: close", "--data-binary", "@body"],
    ],
    ids=[
        *("plain", "http1.0", "h2c", "expect", "upload", "chunked", "compressed", "gzip"),
        *("slow", "close"),
    ],
)
def test_infer(curl: Curl, direct: list[int], options: list[str]) -> None:
    """However curl sends the body, the value is Triton's own, and so is the header behind it."""
    (curl.folder / "zipped").write_bytes(gzip.compress(BODY))
    seen = curl(INFER, "-H", HEADER, *options)
    assert (seen.code, code_of(seen.status)) == (200, "SUCCESS")
    assert np.frombuffer(seen.body[:64], np.int32).tolist() == direct
    header = api_pb2.InferResponseHeader.FromString(seen.body[64:])
    assert (header.model_name, header.output[0].raw.batch_byte_size) == ("simple", 64)


def test_classes(curl: Curl) -> None:
    """A classification of 200 classes, in NV-InferResponse and in the body."""
    (curl.folder / "scores").write_bytes(np.arange(1000, dtype=np.float32).tobytes())
    header = 'NV-InferRequest: batch_size: 1 input { name: "INPUT" dims: 1000 } '
    header += 'output { name: "OUTPUT" cls { count: 200 } }'
    seen = curl("/api/infer/classify_1000", "-H", header, "--data-binary", "@scores")
    assert seen.code == 200
    expected = [(n, float(n), f"l{n}") for n in range(999, 799, -1)]
    for text in (seen.headers["nv-inferresponse"], seen.body.decode()):
        (output,) = text_format.Parse(text, api_pb2.InferResponseHeader()).output
        assert [(c.idx, c.value, c.label) for c in output.batch_classes[0].cls] == expected


def test_status_and_health(curl: Curl) -> None:
    """Health by status code; the status as text, JSON and binary."""
    assert [curl(f"/api/health/{kind}").code for kind in ("live", "ready")] == [200, 200]
    text = curl("/api/status/simple")
    message = text_format.Parse(text.body.decode(), server_status_pb2.ServerStatus())
    assert [*message.model_status] == ["simple"]
    for options, path in (((), "?format=json"), (("-H", "Accept: application/json"), "")):
        found = json.loads(curl(f"/api/status/simple{path}", *options).body)
        assert [*found["model_status"]] == ["simple"]
    binary = server_status_pb2.ServerStatus.FromString(curl("/api/status?format=binary").body)
    assert {"simple", "slow"} <= {*binary.model_status}


@pytest.mark.parametrize(
    ("path", "options", "code", "message"),
    [
        (
            *("/api/infer/nope", ["-H", HEADER, "-d", "x"], "UNAVAILABLE"),
            "Request for unknown model: 'nope' is not found",
        ),
        (
            *("/api/infer/simple", ["-H", HEADER, "-d", ""], "INVALID_ARG"),
            "unexpected size for input 'INPUT0', expecting 64 bytes for model 'simple'",
        ),
        (
            *("/api/infer/simple", ["-H", HEADER, "-F", "file=@body"], "INVALID_ARG"),
            "unexpected additional input data for model 'simple'",
        ),
        (
            *("/api/status/nope", [], "INVALID_ARG"),
            "no status available for unknown model 'nope'",
        ),
    ],
    ids=["model", "empty", "form", "status"],
)
def test_refusals(curl: Curl, path: str, options: list[str], code: str, message: str) -> None:
    """A refusal is 400, and NV-Status says why."""
    seen = curl(path, *options)
    assert (seen.code, seen.body) == (400, b"")
    assert (code_of(seen.status), seen.status.msg) == (code, message)


@pytest.mark.parametrize(
    ("path", "options", "code"),
    [
        (INFER, ["-H", HEADER, "-T", "body"], 405),  # PUT
        (INFER, ["-X", "OPTIONS"], 405),
        ("/api/health/live", ["-I"], 405),
        ("/nothing", [], 400),
        (INFER, ["-H", "NV-InferRequest: {", "-d", "x"], 400),
    ],
    ids=["put", "options", "head", "path", "header"],
)
def test_no_request_of_v1(curl: Curl, path: str, options: list[str], code: int) -> None:
    """Other methods are 405, other paths and unreadable headers 400, without NV-Status."""
    seen = curl(path, *options)
    assert seen.code == code and "nv-status" not in seen.headers


@pytest.fixture
def region(gateway: Gateway) -> Iterator[str]:
    """The key of an object with the two inputs, and room for an output."""
    place = Path(f"/dev/shm/gateway-curl-{os.getpid()}")
    place.write_bytes(BODY + bytes(64))
    yield f"/{place.name}"
    gateway.post(f"{CONTROL}/unregister/curl")
    place.unlink()


def test_shared_memory(curl: Curl, region: str, direct: list[int]) -> None:
    """Register, infer from and into the region, list, unregister."""
    assert curl(f"{CONTROL}/register/curl/{region}/0/192", "-X", "POST").code == 200
    inputs = [
        f'input {{ name: "INPUT{n}" dims: 16 '
        f'shared_memory {{ name: "curl" offset: {64 * n} byte_size: 64 }} }} '
        for n in (0, 1)
    ]
    output = 'output { name: "OUTPUT0" shared_memory { name: "curl" offset: 128 byte_size: 64 } }'
    header = f"NV-InferRequest: batch_size: 1 {''.join(inputs)}{output}"
    assert curl(INFER, "-H", header, "-X", "POST").code == 200
    found = np.frombuffer(Path(f"/dev/shm{region}").read_bytes()[128:], np.int32)
    assert found.tolist() == direct
    assert b'name: "curl"' in curl(f"{CONTROL}/status").body
    assert curl(f"{CONTROL}/unregister/curl", "-X", "POST").code == 200


def test_one_connection(curl: Curl) -> None:
    """Several requests on one kept connection."""
    url = f"http://{curl.gateway.http}/api/health/live"
    done = curl.run("/api/health/live", "-w", "%{http_code} %{num_connects}\n", url, url)
    assert done.stdout.split() == ["200", "1", "200", "0", "200", "0"]


def test_giving_up(curl: Curl, behind: TritonServer, start_gateway: StartGateway) -> None:
    """curl's time limit, before the body is sent or the answer is there, is no line of the log."""
    curl.gateway = start_gateway("--triton-grpc", behind.grpc)
    (curl.folder / "long").write_bytes(seconds(1.0))
    header = 'NV-InferRequest: batch_size: 1 input { name: "INPUT0" dims: 1 } '
    header += 'output { name: "OUTPUT0" }'
    waiting = ["-H", header, "--data-binary", "@long", "--max-time", "0.4"]
    sending = ["-H", HEADER, "--limit-rate", "20", "--data-binary", "@body", "--max-time", "0.6"]
    for path, options in (("/api/infer/slow", waiting), (INFER, sending)):
        assert curl.run(path, *options).returncode == 28
    until(lambda: curl("/api/health/live").code == 200)
    curl("/api/infer/slow", "-H", header, "--data-binary", "@long")  # longer than the one before
    assert curl.gateway.said() == ""

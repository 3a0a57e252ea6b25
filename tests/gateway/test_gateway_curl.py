"""curl as a client of the gateway (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.gateway.gateway_process import Gateway
from tests.gateway.grpc_requests import BODY, SIMPLE, A, B
from tritonclient_shim.protos import api_pb2

HEADER = f'NV-InferRequest: {SIMPLE} output {{ name: "OUTPUT0" }}'
INFER = "/api/infer/simple?format=binary"
OUT = ("-o", "out", "-D", "headers", "-w", "%{http_code}")


class Curl:
    """Runs curl against one gateway, in a folder of its own."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self.gateway = gateway
        self.folder = folder
        (folder / "body").write_bytes(BODY)

    def __call__(self, path: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run curl to its end."""
        return subprocess.run(
            ["curl", "-sS", "--max-time", "60", *options, f"http://{self.gateway.http}{path}"],
            capture_output=True,
            text=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            timeout=90,
            check=False,
        )

    def code(self, path: str, *options: str) -> int:
        """Return the HTTP status of a request; the files ``out`` and ``headers`` get the answer."""
        done = self(path, *OUT, *options)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)


@pytest.fixture
def curl(gateway: Gateway, tmp_path: Path) -> Curl:
    """Return curl against the gateway of this run."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed (apt-get install curl)")
    return Curl(gateway, tmp_path)


BODY_OPTION = ["--data-binary", "@body"]
UPLOADS = {
    "plain": BODY_OPTION,
    "http1.0": ["--http1.0", *BODY_OPTION],
    "h2c": ["--http2", *BODY_OPTION],
    "expect": ["-H", "Expect: 100-continue", *BODY_OPTION],
    "upload": ["-X", "POST", "-T", "body"],
    "compressed": ["-H", "Content-Type: application/json", "--compressed", *BODY_OPTION],
    "slow": ["--limit-rate", "100", *BODY_OPTION],
    "close": ["-H", "Connection: close", *BODY_OPTION],
}


@pytest.mark.parametrize("name", UPLOADS)
def test_infer(curl: Curl, name: str) -> None:
    """However curl sends the body, the answer is the sum, followed by the response header."""
    assert curl.code(INFER, "-H", HEADER, *UPLOADS[name]) == 200
    body = (curl.folder / "out").read_bytes()
    assert np.frombuffer(body[:64], np.int32).tolist() == (A + B).tolist()
    header = api_pb2.InferResponseHeader.FromString(body[64:])
    assert (header.model_name, header.output[0].raw.batch_byte_size) == ("simple", 64)


def test_one_connection(curl: Curl) -> None:
    """Several requests use one kept connection."""
    url = f"http://{curl.gateway.http}/api/health/live"
    done = curl("/api/health/live", "-w", "%{http_code} %{num_connects}\n", url, url)
    assert done.stdout.split() == ["200", "1", "200", "0", "200", "0"]

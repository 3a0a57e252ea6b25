"""The stub of migrated files asks for configurations once a channel, and for a status anew."""

from __future__ import annotations

from pathlib import Path

from testbed import TritonServer
from tests.migrate.sources_migrated import run_with_helpers

_START = """
import grpc
import numpy as np
import tritonclient.grpc as grpcclient

def request(model, row):
    message = Record(model_name=model, model_version=-1)
    message.meta_data.input.add(name="INPUT0", dims=[1])
    message.meta_data.output.add(name="OUTPUT0")
    message.raw_input.append(row.tobytes())
    return message
"""
_MANY_STUBS = """
class Counting(grpc.UnaryUnaryClientInterceptor):
    asked = 0
    def intercept_unary_unary(self, continuation, details, message):
        self.asked += "ModelConfig" in str(details.method)
        return continuation(details, message)

counting = Counting()
channel = grpc.intercept_channel(grpc.insecure_channel({url!r}), counting)
row = np.ones(1, np.int32)
for _ in range(3):
    print(InferStub(channel).Infer(request("identity_int32", row)).request_status.code)
print(counting.asked)
"""
_UNLOADED = """
client = grpcclient.InferenceServerClient({url!r})
client.load_model("spare")
stub = InferStub(grpc.insecure_channel({url!r}))
print(stub.Infer(request("spare", np.ones(1, np.float32))).request_status.code)
client.unload_model("spare")
while client.is_model_ready("spare"):
    pass
print(stub.Status(Record(model_name="spare")).request_status.code)
"""


def test_stub_for_each_request(triton: TritonServer, tmp_path: Path) -> None:
    """A program that makes a stub for each request asks for a configuration once."""
    source = _START + _MANY_STUBS.format(url=triton.grpc)
    assert run_with_helpers(tmp_path, "InferStub", source) == (0, "1\n1\n1\n1\n")


def test_status_after_a_request(triton: TritonServer, tmp_path: Path) -> None:
    """The status of a model that was unloaded after a request is an error."""
    source = _START + _UNLOADED.format(url=triton.grpc)
    assert run_with_helpers(tmp_path, "InferStub", source) == (0, "1\n5\n")

"""Servers whose model versions are no numbers, as KServe v2 allows: -1 in v1's terms."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, ModelRepositoryContext, server_status_pb2
from tensorrtserver.api import grpc_service_pb2 as pb
from tests.named_versions import VERSION, NamedVersions
from tests.server.infer_cases import BOTH, RAMP, RAW, Completions
from tests.server.status_asked import status_of
from tests.server.stub_cases import SECONDS, SUCCESS, is_sum, simple_request, stub_at

INPUTS = {"INPUT0": [RAMP], "INPUT1": [RAMP]}


@pytest.fixture(scope="module")
def named(triton: Any) -> Iterator[NamedVersions]:
    """The session's server, its version 1 by the name of ``v2.0``."""
    with NamedVersions(triton) as relay:
        yield relay


def test_the_relay_renames(named: NamedVersions) -> None:
    """What the tests below rest on: the version is text at both endpoints."""
    import tritonclient.grpc
    import tritonclient.http

    ready = [
        tritonclient.http.InferenceServerClient(named.http).is_model_ready("simple", VERSION),
        tritonclient.grpc.InferenceServerClient(named.grpc).is_model_ready("simple", VERSION),
    ]
    assert ready == [True, True]


@pytest.mark.smoke
def test_results(named: NamedVersions, protocol: int) -> None:
    """A result comes, the first and the next ones of its form; the version used is -1."""
    with InferContext(named.url(protocol), protocol, "simple") as context:
        for _ in range(3):
            found = context.run(INPUTS, BOTH)
            assert np.array_equal(found["OUTPUT0"][0], RAMP + RAMP)
            assert context.get_last_request_model_version() == -1


def test_asynchronous_results(named: NamedVersions, protocol: int) -> None:
    """The same for asynchronous requests: none is lost."""
    done = Completions()
    with InferContext(named.url(protocol), protocol, "simple") as context:
        for count in (1, 2):
            context.async_run(done, INPUTS, BOTH)
            found = context.get_async_run_results(done.wait(count)[-1])
            assert np.array_equal(found["OUTPUT0"][0], RAMP + RAMP)
            assert context.get_last_request_model_version() == -1


def test_streamed_results(named: NamedVersions) -> None:
    """The same for a streaming context."""
    with InferContext(named.grpc, 1, "simple", streaming=True) as context:
        for _ in range(2):
            context.run(INPUTS, {"OUTPUT0": RAW})
            assert context.get_last_request_model_version() == -1


def test_labels(named: NamedVersions, protocol: int) -> None:
    """Labels are asked of the version that answered, whatever its name."""
    scores = np.array([0.1, 0.9, 0.3, 0, 0, 0, 0, 0, 0, 0], np.float32)
    with InferContext(named.url(protocol), protocol, "classify") as context:
        kind = (InferContext.ResultFormat.CLASS, 1)
        found = context.run({"INPUT": [scores]}, {"OUTPUT": kind})
    assert found["OUTPUT"][0][0][::2] == (1, "l1")


def test_the_version_told_can_be_asked_for(named: NamedVersions, protocol: int) -> None:
    """-1 given back to a context means the latest version, which such a server has."""
    (told,) = status_of(named, protocol, "simple").model_status["simple"].version_status
    with InferContext(named.url(protocol), protocol, "simple", told) as context:
        context.run(INPUTS, BOTH)
        assert context.get_last_request_model_version() == told == -1


def test_status(named: NamedVersions, protocol: int) -> None:
    """The version is in the status, under -1, with its state and counts."""
    with InferContext(named.url(protocol), protocol, "simple") as context:
        context.run(INPUTS, BOTH)
    for name in (None, "simple"):
        versions = status_of(named, protocol, name).model_status["simple"].version_status
        assert list(versions) == [-1]
        assert versions[-1].ready_state == server_status_pb2.MODEL_READY
        assert versions[-1].model_inference_count > 0


def test_repository(named: NamedVersions, protocol: int) -> None:
    """The index has the model's name."""
    with ModelRepositoryContext(named.url(protocol), protocol) as context:
        index = context.get_model_repository_index()
    assert "simple" in [model.name for model in index.models]


def test_stub(named: NamedVersions) -> None:
    """The raw stub: Infer, its future, StreamInfer and Status tell -1 as well."""
    with stub_at(named.grpc) as stub:
        answers = [
            stub.Infer(simple_request(1), SECONDS),
            stub.Infer.future(simple_request(1)).result(SECONDS),
            next(stub.StreamInfer(iter([simple_request(1)]), SECONDS)),
        ]
        assert [is_sum(answer, 1) for answer in answers] == [True] * 3
        assert [answer.meta_data.model_version for answer in answers] == [-1] * 3
        response = stub.Status(pb.StatusRequest(model_name="simple"))
        assert response.request_status.code == SUCCESS
        assert list(response.server_status.model_status["simple"].version_status) == [-1]

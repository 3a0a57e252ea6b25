"""InferContext's constructor (docs/v1-behaviour.md §3.1)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType
from tests.server.infer_cases import BOTH, ONE, RAMP, add_sub, fp32, number, server_error
from tests.server.odd_servers import foreign_server

pytest_plugins = ["tests.server.infer_fixtures"]


def test_signature() -> None:
    """InferContext: names, order and defaults of the constructor and of run."""
    # docs/v1-behaviour.md §2.1
    parameters = inspect.signature(InferContext).parameters
    assert {name: one.default for name, one in parameters.items()} == {
        "url": inspect.Parameter.empty,
        "protocol": inspect.Parameter.empty,
        "model_name": inspect.Parameter.empty,
        "model_version": None,
        "verbose": False,
        "correlation_id": 0,
        "streaming": False,
        "http_headers": [],
    }
    run = inspect.signature(InferContext.run).parameters
    assert list(run) == [
        *("self", "inputs", "outputs", "batch_size", "flags"),
        *("corr_id", "priority", "timeout_us"),
    ]
    assert [run[name].default for name in list(run)[3:]] == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (None,),
        (1, False),
        (-1, "", True),
        (None, 0, np.uint64(7)),
        (None, None, 0, False),
        (1, False, 0, False, ""),
        (1, False, 0, 0, []),
        (np.int64(1), False, np.int32(3), None, None),
    ],
)
@pytest.mark.smoke
def test_positional(connect: Any, arguments: tuple[Any, ...]) -> None:
    """Three to eight positionals, with junk in their slots (docs/v1-behaviour.md §2.1, §F.2)."""
    assert set(connect("simple", *arguments).run(add_sub(), BOTH)) == set(BOTH)


def test_keywords(url: str, protocol: int) -> None:
    """Everything by keyword; bytes for the url and for the model's name."""
    # docs/v1-behaviour.md §3.1
    context = InferContext(
        url=url.encode(),
        protocol=ProtocolType(protocol),
        model_name=b"simple",
        model_version=None,
        verbose=False,
        correlation_id=0,
        streaming=False,
        http_headers=[b"X-Old: 1", "X-New: 2"],
    )
    with context:
        assert context.run(add_sub(), ONE)["OUTPUT0"][0].tolist() == (RAMP * 2).tolist()


@pytest.mark.parametrize("spelling", [int, ProtocolType, float, str, np.int64])
@pytest.mark.smoke
def test_protocol(url: str, protocol: int, spelling: Any) -> None:
    """``protocol`` goes through int() (docs/v1-behaviour.md §1.5)."""
    with InferContext(url, spelling(protocol), "simple") as context:
        assert len(context.run(add_sub(), ONE)) == 1


@pytest.mark.parametrize("scheme", ["", "http://", "HTTP://", "grpc://"])
def test_scheme(url: str, protocol: int, scheme: str) -> None:
    """url: a scheme is accepted, and a slash at the end (docs/v1-behaviour.md §3.1)."""
    end = "" if protocol else "/"
    with InferContext(f"{scheme}{url}{end}", protocol, "simple") as context:
        assert len(context.run(add_sub(), ONE)) == 1


def test_fresh_context(connect: Any) -> None:
    """After construction: the getters are None, all counters zero."""
    # docs/v1-behaviour.md §3.1, §4.4
    context = connect("simple", correlation_id=5)
    assert context.get_last_request_id() is None
    assert context.get_last_request_model_name() is None
    assert context.get_last_request_model_version() is None
    assert context.correlation_id() == 5
    assert set(context.get_stat().values()) == {0}


@pytest.mark.smoke
def test_headers_are_sent() -> None:
    """http_headers go with the constructor's request (docs/v1-behaviour.md §6.6)."""
    with foreign_server() as foreign:
        with pytest.raises(InferenceServerException, match="did not return status"):
            InferContext(foreign.url, 0, "m", http_headers=["X-A:b:c", b"X-B:2"])
        headers = dict(foreign.requests[0][2])
    assert (headers["X-A"], headers["X-B"]) == ("b:c", "2")


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0, 0), (True, 1), (-1, 2**64 - 1), (2**64, 0), (2**64 + 3, 3), (np.uint64(2**63), 2**63)],
)
def test_correlation_id_wraps(connect: Any, given: Any, kept: int) -> None:
    """correlation_id: taken modulo 2**64; ``_correlation_id`` keeps what was given."""
    # docs/v1-behaviour.md §3.1
    context = connect("simple", correlation_id=given)
    assert context.correlation_id() == kept
    assert context._correlation_id == given


@pytest.mark.parametrize(("version", "used"), [(None, 3), (-1, 3), (1, 1), (2, 2), (2**64 + 2, 2)])
def test_versions(connect: Any, version: Any, used: int) -> None:
    """model_version: None and -1 are the latest; the getter tells the one used."""
    # docs/v1-behaviour.md §3.1
    context = connect("multi_version", version)
    assert number(context.run(fp32(0), ONE)) == used
    assert context.get_last_request_model_version() == used


def test_negative_version(connect: Any, protocol: int) -> None:
    """Over HTTP any negative version is the latest, over gRPC only -1."""
    # docs/v1-behaviour.md §3.1
    context = connect("multi_version", -2)
    if protocol == 0:
        assert number(context.run(fp32(0), ONE)) == 3
        return
    with server_error("Request for unknown model: 'multi_version' version -2 is not found"):
        context.run(fp32(0), ONE)


def test_verbose(connect: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Verbose: the constructor prints the model's status to stdout, run() nothing."""
    # docs/v1-behaviour.md §10.2
    context = connect("simple", verbose=True)
    printed = capsys.readouterr().out
    assert 'key: "simple"' in printed
    assert 'id: "triton"' in printed
    assert printed.endswith("\n\n")
    context.run(add_sub(), ONE)
    assert capsys.readouterr().out == ""

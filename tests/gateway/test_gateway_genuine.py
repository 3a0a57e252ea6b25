"""NVIDIA's own retired client through the gateway, on both protocols
(docs/v1-behaviour.md §3 to §6).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from demo.programs import PROGRAMS, Program
from tests.gateway.gateway_process import ROOT, Gateway
from tests.gateway.oracle import OracleEnvironment

pytest_plugins = ["tests.gateway.gateway_fixtures"]

TOUR = Path(__file__).with_name("genuine_tour.py")
SUM = [list(range(1, 17)), list(range(-1, 15))]

#: The genuine client cannot run these: it sends bytes in object arrays as their repr
#: (docs/v1-behaviour.md §3.6), and release 1.11 no longer has the asynchronous API of 1.7
#: (docs/v1-behaviour.md §2.2).
_WORKS_ONLY_HERE = {"string_client.py", "request_id_client.py"}
DEMO = [
    pytest.param(program, protocol, id=f"{program.script}{'_'.join(program.options)}-{protocol}")
    for program in PROGRAMS
    if program.script not in _WORKS_ONLY_HERE
    for protocol in program.protocols
]


@pytest.fixture(
    scope="module",
    params=[
        ("gateway", "http"),
        ("gateway", "grpc"),
        ("nameless_gateway", "http"),
    ],
    ids=["http", "grpc", "http-tritons-id"],
)
def seen(request: pytest.FixtureRequest, oracle: OracleEnvironment) -> Any:
    """What one run of the tour through a gateway has seen, and its protocol."""
    fixture, protocol = request.param
    gateway: Gateway = request.getfixturevalue(fixture)
    done = oracle.run(TOUR, protocol, getattr(gateway, protocol))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    found["protocol"] = protocol
    found["server"] = "triton" if fixture == "nameless_gateway" else "inference:0"
    # v1's HTTP client prints bodies of health and model control: they are empty
    # (docs/v1-behaviour.md §6.1)
    assert done.stdout.strip().count("\n") == 0
    return found


def values(result: dict[str, Any]) -> dict[str, Any]:
    """A result of plain lists, without dtypes and shapes."""
    return {name: [entry[2] for entry in entries] for name, entries in result.items()}


def test_inference(seen: Any) -> None:
    """Results, their order, batches and the getters (docs/v1-behaviour.md §4)."""
    found = seen["inference"]
    assert found["one"]["OUTPUT0"][0][:2] == ["int32", [16]]
    assert values(found["one"]) == {"OUTPUT0": [SUM[0]], "OUTPUT1": [SUM[1]]}
    assert list(found["batch"]) == ["OUTPUT1", "OUTPUT0"]
    assert found["batch"]["OUTPUT0"][1][2] == [2] * 16
    assert found["getters"] == ["simple", 1]
    assert seen["versions"][1::2] == [3, 1, 2]
    assert seen["large"] is True


def test_classes(seen: Any) -> None:
    """Classes with labels, '' where there is none, and more than a header line can hold."""
    assert seen["classes"]["OUTPUT"][0] == [
        [1, 0.8999999761581421, "l1"],
        [3, 0.800000011920929, "a:b c"],
        [7, 0.699999988079071, ""],
    ]
    assert seen["thousand_classes"] == [8, 1000, [999, 999.0, "l999"], [0, 0.0, "l0"]]


def test_strings(seen: Any) -> None:
    """String tensors, also one of no elements (docs/v1-behaviour.md §3.6)."""
    assert values(seen["strings"])["OUTPUT0"] == [[str(n) for n in range(1, 17)]]
    assert seen["zero_size"] == {"OUTPUT0": [["object", [0], []]]}


def test_callbacks_and_streams(seen: Any) -> None:
    """Asynchronous requests, over a stream as well; a refusal leaves the stream usable."""
    # docs/v1-behaviour.md §5
    streams = 2 if seen["protocol"] == "grpc" else 1
    assert seen["callbacks"] == [list(range(1, 9))] * streams
    good, bad, after = seen["refused_in_stream"]
    assert bad["message"] == "the model refused value 7" and bad["server"] == seen["server"]
    assert good == after == {"OUTPUT0": [["float32", [1], [0.0]]]}
    sums = [entry[2] for entries in seen["sequence"] for entry in entries]
    assert sums == [[3], [7], [12]] * streams


REFUSALS = {
    "unknown model": "no status available for unknown model 'nope'",
    "unknown version": "Request for unknown model: 'simple' version 7 is not found",
    "no id": "inference request to model 'sequence_sum' must specify a non-zero correlation ID",
    "no start": "inference request for sequence 5 to model 'sequence_sum' must specify the START "
    "flag on the first request of the sequence",
    "classes of strings": "class result not available for output 'OUTPUT0' due to unsupported "
    "type 'TYPE_STRING'",
    "shape": "unexpected shape for input 'INPUT0' for model 'simple'. Expected [16], got [4,4]",
    "load unknown": "failed to load 'nope', no version is available",
    "region twice": "shared memory region 'tour_twice' already in manager",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(seen: Any, name: str) -> None:
    """v1's texts, the server's id and a positive request id (docs/v1-behaviour.md §1.6, §3.4)."""
    refusal = seen["refusals"][name]
    assert (refusal["message"], refusal["server"]) == (REFUSALS[name], seen["server"])
    assert refusal["id"] > 0


def test_status_and_control(seen: Any) -> None:
    """Health, status, index, load and unload (docs/v1-behaviour.md §6)."""
    assert seen["health"] == [True, True, 0]
    status = seen["status"]
    assert (status["id"], status["ready_state"], status["one"]) == (seen["server"], 2, ["simple"])
    assert status["inputs"] == [["INPUT0", 8, [16]], ["INPUT1", 8, [16]]]
    assert status["versions"] == {"1": 1} and {"simple", "classify"} <= set(status["models"])
    assert {"simple", "spare", "broken"} <= set(seen["repository"])
    none, last_id, loaded, *unloaded = seen["model_control"]
    assert [none, last_id, *unloaded] == [None, 0, None, None]
    assert values(loaded) == {"OUTPUT0": [[1.0]]}


def test_shared_memory(seen: Any) -> None:
    """Regions for inputs and outputs, and the list of them (docs/v1-behaviour.md §6.5, §9.2)."""
    found = seen["shared_memory"]
    assert found["regions"] == [[f"tour_{n}", f"/tour_{n}", 64] for n in ("in0", "in1", "out0")]
    assert values(found["result"]) == {"OUTPUT0": [SUM[0]], "OUTPUT1": [SUM[1]]}
    assert found["left"] == 0


@pytest.mark.parametrize(("program", "protocol"), DEMO)
def test_demo(gateway: Gateway, oracle: OracleEnvironment, program: Program, protocol: str) -> None:
    """The demo's programs print the same with the genuine client as with the facade."""
    script = ROOT / "demo" / "legacy" / program.script
    url = getattr(gateway, protocol)
    done = oracle.run(script, "-u", url, "-i", protocol, *program.options)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in (*program.expected, "PASS"):
        assert text in done.stdout

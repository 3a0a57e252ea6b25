"""Every inference of the scenarios, made twice on one context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed import TritonServer
from tests.conftest import StartTriton
from tests.equivalence import sides
from tests.generation_marks import not_on

#: docs/servers.md
pytestmark = not_on("2.33", "ends at regions that are too small, and at unknown models of a stream")
#: Scenarios whose inferences are made twice: without models that keep a state or are loaded.
FILES = (
    "classes", "datatypes", "inputs", "options", "outputs", "refusals",
    "shared_memory", "strings",
)  # fmt: skip
GENERATED = [f"generated.{seed}" for seed in range(30)]
REPEATED = [
    *[pytest.param(file, protocol) for protocol in sides.PROTOCOLS for file in FILES],
    pytest.param("streaming", "grpc"),
]
#: Scenarios that are played twice, since each request changes the model.
SEQUENCES = [name for name in sides.scenarios("sequences") if not name.endswith(".pipelined")]
LOADING = ["loading.load_and_unload", "loading.unloaded"]
#: The mark of the second call's steps: see tests/equivalence/program/repeating.py.
AGAIN = "again: "


def pairs_of(steps: Any) -> list[tuple[str, Any, Any]]:
    """Return label, first and second outcome of everything that was observed twice."""
    latest: dict[str, Any] = {}
    pairs = []
    for label, outcome in steps:
        if label.startswith(AGAIN):
            name = label[len(AGAIN) :]
            pairs.append((name, latest[name], outcome))
        else:
            latest[label] = outcome
    return pairs


def check(
    server: TritonServer, folder: Path, protocol: str, names: list[str], program: str
) -> None:
    """Check that whatever a program observes twice is equal."""
    side = sides.facade(server)
    observed = side.run(folder, protocol, names, sides.token(), program=program)
    pairs = [pair for steps in observed.values() for pair in pairs_of(steps)]
    assert pairs, observed
    assert [pair for pair in pairs if pair[1] != pair[2]] == []


@pytest.mark.parametrize(("file", "protocol"), REPEATED)
def test_second_calls(triton: TritonServer, tmp_path: Path, file: str, protocol: str) -> None:
    """A second equal call has the results, or the error, of the first one."""
    check(triton, tmp_path, protocol, sides.scenarios(file), "repeating.py")


@pytest.mark.parametrize("protocol", sides.PROTOCOLS)
def test_second_calls_of_random_programs(
    triton: TritonServer, tmp_path: Path, protocol: str
) -> None:
    """A second equal call after random other calls has the outcome of the first one."""
    check(triton, tmp_path, protocol, GENERATED, "repeating.py")


@pytest.mark.parametrize("protocol", sides.PROTOCOLS)
def test_second_sequences(triton: TritonServer, tmp_path: Path, protocol: str) -> None:
    """A sequence that is sent a second time on its context has the results of the first time."""
    check(triton, tmp_path, protocol, SEQUENCES, "replaying.py")


@pytest.mark.parametrize("protocol", sides.PROTOCOLS)
def test_second_calls_of_loaded_models(
    start_triton: StartTriton, tmp_path: Path, protocol: str
) -> None:
    """A second equal call has the outcome of the first one, after each load and unload."""
    check(start_triton(models=["simple"]), tmp_path, protocol, LOADING, "repeating.py")

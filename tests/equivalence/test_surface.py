"""Compare names, signatures and messages with those of the genuine wheel
(docs/v1-behaviour.md §1, §2, §8.1).
"""

from __future__ import annotations

import ctypes
import json
import subprocess
from typing import Any

import pytest

from tests.equivalence import sides
from tests.gateway.oracle import OracleEnvironment

#: Names of other releases: 1.9 had the strings in the shared-memory modules, 1.12 the rest.
OTHER_RELEASES = {
    "tensorrtserver.api": {"model__config__pb2", "text_format"},
    "tensorrtserver.shared_memory": {"serialize_string_tensor"},
    "tensorrtserver.cuda_shared_memory": {"serialize_string_tensor"},
    "tensorrtserver.api.api_pb2": {"model__config__pb2"},
    "tensorrtserver.api.model_config_pb2": {"ModelQueuePolicy"},
}
#: Additions of 1.12 and 1.13: message → fields, or "message" for all of it
#: (docs/v1-behaviour.md §8.1).
LATER_FIELDS = {
    "api.InferRequestHeader": {"priority", "timeout_microseconds"},
    "api.InferResponseHeader.Output": {"data_type"},
    "model_config.ModelDynamicBatching": {
        "priority_levels",
        "default_priority_level",
        "default_queue_policy",
        "priority_queue_policy",
    },
    "model_config.ModelDynamicBatching.PriorityQueuePolicyEntry": {"message", "key", "value"},
    "model_config.ModelQueuePolicy": {
        "message",
        "timeout_action",
        "default_timeout_microseconds",
        "allow_timeout_override",
        "max_queue_size",
    },
    "model_config.ModelQueuePolicy.TimeoutAction": {"REJECT", "DELAY"},
    "server_status.InferRequestStats": {"compute_input", "compute_infer", "compute_output"},
}
#: Methods of other releases.
OTHER_METHODS = {("InferContext", "async_run_with_cb"), ("InferContext", "get_ready_async_request")}
#: Methods of tritonclient's exception, our exception's base class.
FROM_TRITONCLIENT = {
    ("InferenceServerException", "status"),
    ("InferenceServerException", "debug_details"),
}


def output_of(script: str, python: str, variables: Any) -> Any:
    """Return the output of a script of the folder ``program``, parsed as JSON."""
    command = [python, str(sides.PROGRAM / script)]
    done = subprocess.run(command, env=dict(variables), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def both(oracle: OracleEnvironment) -> Any:
    """Return a function that runs a script on both sides and returns both outputs."""
    theirs, ours = (oracle.python, oracle.variables()), sides.here()
    return lambda script: (output_of(script, *theirs), output_of(script, *ours))


def test_messages(both: Any) -> None:
    """Fields, enum values and rpcs are those of the genuine client, and of 1.12 and 1.13."""
    genuine, ours = ({json.dumps(row) for row in rows} for rows in both("descriptors.py"))
    assert not genuine - ours
    more: dict[str, set[str]] = {}
    for row in map(json.loads, ours - genuine):
        more.setdefault(row[0], set()).add(row[1])
    assert more == LATER_FIELDS


def test_names(both: Any) -> None:
    """``from module import *`` binds v1's names only."""
    genuine, ours = (item["names"] for item in both("surface.py"))
    assert set(genuine) == set(ours)
    shown_by_ctypes = {name for name in dir(ctypes) if not name.startswith("_")}
    for module, names in genuine.items():
        assert set(names) - set(ours[module]) <= shown_by_ctypes, module
        extra = set(ours[module]) - set(names) - shown_by_ctypes
        assert extra == OTHER_RELEASES.get(module, set()), module


def test_signatures(both: Any) -> None:
    """Parameters have v1's names, places and defaults; added ones come last, with defaults."""
    genuine, ours = (item["calls"] for item in both("surface.py"))
    assert "run" in genuine["tensorrtserver.api"]["InferContext"]
    for module, calls in genuine.items():
        for name, methods in calls.items():
            for method, parameters in methods.items():
                result = ours[module][name][method]
                assert result[: len(parameters)] == parameters, (name, method)
                assert all(default is not None for _, default in result[len(parameters) :])


def test_no_methods_of_our_own(both: Any) -> None:
    """Classes and modules have only the calls of v1's releases and of tritonclient's exception."""
    genuine, ours = (item["calls"] for item in both("surface.py"))
    more = set()
    for module, calls in ours.items():
        assert set(calls) - set(genuine[module]) <= OTHER_RELEASES.get(module, set())
        for name in set(calls) & set(genuine[module]):
            more |= {(name, item) for item in set(calls[name]) - set(genuine[module][name])}
    assert more == OTHER_METHODS | FROM_TRITONCLIENT

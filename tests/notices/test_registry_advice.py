"""Each name of tritonclient's in the registry's advice exists, checked by import."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Iterator

import grpc
import pytest
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils

from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.registry.entry import REMOVED, RegistryEntry

MODULES = {"grpc": tritonclient.grpc, "http": tritonclient.http}
#: The class of each object in the advice.
RECEIVERS = {
    "client": "InferenceServerClient",
    "result": "InferResult",
    "infer_input": "InferInput",
    "requested_output": "InferRequestedOutput",
}
#: Roots of dotted names outside tritonclient, and words for the user's own values.
OTHERS = frozenset({"time", "queue", "array", "ctypes", "gRPC"})
_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=(\()?)")
ADVISED = [
    pytest.param(entry, protocol, id=f"{entry.id}-{protocol}")
    for entry in ENTRIES.values()
    for protocol in MODULES
    if entry.kind != REMOVED
]


def names(advice: str) -> Iterator[str]:
    """Yield the words of an advice that look like code: dotted, called, or in mixed case."""
    advice = re.sub(r" as \w+|'[^']*'", "", advice)
    for result in _WORD.finditer(advice):
        word = result.group()
        if result.group(1) or re.search(r"[._]|[a-z][A-Z]|[A-Z]{2}[a-z]", word):
            yield word


def exists(name: str, module: ModuleType) -> bool:
    """True for an object of tritonclient's, or a parameter of one that users call."""
    root, _, rest = name.partition(".")
    if root == "tritonclient":
        return _is_imported(name)
    if root == "grpc":
        return hasattr(grpc, rest)
    if root in RECEIVERS and rest:
        return hasattr(getattr(module, RECEIVERS[root]), rest)
    return root in OTHERS or any(
        hasattr(item, name) or name in _parameters(item) for item in _all(module)
    )


def _is_imported(name: str) -> bool:
    """True for a module or its member. Read the source if a module needs CUDA to load."""
    module, _, member = name.rpartition(".")
    if name in sys.modules or find_spec(module) is None:
        return name in sys.modules
    try:
        return hasattr(importlib.import_module(module), member) or find_spec(name) is not None
    except (ImportError, RuntimeError):
        source = Path(str(find_spec(module).origin)).read_text("utf-8")  # type: ignore[union-attr]
        kinds = (ast.FunctionDef, ast.ClassDef, ast.alias)
        return member in {
            item.name for item in ast.walk(ast.parse(source)) if isinstance(item, kinds)
        }


def _all(module: ModuleType) -> list[Any]:
    """Return the owners of a bare name: modules, and the classes and the stub that users call."""
    stub = tritonclient.grpc.service_pb2_grpc.GRPCInferenceServiceStub(_channel())
    classes = [getattr(module, name) for name in RECEIVERS.values()]
    requests = [tritonclient.http.InferAsyncRequest] if module is tritonclient.http else []
    services = [tritonclient.grpc.service_pb2_grpc, stub] if module is tritonclient.grpc else []
    return [module, tritonclient.utils, builtins, *classes, *requests, *services]


def _channel() -> grpc.Channel:
    return grpc.insecure_channel("localhost:1")


def _parameters(owner: Any) -> set[str]:
    if not inspect.isclass(owner):
        return set()
    methods = [method for _, method in inspect.getmembers(owner, inspect.isfunction)]
    return {name for method in methods for name in inspect.signature(method).parameters}


@pytest.mark.parametrize(("entry", "protocol"), ADVISED)
def test_every_name_of_the_advice_exists(entry: RegistryEntry, protocol: str) -> None:
    """Each advised name exists in tritonclient on its protocol."""
    advice = getattr(entry, protocol)
    assert not [name for name in names(advice) if not exists(name, MODULES[protocol])], advice
    stub = tritonclient.grpc.service_pb2_grpc.GRPCInferenceServiceStub(_channel())
    for rpcs in re.findall(r"Stub\(channel\)\.(\w+(?:, \w+)*)", advice):
        assert not [name for name in rpcs.split(", ") if not hasattr(stub, name)], advice


@pytest.mark.parametrize("id", [f"TS{number:03}" for number in range(73, 81)])
def test_an_rpc_has_a_successor_of_its_own_over_http(id: str) -> None:
    """Over HTTP each rpc of v1's stub has a method of the client, or none at all."""
    advice = ENTRIES[id].http
    assert advice.startswith(("client.", "nothing: "))

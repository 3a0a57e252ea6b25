"""The registry of legacy symbols is complete, unambiguous and used."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any, Iterator

import pytest

import tensorrtserver
import tensorrtserver.api as api
import tritonclient_shim
from tensorrtserver import cuda_shared_memory, shared_memory
from tritonclient_shim.protos.grpc_service_pb2_grpc import RETIRED_RPCS, RPCS
from tritonclient_shim.registry import BY_SYMBOL, ENTRIES, patterns, symbols
from tritonclient_shim.registry import entry as entries
from tritonclient_shim.registry.star_names import STAR_NAMES

FOLDERS = [Path(str(item.__file__)).parent for item in (tensorrtserver, tritonclient_shim)]
_STUB = "tensorrtserver.api.grpc_service_pb2_grpc"

#: Public names without an entry, and the reason.
EXEMPT: dict[str, str] = {
    "tensorrtserver.api.tensorrtserver": "the package itself, bound by its own import",
    "tensorrtserver.api.text_format": "protobuf's own module, bound by its own import",
    "tensorrtserver.api.DESCRIPTOR": "protobuf's own description of api.proto; goes with TS005",
    "tensorrtserver.api.model__config__pb2": "another name of model_config_pb2 (TS003)",
    "tensorrtserver.api.InferContext.close": "the client has close() as well",
    "tensorrtserver.api.InferContext.ResultFormat": "only its two members are ever used",
    "tensorrtserver.api.ServerHealthContext.close": "the client has close() as well",
    "tensorrtserver.api.ServerStatusContext.close": "the client has close() as well",
    "tensorrtserver.api.ModelRepositoryContext.close": "the client has close() as well",
    "tensorrtserver.api.ModelControlContext.close": "the client has close() as well",
    "tensorrtserver.api.SharedMemoryControlContext.close": "the client has close() as well",
    **{
        f"tensorrtserver.api.{name}.get_last_request_id": "as ServerStatusContext's, TS046"
        for name in (
            "ServerHealthContext",
            "ModelRepositoryContext",
            "ModelControlContext",
            "SharedMemoryControlContext",
        )
    },
    "tensorrtserver.api.InferenceServerException.message": "the successor has message() as well",
    "tensorrtserver.api.InferenceServerException.status": "tritonclient's own",
    "tensorrtserver.api.InferenceServerException.debug_details": "tritonclient's own",
    "tensorrtserver.api.grpc_service_pb2_grpc.GRPCServiceServicer": "for servers; part of TS008",
    "tensorrtserver.api.grpc_service_pb2_grpc.add_GRPCServiceServicer_to_server": (
        "for servers; part of TS008"
    ),
}


def public_names() -> Iterator[str]:
    """Return every facade name that v1 had, dotted: modules, functions, classes, members."""
    for module, others in (
        (api, api._NAMES),
        (shared_memory, STAR_NAMES),
        (cuda_shared_memory, STAR_NAMES),
    ):
        for name in set(module.__all__) - set(others):
            yield f"{module.__name__}.{name}"
            yield from members(f"{module.__name__}.{name}", getattr(module, name))
    for name in ("api_pb2", "model_config_pb2", "server_status_pb2", "request_status_pb2"):
        yield f"tensorrtserver.api.{name}"
    yield from ("tensorrtserver.api.grpc_service_pb2", _STUB, f"{_STUB}.GRPCServiceStub")
    for name in ("GRPCServiceServicer", "add_GRPCServiceServicer_to_server"):
        yield f"{_STUB}.{name}"
    yield from (f"{_STUB}.GRPCServiceStub.{name}" for name in (*RPCS, *RETIRED_RPCS))


def members(dotted: str, owner: Any) -> Iterator[str]:
    """Return public methods and constants of a class; none of messages and enums."""
    if not inspect.isclass(owner) or not owner.__module__.startswith("tensorrtserver.api"):
        return
    if hasattr(owner, "DESCRIPTOR"):
        return
    ours = [base for base in owner.__mro__ if base.__module__.startswith(("tensor", "triton"))]
    for name in {name for base in ours for name in vars(base)}:
        if not name.startswith("_") and not isinstance(getattr(owner, name), int):
            yield f"{dotted}.{name}"
    nested = getattr(owner, "ResultFormat", None)
    if nested is not None:
        yield from (f"{dotted}.ResultFormat.{name}" for name in ("RAW", "CLASS"))


def test_every_public_name_has_an_entry_or_a_reason() -> None:
    """No public name of the star import, the shm modules or the stub is missing."""
    names = set(public_names())
    assert {"tensorrtserver.api.InferContext.run", f"{_STUB}.GRPCServiceStub.Infer"} <= names
    assert not names - set(BY_SYMBOL) - set(EXEMPT)


def test_symbols_exist() -> None:
    """Every symbol of the registry is a name of the facade."""
    known = set(public_names())
    symbols = {item.symbol for item in ENTRIES.values() if item.kind == entries.SYMBOL}
    assert {symbol.partition(" (")[0] for symbol in symbols} <= known


def test_ids_and_symbols_are_unique() -> None:
    """An id is TS and three digits. No id and no symbol appears twice."""
    assert all(re.fullmatch(r"TS\d{3}", id) for id in ENTRIES)
    assert len(BY_SYMBOL) == len(ENTRIES)
    assert len(patterns.ENTRIES) + len(symbols.ENTRIES) == len(ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.id)
def test_entry_is_filled(entry: entries.RegistryEntry) -> None:
    """Each entry has successors on both protocols, a release, and a known kind."""
    assert entry.grpc and entry.http and entry.since and entry.heading
    assert entry.kind in (entries.SYMBOL, entries.ARGUMENT, entries.IMPORT, entries.REMOVED)
    assert not entry.counted or entry.kind == entries.SYMBOL


def used_ids() -> set[str]:
    """Return the ids that the facade and the stub pass to the notices."""
    result = set()
    for path in (item for folder in FOLDERS for item in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            result |= set(_ids(node))
    return result


def _ids(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_notice_id":
        yield node.value.value  # type: ignore[attr-defined]
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("used", "UnaryRpc", "InferRpc"):
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))  # type: ignore[misc]


def test_counted_symbols_are_those_that_the_facade_notices() -> None:
    """Each callable's notice has its id, and nothing else sends a notice."""
    used = {id for id in used_ids() if isinstance(id, str) and re.fullmatch(r"TS\d{3}", id)}
    assert used == {id for id, entry in ENTRIES.items() if entry.counted}


COUNTED = [e for e in ENTRIES.values() if e.counted and f"{_STUB}.GRPCServiceStub." not in e.symbol]


@pytest.mark.parametrize("entry", COUNTED, ids=lambda entry: entry.id)
def test_docstring_says_what_replaces_it(entry: entries.RegistryEntry) -> None:
    """The docstring of each public symbol has its id, successor and command of the guide."""
    symbol = entry.symbol.partition(" (")[0]
    text = " ".join((_object(symbol).__doc__ or "").split())
    assert f"[{entry.id}]" in text
    assert f"``{entry.guide}``" in text
    assert " ".join(entry.grpc.split()) in text


def _object(dotted: str) -> Any:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            result: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for name in parts[cut:]:
            result = getattr(result, name)
        return result
    raise AssertionError(dotted)

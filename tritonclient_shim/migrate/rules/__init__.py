"""The rules: a legacy use and what is known of its file → what it becomes.

``METHODS`` are for methods of contexts, ``FORMATS`` for constants in requests, ``PROTOCOLS`` for
the choice of a protocol, and ``LOOSE`` for what hangs on no object, by id. A rule raises
:class:`~tritonclient_shim.migrate.decisions.Refused`, or returns a
:class:`~tritonclient_shim.migrate.decisions.Plan`, a value. Its edits are made when everything that
it belongs to can be rewritten.
"""

from __future__ import annotations

import ast
from typing import Callable, Iterable, Mapping

from tritonclient_shim.migrate.decisions import (
    NOT_SELECTED,
    Plan,
    Refused,
    refuse_unless_allowed,
)
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.rules import infer, memory, names, status, stub
from tritonclient_shim.migrate.rules.models import Rule
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.imports import API

#: Class of a context → the id of its constructor.
CREATIONS = {
    f"{API}.ServerHealthContext": "TS020",
    f"{API}.ServerStatusContext": "TS025",
    f"{API}.ModelRepositoryContext": "TS030",
    f"{API}.ModelControlContext": "TS035",
    f"{API}.SharedMemoryControlContext": "TS040",
    f"{API}.InferContext": "TS050",
}
#: Methods that only get another name; they may be handed on.
RENAMED = frozenset(("TS021", "TS022", "TS036", "TS037"))
METHODS: Mapping[str, Rule] = {
    "TS021": status.renamed("is_server_live"),
    "TS022": status.renamed("is_server_ready"),
    "TS026": status.status,
    "TS036": status.renamed("load_model"),
    "TS037": status.renamed("unload_model"),
    "TS041": memory.of_region(
        "{0}.register_system_shared_memory({1}.name, {1}.key, {1}.byte_size)"
    ),
    "TS042": memory.of_region(
        "{0}.register_cuda_shared_memory({1}.name, {1}.key, {1}.device_id, {1}.byte_size)"
    ),
    "TS043": memory.of_region("{unregister_region}({0}, {1})"),
    "TS044": memory.of_region("{unregister_region}({0})"),
    "TS045": memory.status,
    "TS051": infer.run,
    **dict.fromkeys(("TS052", "TS053", "TS054"), infer.start),
    "TS055": infer.results,
    "TS057": status.asked(UnsafeChange.TIMES),
    "TS058": status.correlation_id,
    "TS059": status.asked(UnsafeChange.REQUEST_NUMBERS),
    "TS060": status.asked(),
    "TS061": status.asked(),
}
#: What the author does instead of what no rule rewrites.
BY_HAND: Mapping[str, str] = {
    **dict.fromkeys(stub.ALL, stub.BY_HAND),
    "TS031": "call client.get_model_repository_index(): it returns a row for each version",
    "TS056": "call concurrent.futures.wait(futures): get_ready_async_request() has no successor",
    "TS046": names.UNNUMBERED,
}
_NodeRule = Callable[[ast.AST, FileFacts], Plan]
FORMATS: Mapping[str, _NodeRule] = {
    **dict.fromkeys(names.FORMS, names.output_format),
    "TS066": names.flag,
}
PROTOCOLS: Mapping[str, _NodeRule] = {"TS010": names.protocol, "TS011": names.protocol_from_text}
MEMORY: Mapping[str, _NodeRule] = {
    "TS081": memory.by_helper("create_region"),
    "TS086": memory.by_helper("create_cuda_region"),
    **dict.fromkeys(("TS082", "TS083", "TS087", "TS088"), memory.of_handle),
    **dict.fromkeys(("TS085", "TS090"), memory.exception),
}
LOOSE: Mapping[str, _NodeRule] = {
    **dict.fromkeys(("TS004", "TS006"), status.state),
    "TS015": names.exception,
    **dict.fromkeys(("TS016", "TS017"), names.error_id),
    "TS065": memory.by_helper("serialize_strings"),
    **dict.fromkeys(("TS084", "TS089"), memory.serialized),
    "TS201": names.numpy_name,
    "TS203": names.future_name,
}
#: Ids of imports. They are decided after everything else.
IMPORTS = frozenset(f"TS00{number}" for number in range(1, 10))
_ARGUMENTS = frozenset(f"TS{number}" for number in (*range(101, 107), *range(109, 117)))
#: Every id with uses that are rewritten; imports go with what they import, arguments with calls.
#: ``scripts/guide`` writes them into the guide.
REWRITTEN = frozenset(
    (*CREATIONS.values(), *METHODS, *FORMATS, *PROTOCOLS, *MEMORY, *LOOSE)
    + (*IMPORTS, *_ARGUMENTS, *stub.CALLS)
) - {"TS030"}  # its only method is left


def planned(
    rule: Callable[..., Plan],
    node: ast.AST,
    facts: FileFacts,
    *more: object,
    ids: Iterable[str] = (),
) -> Plan:
    """Return the plan of a rule for a node. Refuse what the options leave out, and f-strings."""
    if not facts.options.selects(*ids):
        raise Refused(NOT_SELECTED, by_option=True)
    plan = rule(node, facts, *more)
    if any(isinstance(parent, ast.JoinedStr) for parent in facts.flows.around(node)):
        raise Refused("give it a statement of its own, outside of the f-string")
    refuse_unless_allowed(plan.unsafe, facts.options)
    return plan

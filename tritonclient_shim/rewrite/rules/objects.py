"""TS051 to TS061 of objects that know their models: the methods have their old names."""

from __future__ import annotations

import ast
from typing import Iterable

from tritonclient_shim.migrate.patterns import PARAMETERS, arguments
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.infer import check_forms
from tritonclient_shim.rewrite.rules.last_requests import UNMEASURED, UNNUMBERED
from tritonclient_shim.rewrite.rules.plan import Plan

_REQUESTS = frozenset({"TS051", "TS052", "TS053", "TS054"})
_UNSAFE = {"get_stat": UNMEASURED, "get_last_request_id": UNNUMBERED}


def of_object(call: ast.Call, draft: Draft) -> Plan:
    """Leave a call of a method as it is."""
    name = getattr(call.func, "attr", "")
    if name.startswith("__") and name not in ("__enter__", "__exit__"):
        raise Refused(f"no object has a method {name}")
    ids = {site.id for site in draft.sites if site.call is call}
    arguments = {key: value for id in ids & _REQUESTS for key, value in _given(id, call)}
    if ids & {"TS114", "TS115"} and not draft.memory:
        raise Refused("an input or output is in shared memory, which stays")
    if "outputs" in arguments:
        check_forms(arguments["outputs"], draft)
    return Plan(lambda: None, f"{name} of {draft.object_class}", _UNSAFE.get(name, ""))


def _given(id: str, call: ast.Call) -> Iterable[tuple[str, ast.expr]]:
    return arguments(PARAMETERS[id], call).items()

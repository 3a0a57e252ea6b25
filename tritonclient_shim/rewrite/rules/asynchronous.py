"""TS052 to TS056, TS116: asynchronous requests → numbered Futures, which the file keeps."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import call_text, given, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.infer import check_forms, request
from tritonclient_shim.rewrite.rules.methods import Rule
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan


def start(id: str) -> Rule:
    """Return the rule for a method that starts a request: with a callback first, or without."""
    names = PARAMETERS[id]

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None
        arguments = given(names, call)
        if "inputs" not in arguments or "outputs" not in arguments:
            raise Refused("expected inputs and outputs")
        if {"TS114", "TS115"} & {site.id for site in draft.sites if site.call is call}:
            raise Refused("an input or output is in shared memory")
        check_forms(arguments["outputs"], draft)
        return Plan(
            lambda: request("start_run", names, arguments, call, draft, carried),
            "start_run(client, …)",
        )

    return rule


def _of_client(function: str, names: tuple[str, ...]) -> Rule:
    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None and isinstance(call.func, ast.Attribute)
        given(names, call)

        def carry_out() -> None:
            draft.need(function)
            draft.change(
                call,
                lambda old: call_text(
                    draft.edits,
                    call,
                    draft.called(function),
                    names,
                    [draft.new(owner(call))],
                    dict.fromkeys(names, ""),
                ),
            )

        return Plan(carry_out, f"{function}(client, …)")

    return rule


results = _of_client("run_results", PARAMETERS["TS055"])
ready = _of_client("ready_request", ("wait",))

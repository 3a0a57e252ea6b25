"""TS051 (and TS109 to TS113): ``InferContext.run`` → a request through the client."""

from __future__ import annotations

import ast
from typing import Mapping

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import NewArgument, call_text, given, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules import literal
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import one_protocol


def run(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """Return a synchronous request."""
    assert carried is not None
    names = PARAMETERS["TS051"]
    arguments = given(names, call)
    if "inputs" not in arguments or "outputs" not in arguments:
        raise Refused("expected inputs and outputs")
    patterns = {site.id for site in draft.sites if site.call is call}
    if patterns & {"TS114", "TS115"} and not draft.memory:
        raise Refused("an input or output is in shared memory, which stays")

    check_forms(arguments["outputs"], draft)
    if not patterns & {"TS114", "TS115"}:
        _check_batch(arguments, draft)
    if not draft.keeps_forms:
        known = literal.plan(call, arguments, _module(carried, draft), draft, carried)
        if known is not None:
            return known

    function = "run_in_regions" if _has_regions(call, arguments, draft) else "run_model"

    def carry_out() -> None:
        request(function, names, arguments, call, draft, carried)

    return Plan(carry_out, f"{function}(client, model_name, inputs, outputs)")


def _has_regions(call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft) -> bool:
    """True if an input or output may be in shared memory."""
    ids = {site.id for site in draft.sites if site.call is call}
    hidden = not all(isinstance(arguments[name], ast.Dict) for name in ("inputs", "outputs"))
    regions = draft.memory and any(site.id == "TS081" for site in draft.sites)
    return bool(ids & {"TS114", "TS115"}) or hidden and regions


def check_forms(outputs: ast.expr, draft: Draft) -> None:
    """Refuse outputs that may be asked for as CLASS, in a file where a use of CLASS stays."""
    classes = any(site.id == "TS063" for site in draft.sites)
    forms = outputs.values if isinstance(outputs, ast.Dict) else [outputs]
    if classes and not draft.options.unsafe and not all(map(_is_form, forms)):
        raise Refused("an output may be asked for as CLASS, which stays", by_option=True)


def _check_batch(arguments: Mapping[str, ast.expr], draft: Draft) -> None:
    """Refuse a batch size that v1 refused: a request has the batch size of its inputs now."""
    inputs, size = arguments["inputs"], draft.constant(arguments.get("batch_size", ast.Constant(1)))
    rows = inputs.values if isinstance(inputs, ast.Dict) else []
    lengths = {
        len(item.elts)
        for item in rows
        if isinstance(item, (ast.List, ast.Tuple))
        and not any(isinstance(row, ast.Starred) for row in item.elts)
    }
    if isinstance(size, int) and lengths - {size}:
        raise Refused(f"v1 refused it: batch_size is {size}, and an input has other arrays")


def _is_form(node: ast.expr) -> bool:
    """True if an output's form is written out, such that the rule for it decides."""
    if isinstance(node, ast.Tuple) and node.elts:
        node = node.elts[0]
    return isinstance(node, ast.Attribute) and node.attr in ("RAW", "CLASS")


def _module(carried: Carried, draft: Draft) -> str:
    arguments = (given(PARAMETERS["TS050"], call) for call in carried.group.creations)
    return one_protocol(arguments, draft)


def request(
    function: str,
    names: tuple[str, ...],
    arguments: Mapping[str, ast.expr],
    call: ast.Call,
    draft: Draft,
    carried: Carried,
) -> None:
    """Call a helper in the place of a request's method."""
    draft.need(function)
    kept = {"inputs": "", "outputs": "", "priority": "priority", "timeout_us": "timeout"}
    if function == "run_in_regions":
        kept["batch_size"] = "batch_size"
    kept.update({"callback": ""} if "callback" in names else {})
    before: list[NewArgument] = [lambda: draft.new(owner(call)), carried.name()]
    if function == "start_run" and "callback" not in arguments:
        before.append("None")
    after: list[NewArgument] = [f"{key}={value}" for key, value in carried.options().items()]
    shared = draft.keeps_shared_forms and not isinstance(arguments["outputs"], ast.Dict)
    if draft.keeps_forms or shared:
        del kept["outputs"]
        draft.need("class_counts")
        counts = draft.called("class_counts")
        after.insert(0, lambda: f"outputs={counts}({draft.new(arguments['outputs'])})")
    helper = draft.called(function)
    draft.change(call, lambda old: call_text(draft.edits, call, helper, names, before, kept, after))

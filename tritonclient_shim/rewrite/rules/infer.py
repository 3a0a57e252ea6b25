"""TS051 to TS056 (and TS109 to TS113, TS116): requests → requests through the client.

``InferContext.run`` becomes a call of a function of the file, or lines of tritonclient.
Asynchronous requests become numbered Futures, which the file keeps.
"""

from __future__ import annotations

import ast
from typing import Any, Mapping, Sequence

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import NewArgument, call_arguments, call_text, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.methods import Rule
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import one_protocol

_UNSAFE = "an array of another datatype than the model's is refused, and results can be read only"


def run(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """Return a synchronous request."""
    assert carried is not None
    names = PARAMETERS["TS051"]
    arguments = call_arguments(names, call)
    if "inputs" not in arguments or "outputs" not in arguments:
        raise Refused("expected inputs and outputs")
    patterns = {site.id for site in draft.sites if site.call is call}
    check_forms(arguments["outputs"], draft)
    if not patterns & {"TS114", "TS115"}:
        _check_batch(arguments, draft)
    if not draft.keeps_forms:
        known = _literal_plan(call, arguments, _module(carried, draft), draft, carried)
        if known is not None:
            return known

    plain = _function(arguments["outputs"], draft)
    function = "infer_in_regions" if _has_regions(call, arguments, draft) else plain

    def carry_out() -> None:
        request(function if draft.memory else plain, names, arguments, call, draft, carried)

    return Plan(carry_out, f"{function}(client, model_name, inputs, outputs)")


def _function(outputs: ast.expr, draft: Draft) -> str:
    """Return the helper of a request: with classes, for all that v1 accepted, or plain."""
    forms = [draft.text(node) for node in getattr(outputs, "values", ())]
    is_plain = isinstance(outputs, ast.Dict) and all(text.endswith(".RAW") for text in forms)
    if not draft.options.unsafe:
        return "infer_exactly"  # no output has classes: those are unsafe
    has_classes = any(site.id == "TS063" for site in draft.sites) and not is_plain
    keeps_forms = draft.keeps_forms or draft.keeps_shared_forms and not is_plain
    return "infer_classes" if has_classes or keeps_forms else "infer"


def _has_regions(call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft) -> bool:
    """True if an input or output may be in shared memory."""
    ids = {site.id for site in draft.sites if site.call is call}
    hidden = not all(isinstance(arguments[name], ast.Dict) for name in ("inputs", "outputs"))
    regions = any(site.id == "TS081" for site in draft.sites)
    return bool(ids & {"TS114", "TS115"}) or hidden and regions


def check_forms(outputs: ast.expr, draft: Draft) -> None:
    """Raise Refused for outputs that may be CLASS, if a use of CLASS stays."""
    classes = any(site.id == "TS063" for site in draft.sites)
    forms = outputs.values if isinstance(outputs, ast.Dict) else [outputs]
    if classes and not draft.options.unsafe and not all(map(_is_form, forms)):
        raise Refused("an output may be asked for as CLASS, which stays", by_option=True)


def _check_batch(arguments: Mapping[str, ast.expr], draft: Draft) -> None:
    """Raise Refused for a batch size that v1 refused. The inputs decide it now."""
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
    """True if an output's format is literal, so that its own rule decides."""
    if isinstance(node, ast.Tuple) and node.elts:
        node = node.elts[0]
    return isinstance(node, ast.Attribute) and node.attr in ("RAW", "CLASS")


def _module(carried: Carried, draft: Draft) -> str:
    arguments = (call_arguments(PARAMETERS["TS050"], call) for call in carried.group.creations)
    return one_protocol(arguments, draft)


def request(
    function: str,
    names: tuple[str, ...],
    arguments: Mapping[str, ast.expr],
    call: ast.Call,
    draft: Draft,
    carried: Carried,
    starts: bool = False,
) -> None:
    """Replace a request's method by a helper, or by ``start`` with a helper."""
    draft.need(function)
    kept = {"inputs": "", "outputs": "", "priority": "priority", "timeout_us": "timeout"}
    if function == "infer_in_regions":
        kept["batch_size"] = "batch_size"
    before: list[NewArgument] = [lambda: draft.new(owner(call)), carried.name()]
    if starts:
        draft.need("start")
        callback = arguments.get("callback")
        before.insert(1, "None" if callback is None else lambda: draft.new(callback))
        before.insert(0, draft.called(function))
    after: list[NewArgument] = [f"{key}={value}" for key, value in carried.options().items()]
    shared = draft.keeps_shared_forms and not isinstance(arguments["outputs"], ast.Dict)
    if draft.keeps_forms or shared:
        del kept["outputs"]
        draft.need("class_counts")
        counts = draft.called("class_counts")
        after.insert(0, lambda: f"outputs={counts}({draft.new(arguments['outputs'])})")
    helper = draft.called("start" if starts else function)
    draft.change(call, lambda old: call_text(draft.edits, call, helper, names, before, kept, after))


# ------------------------------------------------------------------------ asynchronous requests


def start(id: str) -> Rule:
    """Return the rule for a method that starts a request: with a callback first, or without."""
    names = PARAMETERS[id]

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None
        arguments = call_arguments(names, call)
        if "inputs" not in arguments or "outputs" not in arguments:
            raise Refused("expected inputs and outputs")
        if {"TS114", "TS115"} & {site.id for site in draft.sites if site.call is call}:
            raise Refused("an input or output is in shared memory")
        check_forms(arguments["outputs"], draft)

        def carry_out() -> None:
            function = _function(arguments["outputs"], draft)
            request(function, names, arguments, call, draft, carried, starts=True)

        return Plan(carry_out, "start(infer, client, …)")

    return rule


def _of_client(function: str, names: tuple[str, ...]) -> Rule:
    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None and isinstance(call.func, ast.Attribute)
        call_arguments(names, call)

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

# ------------------------------------- inputs and outputs in literals, of a model that is known


def _literal_plan(
    call: ast.Call, arguments: Mapping[str, ast.expr], module: str, draft: Draft, carried: Carried
) -> Plan | None:
    """Return the plan for lines instead of ``x = context.run({…}, {…})``, or None."""
    inputs, outputs, parent = arguments["inputs"], arguments["outputs"], draft.flows.parents[call]
    fits = isinstance(inputs, ast.Dict) and isinstance(outputs, ast.Dict) and module
    if not fits or set(arguments) - {"inputs", "outputs", "batch_size"}:
        return None
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return None
    config = draft.options.configs.get(str(draft.constant(carried.name_node)))
    if not draft.edits.has_lines(parent):
        return None
    if "#" in draft.text(call) or draft.is_tried(call):
        return None  # a comment would be lost; an array of another size is a ValueError
    if config is None or not draft.options.unsafe or not _is_plain(call, draft):
        return None
    assert isinstance(inputs, ast.Dict) and isinstance(outputs, ast.Dict)
    tensors = [_tensor(key, value, config, draft) for key, value in zip(inputs.keys, inputs.values)]
    wanted = [key.value for key in outputs.keys if isinstance(key, ast.Constant)]
    if None in tensors or len(wanted) < len(outputs.keys) or not wanted:
        return None
    lines = _Lines(module, draft, carried, call, int(config.get("max_batch_size", 0)) > 0)
    return Plan(lambda: lines.write([item for item in tensors if item], wanted), "infer", _UNSAFE)


def _is_plain(call: ast.Call, draft: Draft) -> bool:
    """True if nothing in the arguments is rewritten, but the formats of the outputs."""
    inside = {id(node) for node in ast.walk(call)}
    ids = {site.id for site in draft.sites if id(site.node) in inside or site.call is call}
    return not ids - {"TS002", "TS051", "TS062", "TS109"}


def _tensor(
    key: ast.expr | None, value: ast.expr, config: Mapping[str, Any], draft: Draft
) -> tuple[str, str, str, str] | None:
    """Return name, shape, datatype and array of an input, as text."""
    known = {item["name"]: item for item in config.get("input", ())}
    name = key.value if isinstance(key, ast.Constant) else None
    is_rows = isinstance(value, (ast.List, ast.Tuple)) and bool(value.elts)
    if name not in known or key is None or not is_rows:
        return None
    assert isinstance(value, (ast.List, ast.Tuple))
    dims = [int(value) for value in known[name]["dims"]]
    datatype = str(known[name]["data_type"])[len("TYPE_") :]
    if min(dims, default=1) < 0 or datatype == "STRING":
        return None
    if any(isinstance(element, ast.Starred) for element in value.elts):
        return None
    batched = int(config.get("max_batch_size", 0)) > 0
    shape = ", ".join(map(str, [len(value.elts), *dims] if batched else dims))
    rows = [draft.text(element) for element in value.elts]
    whole = rows[0] if len(rows) == 1 else f"np.stack([{', '.join(rows)}])"
    simple = len(rows) > 1 or isinstance(value.elts[0], (ast.Name, ast.Attribute, ast.Call))
    array = whole if simple else f"({whole})"
    return draft.text(key), f"[{shape}]", datatype, f"{array}.reshape({shape})"


class _Lines:
    """A writer of the lines of a request."""

    def __init__(
        self, module: str, draft: Draft, carried: Carried, call: ast.Call, batched: bool
    ) -> None:
        self._client, self._draft, self._carried = f"{module}client", draft, carried
        self._call, self._batched = call, batched

    def write(self, tensors: list[tuple[str, str, str, str]], wanted: Sequence[object]) -> None:
        """Add the lines before the statement, and the results into it."""
        draft, call = self._draft, self._call
        inputs, answer = (draft.called(name) for name in ("inputs", "answer"))
        tensor_lines = (
            f'    {self._client}.InferInput({n}, {s}, "{d}"),' for n, s, d, _ in tensors
        )
        lines = [f"{inputs} = [", *tensor_lines, "]"]
        arrays = (array for _, _, _, array in tensors)
        lines += (f"{inputs}[{n}].set_data_from_numpy({a})" for n, a in enumerate(arrays))
        assert isinstance(call.func, ast.Attribute)
        names = ", ".join(map(repr, wanted))
        outputs = f"[{self._client}.InferRequestedOutput(name) for name in ({names},)]"
        options = "".join(f", {key}={value}" for key, value in self._carried.options().items())
        owner = draft.text(call.func.value)
        lines.append(
            f"{answer} = {owner}.infer({self._carried.name()}, {inputs}, "
            f"outputs={outputs}{options})"
        )
        draft.edits.before[draft.edits.statement(call)].append("\n".join(lines))
        rows = f"list({answer}.as_numpy(name))" if self._batched else f"[{answer}.as_numpy(name)]"
        draft.replace(call, f"{{name: {rows} for name in ({names},)}}")
        if any("np.stack(" in line for line in lines):
            draft.imports.add("import numpy as np")

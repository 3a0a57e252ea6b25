"""TS051 to TS055 (and TS109 to TS113, TS116): requests → requests through the client.

``InferContext.run`` becomes a call of a function of the file, or lines of tritonclient.
Asynchronous requests become futures.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import Mapping

from tritonclient_shim.migrate.scopes import index, last_name
from tritonclient_shim.migrate.sites import arguments as known_arguments
from tritonclient_shim.migrate.values import REQUEST, Items
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import call_arguments, call_text, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.edits import Change
from tritonclient_shim.rewrite.options import Plan, Refused
from tritonclient_shim.rewrite.rules import lines
from tritonclient_shim.rewrite.rules.models import Contexts, Form, Rule
from tritonclient_shim.rewrite.rules.names import FLAGS

_STARTS = ("TS052", "TS053", "TS054")
#: Arguments of streams and sequences.
_SEQUENCES = frozenset(("TS104", "TS105", "TS110", "TS111"))
_FUTURES = "requests are futures: other files of the program may expect numbers"
#: Parameters of ``InferContext.run`` that ``infer`` has too, and their names there.
_KEPT = {"inputs": "", "outputs": "", "priority": "priority", "timeout_us": "timeout"}


def run(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """Return a synchronous request."""
    names = PARAMETERS["TS051"]
    arguments = _request_arguments(names, call, draft, contexts)
    regions = has_regions(call, arguments, draft)
    if regions and contexts.is_object:
        raise Refused("name the model at requests with tensors in shared memory")
    if regions and draft.has_classes:
        raise Refused("ask for classes in a file without shared memory")
    if contexts.is_object:
        plain = partial(_plain_outputs, arguments, draft)
        return Plan(what="run of an InferModel", also=plain)
    options = partial(_options, arguments, draft, contexts)
    in_lines = None if regions else lines.lines_of(call, arguments, options, draft, contexts)
    if in_lines is not None:
        write = partial(lines.write, in_lines, call, draft)
        return Plan(what="infer", unsafe=lines.UNSAFE, also=write)
    function = "infer_in_regions" if regions else infer_function(draft)
    if contexts.form is Form.PARTIAL:
        function = function_of(contexts, draft)

    def carry_out() -> None:
        draft.change(call, _request(function, names, arguments, call, draft, contexts))

    what = f"{function}(client, model_name, inputs, outputs)"
    return Plan(what=what, also=carry_out)


def _request_arguments(
    names: tuple[str, ...], call: ast.Call, draft: Draft, contexts: Contexts
) -> Mapping[str, ast.expr]:
    """Return the arguments of a request. Raise Refused if it cannot be rewritten."""
    arguments = call_arguments(names, call)
    if "inputs" not in arguments or "outputs" not in arguments:
        raise Refused("give the request its inputs and outputs in the call")
    if draft.has_classes and not draft.options.unsafe:
        raise Refused("unsafe: classes come with six decimals; --unsafe rewrites it", True)
    known = any(isinstance(value, Items) for value in draft.evaluator.of(arguments["outputs"]))
    if draft.beside.linked and not known and not draft.options.unsafe:
        raise Refused("unsafe: another file may have its outputs; --unsafe rewrites it", True)
    return arguments


def infer_function(draft: Draft) -> str:
    """Return the helper of requests: with classes, for all that v1 accepted, or plain."""
    if not draft.options.unsafe:
        return "infer_exactly"
    return "infer_classes" if draft.has_classes else "infer"


def function_of(contexts: Contexts, draft: Draft) -> str:
    """Return the one helper for all requests of contexts that become a ``partial``."""
    names = PARAMETERS["TS051"]
    calls = [call for call in contexts.group.calls if last_name(call.func) == "run"]
    regions = any(has_regions(call, known_arguments(names, call), draft) for call in calls)
    return "infer_in_regions" if regions else infer_function(draft)


def has_regions(call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft) -> bool:
    """True if an input or output may be in shared memory."""
    ids = {site.id for site in draft.sites if site.call is call}
    hidden = not all(isinstance(arguments.get(name), ast.Dict) for name in ("inputs", "outputs"))
    return bool(ids & {"TS114", "TS115"}) or hidden and draft.has("TS081", "TS086")


def _plain_outputs(arguments: Mapping[str, ast.expr], draft: Draft) -> None:
    """Ask for arrays, if the outputs are in a variable that keeps v1's forms for other contexts."""
    outputs = arguments["outputs"]
    if draft.contexts_stay and not isinstance(outputs, ast.Dict):
        draft.change(outputs, lambda old: f"dict.fromkeys({old}, 0)")


def _request(
    function: str,
    names: tuple[str, ...],
    arguments: Mapping[str, ast.expr],
    call: ast.Call,
    draft: Draft,
    contexts: Contexts,
    pool: str = "",
) -> Change:
    """Return what replaces a request's method by a helper, which a pool calls if there is one."""
    _plain_outputs(arguments, draft)
    kept = {**_KEPT, "batch_size": "batch_size"} if function == "infer_in_regions" else _KEPT
    if contexts.is_object:
        own = {name: name for name in names if name != "callback"}
        kept = {**own, "inputs": "", "outputs": ""}
    if contexts.form is Form.CLIENT:
        draft.need(function)

    def change(old: str) -> str:
        called, before = draft.new(owner(call)), []
        if contexts.form is Form.CLIENT:
            called, before = draft.called(function), [called, contexts.name()]
        elif contexts.is_object:
            called += ".run"
        if pool:
            called, before = f"{pool}.submit", [called, *before]
        after = _options(arguments, draft, contexts)
        return call_text(draft.edits, call, called, names, before, kept, after)

    return change


def _options(arguments: Mapping[str, ast.expr], draft: Draft, contexts: Contexts) -> list[str]:
    """Return the version of the model and the sequence as arguments of ``infer``."""
    if contexts.is_object:
        return []
    options = contexts.options() if contexts.form is Form.CLIENT else {}
    corr_id, flags = arguments.get("corr_id"), arguments.get("flags")
    if corr_id is not None and draft.constant(corr_id):
        options["sequence_id"] = f"int({draft.text(corr_id)})"
    if isinstance(flags, ast.Attribute) and flags.attr in FLAGS:
        options[flags.attr[len("FLAG_") :].lower()] = "True"
    elif flags is not None and draft.constant(flags) not in (0, None):
        first = again = draft.primary(flags)
        if any(isinstance(part, ast.Call) for part in ast.walk(flags)):  # it is called once
            again = draft.called("flags")
            first = f"({again} := {draft.new(flags)})"
        options["sequence_start"] = f"bool({first} & 1)"
        options["sequence_end"] = f"bool({again} & 2)"
    options.pop("none", None)
    return [f"{key}={value}" for key, value in options.items()]


# ------------------------------------------------------------------------ asynchronous requests


def start(id: str) -> Rule:
    """Return the rule for a method that starts a request: with a callback first, or without."""
    names = PARAMETERS[id]

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        arguments = _request_arguments(names, call, draft, contexts)
        if has_regions(call, arguments, draft):
            raise Refused("send requests with tensors in shared memory with run()")
        if not isinstance(owner(call), (ast.Name, ast.Attribute)):
            raise Refused("put the context into a variable")
        if any(group.kind == REQUEST and group.escapes for group in draft.flows.groups):
            raise Refused("do without the numbers of requests: futures have none")
        submit = partial(_submit, names, arguments, call, draft, contexts)
        return Plan("", (), "pool.submit(infer, client, …)", _unsafe(draft), also=submit)

    return rule


def _lines_of_all(draft: Draft, contexts: Contexts) -> Mapping[ast.Call, lines.Lines]:
    """Return the lines for all asynchronous requests, if arrays do for their results."""
    calls = {site.call: site.id for site in draft.sites if site.call and site.id in _STARTS}
    ends = [site.call for site in draft.sites if site.call and site.id == "TS055"]
    known = not draft.beside.linked and set(contexts.group.calls).issuperset((*calls, *ends))
    if not known or not all(lines.reads_of(call, draft) for call in ends):
        return {}
    requests = {}
    for call, id in calls.items():
        arguments = _request_arguments(PARAMETERS[id], call, draft, contexts)
        options = partial(_options, arguments, draft, contexts)
        request = lines.lines_of(call, arguments, options, draft, contexts)
        if request is None or not request.has_rows:
            return {}
        requests[call] = request
    return requests


def _submit(
    names: tuple[str, ...],
    arguments: Mapping[str, ast.expr],
    call: ast.Call,
    draft: Draft,
    contexts: Contexts,
) -> None:
    """Send a request in a thread of a pool."""
    callback, pool = arguments.get("callback"), draft.called("pool")
    _make_pool(pool, draft)
    known = _lines_of_all(draft, contexts).get(call)
    if known is not None:
        draft.edits.before[draft.edits.statement(call)].append(lambda: "\n".join(known.above()))
        infer = f"{pool}.submit({draft.text(owner(call))}.infer"
        draft.change(call, lambda old: f"{infer}, {known.parameters()})")
    else:
        draft.imports.add("from copy import deepcopy")  # the program may change its arrays
        draft.change(arguments["inputs"], lambda old: f"deepcopy({old})")
        function = infer_function(draft)
        draft.change(call, _request(function, names, arguments, call, draft, contexts, pool))
    if callback is not None:
        draft.imports.add("from functools import partial")
        draft.change(call, _with_callback(callback, draft.text(owner(call)), draft))


def _make_pool(pool: str, draft: Draft) -> None:
    """Make a pool of threads in the file: one for sequences, whose requests keep their order."""
    threads = 1 if any(site.id in _SEQUENCES for site in draft.sites) else 8
    helper = "RequestPool" if _sorts_requests(draft) else "ThreadPoolExecutor"
    if helper == "RequestPool":
        draft.need(helper)
    else:
        draft.imports.add(f"from concurrent.futures import {helper}")
    draft.imports.add(f"\n{pool} = {draft.called(helper)}({threads})")


def _sorts_requests(draft: Draft) -> bool:
    """True if the program sorts, and has requests in lists, as keys, or as starts of tuples."""
    calls = {node: last_name(node.func) for node in draft.evaluator.scopes.calls}
    requests, kept = set(), set()
    for node, outer in draft.flows.parents.items():
        if isinstance(node, ast.Name) and any(x.kind == REQUEST for x in draft.flows.of(node)):
            requests.add(node.id)
        if isinstance(node, ast.Subscript):
            kept.add(last_name(index(node)))
        elif isinstance(node, ast.Tuple) and node.elts and isinstance(node.ctx, ast.Load):
            is_put = last_name(getattr(outer, "func", outer)) == "put"
            kept.update([] if is_put else [last_name(node.elts[0])])
        elif isinstance(node, ast.Call) and calls[node] == "append":
            kept.update(map(last_name, node.args))
    return not requests.isdisjoint(kept) and not {"sorted", "sort"}.isdisjoint(calls.values())


def _with_callback(callback: ast.expr, context: str, draft: Draft) -> Change:
    """Return what adds a callback to the text of a future. It gets the client and the future."""

    def change(future: str) -> str:
        own = draft.new(callback)
        own = own[:-1] if own.startswith("partial(") and "=" not in own else f"partial({own}"
        return f"{future}.add_done_callback({own}, {context}))"

    return change


def _unsafe(draft: Draft) -> str:
    """Return what is unsafe about futures."""
    return _FUTURES if draft.beside.linked else ""


def results(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``get_async_run_results(request)`` → ``request.result()``."""
    arguments = call_arguments(PARAMETERS["TS055"], call)
    request, wait = arguments.get("request_id"), arguments.get("wait")
    if request is None or isinstance(request, ast.Constant):
        raise Refused("there are no numbers of requests any more: call result() of a future")
    form = "{0}.result()"
    if wait is not None and draft.constant(wait) is False:
        form = f"({form} if {{0}}.done() else None)"
    elif wait is not None and draft.constant(wait) is not True:
        form = f"({form} if {{1}} or {{0}}.done() else None)"

    def read_arrays() -> None:
        if _lines_of_all(draft, contexts):
            lines.read_arrays(lines.reads_of(call, draft), draft)

    parts = [request, wait or ""]
    return Plan(form, parts, "result() of a future", _unsafe(draft), also=read_arrays)

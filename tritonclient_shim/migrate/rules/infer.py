"""TS051 to TS055 (and TS109 to TS113, TS116): requests → requests through the client.

``InferContext.run`` becomes a call of a function of the file, or lines of tritonclient.
Asynchronous requests become futures.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import Any, Mapping, Sequence

from tritonclient_shim.migrate.draft import Draft, call_arguments, owner, refuse_effects
from tritonclient_shim.migrate.options import Plan, Refused, refuse_unless_allowed
from tritonclient_shim.migrate.program import Keeps
from tritonclient_shim.migrate.rules import lines
from tritonclient_shim.migrate.rules.models import REQUESTS, STARTS, Contexts, Form
from tritonclient_shim.migrate.rules.names import FORMS
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.scopes import index, last_name
from tritonclient_shim.scan.sites import arguments as known_arguments
from tritonclient_shim.scan.values import OTHER, REQUEST, Items, Symbol, element

#: Functions without effects.
_PURE = frozenset(("len", "int", "min", "max", "sum", "range"))
#: Functions whose array nothing else has yet.
_NEW_ARRAYS = frozenset(
    Symbol(f"numpy.{name}") for name in ("array", "arange", "zeros", "ones", "full")
)
#: Threads of a pool: v1 sent all requests at once, and the facade sends so many.
_THREADS = 256


def run(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """Return a synchronous request."""
    request = _request(call, draft, contexts)
    regions = has_regions(call, request.arguments, draft)
    if regions and contexts.form is Form.OBJECT:
        raise Refused("name the model at requests with tensors in shared memory")
    if regions and draft.has_classes:
        raise Refused("ask for classes in a file without shared memory")
    in_lines = None if regions else lines.lines_of(request)
    unsafe = _unsafe_tensors(request.arguments, draft)
    if in_lines is not None:
        unsafe.append(UnsafeChange.LINES)
    elif not regions:
        unsafe += refused_arrays(draft)
    draft.calls_infer |= in_lines is None
    if contexts.form is Form.OBJECT:
        also = partial(_plain_outputs, request)
        return Plan(what="run of an InferModel", unsafe=tuple(unsafe), also=also)
    is_partial = contexts.form is Form.PARTIAL
    function = function_of(contexts, draft) if is_partial else _function(regions, draft)

    def carry_out() -> None:
        if in_lines is None or draft.calls_infer:
            _call_helper(request, function)
        else:
            in_lines.write()

    what = f"{function}(client, model_name, inputs, outputs)"
    return Plan(what=what, unsafe=tuple(unsafe), also=carry_out)


def _request(call: ast.Call, draft: Draft, contexts: Contexts) -> lines.Request:
    """Return a request. Raise Refused if it cannot be rewritten."""
    keeps_call = contexts.form is Form.OBJECT and last_name(call.func) == "run"
    read = known_arguments if keeps_call else call_arguments
    arguments = read(_parameters(call, draft), call)
    if "inputs" not in arguments or "outputs" not in arguments:
        raise Refused("give the request its inputs and outputs in the call")
    refuse_unless_allowed(_unsafe_tensors(arguments, draft), draft)
    refuse_effects(node for name, node in arguments.items() if name not in ("inputs", "outputs"))
    size = arguments.get("batch_size")
    calls = [x.func for x in ast.walk(size) if isinstance(x, ast.Call)] if size else []
    if not keeps_call and not _PURE.issuperset(map(last_name, calls)):
        raise Refused("give the batch size to a variable first: the arrays have it, too")
    known = any(isinstance(value, Items) for value in draft.evaluator.of(arguments["outputs"]))
    if Keeps.REQUESTS in draft.beside.kept and not known:
        raise Refused("other files of the program keep v1's formats, and may have its outputs")
    return lines.Request(call, arguments, draft, contexts)


def _unsafe_tensors(arguments: Mapping[str, ast.expr], draft: Draft) -> list[UnsafeChange]:
    """Return what a program may notice of the inputs and outputs of a request."""
    unsafe = []
    if draft.has_classes:
        unsafe.append(UnsafeChange.DECIMALS)
    known = any(isinstance(value, Items) for value in draft.evaluator.of(arguments["outputs"]))
    if draft.beside.linked and not known:
        unsafe.append(UnsafeChange.OUTPUTS_ELSEWHERE)
    if draft.beside.has_regions and _are_unknown(arguments, draft):
        unsafe.append(UnsafeChange.HANDLES)
    return unsafe


def refused_arrays(draft: Draft) -> list[UnsafeChange]:
    """Return the row of the helper that refuses arrays, if requests call it."""
    row = UnsafeChange.REFUSED_ARRAYS
    return [row] if draft.options.allows(row) else []


def rows_of_helper(rows: Sequence[UnsafeChange]) -> tuple[UnsafeChange, ...]:
    """Return the rows of a request that could be lines, but calls the helper as others do."""
    lines_row, helper_row = UnsafeChange.LINES, UnsafeChange.REFUSED_ARRAYS
    return tuple(helper_row if row is lines_row else row for row in rows)


def _parameters(call: ast.Call, draft: Draft) -> tuple[str, ...]:
    """Return the parameters of the method that a request calls."""
    ids = [site.id for site in draft.sites if site.call is call]
    return next(PARAMETERS[id] for id in ids if id in REQUESTS)


def function_of(contexts: Contexts, draft: Draft) -> str:
    """Return the one helper for all requests of contexts that become a ``partial``."""
    names = PARAMETERS["TS051"]
    calls = [call for call in contexts.group.calls if last_name(call.func) == "run"]
    regions = any(has_regions(call, known_arguments(names, call), draft) for call in calls)
    return _function(regions, draft)


def _function(regions: bool, draft: Draft) -> str:
    """Return the helper of requests: with regions, for all that v1 accepted, or plain."""
    if regions:
        return "infer_in_regions"
    return "infer" if refused_arrays(draft) else "infer_exactly"


def has_regions(call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft) -> bool:
    """True if an input or output may be in shared memory."""
    ids = {site.id for site in draft.sites if site.call is call}
    if draft.beside.has_regions:
        return bool(ids & {"TS114", "TS115"}) or _are_unknown(arguments, draft)
    hidden = not all(isinstance(arguments.get(name), ast.Dict) for name in ("inputs", "outputs"))
    return bool(ids & {"TS114", "TS115"}) or hidden and draft.has("TS081", "TS086")


def _are_unknown(arguments: Mapping[str, ast.expr], draft: Draft) -> bool:
    """True if an input or output may come from another file."""
    for name in ("inputs", "outputs"):
        tensors = draft.evaluator.of(arguments.get(name))
        values = element(tensors)
        if not values or OTHER in values or OTHER in element(values):
            return True
    return False


def _plain_outputs(request: lines.Request) -> None:
    """Ask for arrays, where variables keep v1's formats for contexts that stay."""
    outputs, draft = request.arguments["outputs"], request.draft
    for node in hidden_formats(outputs, draft) if draft.formats_stay else ():
        draft.write(node, "dict.fromkeys({old}, {RAW})" if node is outputs else "{RAW}")


def hidden_formats(outputs: ast.expr, draft: Draft) -> list[ast.expr]:
    """Return the outputs of a request whose formats are not written in its call."""
    known = {site.node for site in draft.sites if site.id in FORMS}
    values = outputs.values if isinstance(outputs, ast.Dict) else [outputs]
    return [value for value in values if (getattr(value, "elts", ()) or [value])[0] not in known]


def _call_helper(request: lines.Request, function: str, pool: str = "") -> None:
    """Replace a request's method by a helper, which a pool calls if there is one."""
    call, draft, contexts = request.call, request.draft, request.contexts
    names = _parameters(call, draft)
    kept = {"inputs": "", "outputs": "", "priority": "priority", "timeout_us": "timeout"}
    if contexts.form is Form.OBJECT:
        kept = {name: name for name in names if name != "callback"}
        kept.update(inputs="", outputs="")
    elif function == "infer_in_regions":
        kept["batch_size"] = "batch_size"
    draft.helpers.add(function)

    def change(old: str) -> str:
        called, before = draft.primary(owner(call)), []
        if contexts.form is Form.CLIENT:
            called, before = draft.called(function), [draft.new(owner(call)), contexts.name()]
        elif contexts.form is Form.OBJECT:
            called += ".run"
        if pool:
            called, before = f"{pool}.submit", [called, *before]
        return draft.edits.call_text(call, called, names, before, kept, request.options())

    _plain_outputs(request)
    draft.change(call, change)


# ------------------------------------------------------------------------ asynchronous requests


def start(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """Return a request that a method only starts: with a callback first, or without."""
    request = _request(call, draft, contexts)
    if has_regions(call, request.arguments, draft):
        if {site.id for site in draft.sites if site.call is call} & {"TS114", "TS115"}:
            raise Refused("send requests with tensors in shared memory with run()")
        raise Refused("write inputs and outputs in the call: they may be in shared memory")
    if not isinstance(owner(call), (ast.Name, ast.Attribute)):
        raise Refused("put the context into a variable")
    if draft.has_processes:
        raise Refused("fetch results in the process that sends the request: futures stay there")
    if any(group.kind == REQUEST and group.escapes for group in draft.flows.groups):
        raise Refused("do without the numbers of requests: futures have none")
    unsafe = _unsafe_tensors(request.arguments, draft)
    if draft.is_caught(call):
        unsafe.append(UnsafeChange.LATE_ERRORS)
    if draft.beside.linked:
        unsafe.append(UnsafeChange.FUTURES)
    if _are_lines(draft, contexts):
        unsafe.append(UnsafeChange.LINES)
    else:
        draft.calls_infer = True
        unsafe += refused_arrays(draft)
    what = "pool.submit(infer, client, …)"
    return Plan("", (), what, tuple(unsafe), also=partial(_submit, request))


def _are_lines(draft: Draft, contexts: Contexts) -> bool:
    """True if all asynchronous requests become lines, because arrays do for their results."""
    calls = [site.call for site in draft.sites if site.call and site.id in STARTS]
    ends = [site.call for site in draft.sites if site.call and site.id == "TS055"]
    known = not draft.beside.linked and set(contexts.group.calls).issuperset((*calls, *ends))
    if not known or not all(lines.reads_of(call, draft) for call in ends):
        return False
    requests = [_request(call, draft, contexts) for call in calls]
    return all(item is not None and item.has_rows for item in map(lines.lines_of, requests))


def _submit(request: lines.Request) -> None:
    """Send a request in a thread of a pool: of one thread, where requests keep their order."""
    call, draft = request.call, request.draft
    callback, pool = request.arguments.get("callback"), draft.called("pool")
    if _sorts_requests(draft):
        draft.helpers.add("RequestPool")
        executor = draft.called("RequestPool")
    else:
        executor = draft.imported("from concurrent.futures import ThreadPoolExecutor")
    is_sequence = draft.has("TS104", "TS105", "TS110", "TS111")
    draft.assignments[pool] = f"{pool} = {executor}({1 if is_sequence else _THREADS})"
    in_lines = None if draft.calls_infer else lines.lines_of(request)
    if in_lines is not None:
        in_lines.write(pool)
    else:
        inputs = request.arguments["inputs"]
        if not _are_new(inputs, draft):  # the program may change its arrays
            deepcopy = draft.imported("from copy import deepcopy")
            draft.write(inputs, f"{deepcopy}({{old}})")
        _call_helper(request, _function(False, draft), pool)
    if callback is not None:
        draft.helpers.add("in_turn")
        draft.change(call, partial(_with_callback, callback, draft.text(owner(call)), draft))


def _are_new(inputs: ast.expr, draft: Draft) -> bool:
    """True if all inputs are lists of arrays that the call of the request makes."""
    if not isinstance(inputs, ast.Dict):
        return False
    rows = [row for value in inputs.values for row in getattr(value, "elts", [value])]
    return all(_is_new(row, draft) for row in rows)


def _is_new(row: ast.expr, draft: Draft) -> bool:
    """True for a call that makes an array. With ``copy=False`` it may be another one's."""
    if not isinstance(row, ast.Call) or {x.arg for x in row.keywords} & {"copy", None}:
        return False
    functions = draft.evaluator.of(row.func)
    return bool(functions) and functions <= _NEW_ARRAYS


def _sorts_requests(draft: Draft) -> bool:
    """True if the program sorts, and has requests in lists, as keys, or as starts of tuples.

    What a sorted list has from a queue may be a request, too.
    """
    parents, scopes = draft.flows.parents, draft.evaluator.scopes
    sorts = [call for call in scopes.calls if last_name(call.func) in ("sorted", "sort")]
    names = {last_name(node) for call in sorts for node in ast.walk(call)}
    kept: list[tuple[ast.expr, Any]] = []  # containers, and what is in them
    for node, outer in parents.items():
        if isinstance(node, ast.Subscript):
            kept.append((node.value, index(node)))
        elif isinstance(node, ast.Call) and last_name(node.func) == "append":
            kept += [(owner(node), part) for part in node.args]
        elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
            is_put = last_name(getattr(outer, "func", outer)) == "put"
            kept += [] if is_put else [(node, part) for part in node.elts[:1]]
    for container, part in kept if sorts else ():
        nodes = [part, *(item.node for item in scopes.bindings(part) if not item.steps)]
        is_queued = any(last_name(getattr(node, "func", node)) == "get" for node in nodes)
        if is_queued and last_name(container) in names:
            return True
        if any(group.kind == REQUEST for group in draft.flows.of(part)):
            return True
    return False


def _with_callback(callback: ast.expr, client: str, draft: Draft, future: str) -> str:
    """Return a future with a callback, which gets the client and the future."""
    return f"{future}.add_done_callback({draft.called('in_turn')}({draft.new(callback)}, {client}))"


def results(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``get_async_run_results(request)`` → ``request.result()``."""
    arguments = call_arguments(PARAMETERS["TS055"], call)
    request, wait = arguments.get("request_id"), arguments.get("wait")
    if request is None or isinstance(request, ast.Constant):
        raise Refused("there are no numbers of requests any more: call result() of a future")
    form = "{0}.result()"
    if wait is not None and draft.constant(wait) is not True:
        is_done = "{0}.done()" if draft.constant(wait) is False else "{1} or {0}.done()"
        form = f"({form} if {is_done} else None)"

    def read_arrays() -> None:
        if contexts.starts and not draft.calls_infer:
            lines.read_arrays(lines.reads_of(call, draft), draft)

    parts = [request, wait or ""]
    unsafe = (UnsafeChange.FUTURES,) if draft.beside.linked else ()
    return Plan(form, parts, "result() of a future", unsafe, also=read_arrays)

"""TS051 to TS055 (and TS109 to TS113, TS116): requests → requests through the client.

``InferContext.run`` becomes a call of a function of the file, or lines of tritonclient.
Asynchronous requests become futures.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Iterator, Mapping, Sequence

from tritonclient_shim.migrate.decisions import Decisions, Plan, Refused, refuse_unless_allowed
from tritonclient_shim.migrate.edits import (
    Below,
    Define,
    Edit,
    Import,
    NewCall,
    NewText,
    Part,
    Replace,
    new_text,
    replaced,
)
from tritonclient_shim.migrate.facts import FileFacts, call_arguments, owner, refuse_effects
from tritonclient_shim.migrate.format import on_one_line
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.options import SiteOutcome
from tritonclient_shim.migrate.rules import lines
from tritonclient_shim.migrate.rules.models import REQUESTS, STARTS, Contexts, Form, parameters_of
from tritonclient_shim.migrate.rules.names import FORMS
from tritonclient_shim.migrate.rules.sorting import sorted_request
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import arguments as known_arguments
from tritonclient_shim.scan.values import OTHER, REQUEST, Items, Symbol, element

#: Functions without effects.
_PURE = frozenset(("len", "int", "min", "max", "sum", "range"))
#: Functions whose array nothing else has yet.
_NEW_ARRAYS = frozenset(
    Symbol(f"numpy.{name}") for name in ("array", "arange", "zeros", "ones", "full")
)


@dataclass(frozen=True)
class RequestPlan(Plan):
    """A request. ``in_lines``: its lines of tritonclient; None if they need what is not known."""

    request: lines.Request
    in_lines: lines.Lines | None

    def outcome(self, decisions: Decisions) -> SiteOutcome:
        """Return the outcome: with the row of the helper, if the request calls it as others do."""
        outcome = super().outcome(decisions)
        if not decisions.calls_helper:
            return outcome
        row = UnsafeChange.LINES
        helper_row = UnsafeChange.REFUSED_ARRAYS
        rows = tuple(helper_row if own is row else own for own in outcome.rows)
        return replace(outcome, rows=rows)


@dataclass(frozen=True)
class _CallPlan(RequestPlan):
    """A synchronous request: its lines, or the call of a helper."""

    function: str  # the helper

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits. If one request of the file calls the helper, all do."""
        if self.in_lines is not None and not decisions.calls_helper:
            return self.in_lines.edits()
        return _helper_edits(self.request, self.function, decisions)


@dataclass(frozen=True)
class _ObjectCallPlan(RequestPlan):
    """A synchronous request of an object, which has the client and calls the helper."""

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits of the outputs. The call stays."""
        return _plain_outputs(self.request, decisions)


def run(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """Return a synchronous request."""
    request = _request(call, facts, contexts)
    regions = has_regions(call, request.arguments, facts)
    if regions and contexts.escapes:
        raise Refused("name the model at requests with tensors in shared memory")
    if regions and facts.has_classes:
        raise Refused("ask for classes in a file without shared memory")
    in_lines = None if regions else lines.lines_of(request)
    unsafe = _unsafe_tensors(request.arguments, facts)
    if in_lines is not None:
        unsafe.append(UnsafeChange.LINES)
    else:
        unsafe += refused_arrays(facts)
    if contexts.form is Form.OBJECT:
        return _ObjectCallPlan("run of an InferModel", tuple(unsafe), request, None)
    function = "infer_in_regions" if regions else "infer"
    what = f"{function}(client, model_name, inputs, outputs)"
    return _CallPlan(what, tuple(unsafe), request, in_lines, function)


def _request(call: ast.Call, facts: FileFacts, contexts: Contexts) -> lines.Request:
    """Return a request. Raise Refused if it cannot be rewritten."""
    keeps_call = contexts.form is Form.OBJECT and last_name(call.func) == "run"
    read = known_arguments if keeps_call else call_arguments
    arguments = read(_parameters(call, facts), call)
    if "inputs" not in arguments or "outputs" not in arguments:
        raise Refused("give the request its inputs and outputs in the call")
    refuse_unless_allowed(_unsafe_tensors(arguments, facts), facts.options)
    refuse_effects(node for name, node in arguments.items() if name not in ("inputs", "outputs"))
    size = arguments.get("batch_size")
    calls = [x.func for x in ast.walk(size) if isinstance(x, ast.Call)] if size else []
    if not keeps_call and not _PURE.issuperset(map(last_name, calls)):
        raise Refused("give the batch size to a variable first: the arrays have it, too")
    known = any(isinstance(value, Items) for value in facts.evaluator.of(arguments["outputs"]))
    if Keeps.REQUESTS in facts.beside.kept and not known:
        raise Refused(facts.beside.reason_of(Keeps.REQUESTS))
    return lines.Request(call, arguments, facts, contexts)


def _unsafe_tensors(arguments: Mapping[str, ast.expr], facts: FileFacts) -> list[UnsafeChange]:
    """Return what a program may notice of the inputs and outputs of a request."""
    unsafe = []
    if facts.has_classes:
        unsafe.append(UnsafeChange.DECIMALS)
    known = any(isinstance(value, Items) for value in facts.evaluator.of(arguments["outputs"]))
    if facts.beside.linked and not known:
        unsafe.append(UnsafeChange.OUTPUTS_ELSEWHERE)
    if facts.beside.has_regions and _are_unknown(arguments, facts):
        unsafe.append(UnsafeChange.HANDLES)
    return unsafe


def refused_arrays(facts: FileFacts) -> list[UnsafeChange]:
    """Return the row of the helper that refuses arrays, if requests call it."""
    row = UnsafeChange.REFUSED_ARRAYS
    return [row] if facts.options.allows(row) else []


def _parameters(call: ast.Call, facts: FileFacts) -> tuple[str, ...]:
    """Return the parameters of the method that a request calls."""
    ids = [site.id for site in facts.sites if site.call is call]
    return next(PARAMETERS[id] for id in ids if id in REQUESTS)


def sends_regions(contexts: Contexts) -> bool:
    """True if requests of contexts may have tensors in shared memory."""
    names = PARAMETERS["TS051"]
    calls = [call for call in contexts.group.calls if last_name(call.func) == "run"]
    facts = contexts.facts
    return any(has_regions(call, known_arguments(names, call), facts) for call in calls)


def has_regions(call: ast.Call, arguments: Mapping[str, ast.expr], facts: FileFacts) -> bool:
    """True if an input or output may be in shared memory."""
    ids = {site.id for site in facts.sites if site.call is call}
    if facts.beside.has_regions:
        return bool(ids & {"TS114", "TS115"}) or _are_unknown(arguments, facts)
    hidden = not all(isinstance(arguments.get(name), ast.Dict) for name in ("inputs", "outputs"))
    return bool(ids & {"TS114", "TS115"}) or hidden and facts.has("TS081", "TS086")


def _are_unknown(arguments: Mapping[str, ast.expr], facts: FileFacts) -> bool:
    """True if an input or output may come from another file."""
    for name in ("inputs", "outputs"):
        tensors = facts.evaluator.of(arguments.get(name))
        values = element(tensors)
        if not values or OTHER in values or OTHER in element(values):
            return True
    return False


def _plain_outputs(request: lines.Request, decisions: Decisions) -> list[Edit]:
    """Ask for arrays, where variables keep v1's formats for contexts that stay."""
    if not decisions.formats_stay:
        return []
    outputs = request.arguments["outputs"]
    return [
        replaced(node, "dict.fromkeys({old}, {RAW})" if node is outputs else "{RAW}")
        for node in hidden_formats(outputs, request.facts)
    ]


def hidden_formats(outputs: ast.expr, facts: FileFacts) -> list[ast.expr]:
    """Return the outputs of a request whose formats are not written in its call."""
    known = {site.node for site in facts.sites if site.id in FORMS}
    values = outputs.values if isinstance(outputs, ast.Dict) else [outputs]
    return [value for value in values if (getattr(value, "elts", ()) or [value])[0] not in known]


def _helper_edits(
    request: lines.Request, function: str, decisions: Decisions, pool: str = ""
) -> list[Edit]:
    """Replace a request's method by a helper, which a pool calls if there is one."""
    call = request.call
    facts = request.facts
    contexts = request.contexts
    names = _parameters(call, facts)
    kept = {"inputs": "", "outputs": "", "priority": "priority", "timeout_us": "timeout"}
    if contexts.form is Form.OBJECT:
        kept = {name: name for name in names if name != "callback"}
        kept.update(inputs="", outputs="")
    elif function == "infer_in_regions":
        kept["batch_size"] = "batch_size"
    called: Part = new_text("{0}.run", owner(call))
    before: list[Part] = []
    if contexts.form is Form.CLIENT:
        called = new_text(f"{{{function}}}")
        before = [owner(call), contexts.name()]
    if pool:
        called, before = f"{pool}.submit", [called, *before]
    after = tuple(request.options())
    new = NewCall(call, called, names, kept, tuple(before), after, on_one_line=bool(pool))
    return [*_plain_outputs(request, decisions), *_numbers(request), Replace(call, new)]


def _numbers(request: lines.Request) -> Iterator[Edit]:
    """Make Python's numbers of priorities and timeouts: JSON has no others."""
    for name in ("priority", "timeout_us"):
        value = request.arguments.get(name)
        if value is not None and type(request.facts.constant(value)) is not int:
            yield replaced(value, "int({old})")


# ------------------------------------------------------------------------ asynchronous requests


@dataclass(frozen=True)
class _StartPlan(RequestPlan):
    """A request that a thread of a pool sends: its lines if all such requests become lines."""

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits. If one request of the file calls the helper, all do."""
        request = self.request
        facts = self.request.facts
        call = request.call
        pool = facts.free_name("pool")
        edits: list[Edit] = [Define(pool, _pool(pool, facts))]
        if self.in_lines is not None and not decisions.calls_helper:
            edits += self.in_lines.edits(pool)
        else:
            inputs = request.arguments["inputs"]
            if not _are_new(inputs, facts):  # the program may change its arrays
                copied = Import("from copy import deepcopy")
                edits.append(replaced(inputs, "{0}({old})", copied))
            edits += _helper_edits(request, "infer", decisions, pool)
        callback = request.arguments.get("callback")
        if callback is not None:
            edits += _callback_edits(call, callback, facts)
        return edits


def _callback_edits(call: ast.Call, callback: ast.expr, facts: FileFacts) -> list[Edit]:
    """Have the future of a request call a function: in a statement of its own if there can be."""
    client = facts.text(owner(call))
    parts = (callback, client)
    statement = facts.layout.statement(call)
    has_lines = facts.layout.has_lines(statement) and on_one_line(facts.text(callback)) is not None
    if not facts.is_dropped(call) or not has_lines:
        return [replaced(call, "{old}.add_done_callback({in_turn}({0}, {1}))", *parts)]
    future = facts.free_name("future")
    added = new_text("{2}.add_done_callback({in_turn}({0}, {1}))", *parts, future)
    return [replaced(call, "{0} = {old}", future), Below(statement, added)]


def start(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """Return a request that a method only starts: with a callback first, or without."""
    request = _request(call, facts, contexts)
    if has_regions(call, request.arguments, facts):
        if {site.id for site in facts.sites if site.call is call} & {"TS114", "TS115"}:
            raise Refused("send requests with tensors in shared memory with run()")
        raise Refused("write inputs and outputs in the call: they may be in shared memory")
    if not isinstance(owner(call), (ast.Name, ast.Attribute)):
        raise Refused("put the context into a variable")
    if facts.has_processes:
        raise Refused("fetch results in the process that sends the request: futures stay there")
    if any(group.kind == REQUEST and group.escapes for group in facts.flows.groups):
        raise Refused("do without the numbers of requests: futures have none")
    if sorted_request(facts):
        raise Refused("keep the requests in the order of sending: futures cannot be sorted")
    unsafe = _unsafe_tensors(request.arguments, facts)
    if facts.is_caught(call):
        unsafe.append(UnsafeChange.LATE_ERRORS)
    if facts.beside.linked:
        unsafe.append(UnsafeChange.FUTURES)
    in_lines = lines.lines_of(request) if _are_lines(facts, contexts) else None
    unsafe += refused_arrays(facts) if in_lines is None else [UnsafeChange.LINES]
    if not _keeps_order(facts) and _may_stream(facts):
        unsafe.append(UnsafeChange.STREAMS)
    return _StartPlan("pool.submit(infer, client, …)", tuple(unsafe), request, in_lines)


def _are_lines(facts: FileFacts, contexts: Contexts) -> bool:
    """True if all asynchronous requests become lines, because arrays do for their results."""
    calls = [site.call for site in facts.sites if site.call and site.id in STARTS]
    ends = [site.call for site in facts.sites if site.call and site.id == "TS055"]
    known = not facts.beside.linked and set(contexts.group.calls).issuperset((*calls, *ends))
    if not known or not all(lines.reads_of(call, facts) for call in ends):
        return False
    requests = [_request(call, facts, contexts) for call in calls]
    return all(item is not None and item.has_rows for item in map(lines.lines_of, requests))


def _pool(name: str, facts: FileFacts) -> NewText:
    """Return the statement that makes the pool of the file."""
    executor = Import("from concurrent.futures import ThreadPoolExecutor")
    if _keeps_order(facts):
        return new_text("{0} = {1}(1)  # requests go one after another", name, executor)
    return new_text("{0} = {1}(256)  # v1 sent all requests at once", name, executor)


def _keeps_order(facts: FileFacts) -> bool:
    """True if requests of the file go one after another: of sequences, and of streams."""
    if facts.has("TS105", "TS110", "TS111"):
        return True
    return any(
        streaming is True or not facts.options.allows(UnsafeChange.STREAMS)
        for streaming in _streaming(facts)
    )


def _may_stream(facts: FileFacts) -> bool:
    """True if a context of the file may stream. A literal says whether it does."""
    return any(streaming is ... for streaming in _streaming(facts))


def _streaming(facts: FileFacts) -> list[object]:
    """Return whether contexts of the file stream, Ellipsis for what the program decides."""
    calls = [site.call for site in facts.sites if site.id == "TS104" and site.call]
    given = [known_arguments(parameters_of(call, "TS050", facts), call) for call in calls]
    values = [facts.constant(arguments.get("streaming")) for arguments in given]
    return [value if value is ... else bool(value) for value in values]


def _are_new(inputs: ast.expr, facts: FileFacts) -> bool:
    """True if all inputs are lists of arrays that nothing changes once the request is sent."""
    if not isinstance(inputs, ast.Dict):
        return False
    rows = [row for value in inputs.values for row in getattr(value, "elts", [value])]
    return all(_is_new(row, facts) or _is_never_changed(row, facts) for row in rows)


def _is_new(row: ast.expr, facts: FileFacts) -> bool:
    """True for a call that makes an array. With ``copy=False`` it may be another one's."""
    if not isinstance(row, ast.Call) or {x.arg for x in row.keywords} & {"copy", None}:
        return False
    functions = facts.evaluator.of(row.func)
    return bool(functions) and functions <= _NEW_ARRAYS


def _is_never_changed(row: ast.expr, facts: FileFacts) -> bool:
    """True for a variable that only gets new arrays, which the program only sends and reads."""
    scopes = facts.evaluator.scopes
    owner = scopes.owner(row)
    if not isinstance(row, ast.Name) or owner is None:
        return False
    if owner is scopes.module and facts.beside.linked:
        return False  # other files may change it
    if not all(isinstance(binding.node, ast.expr) for binding in owner.bindings[row.id]):
        return False  # a parameter
    nonlocals = (node for node in facts.flows.parents if isinstance(node, ast.Nonlocal))
    if any(row.id in node.names for node in nonlocals):
        return False
    names = (node for node in facts.flows.parents if isinstance(node, ast.Name))
    own = [node for node in names if node.id == row.id and scopes.owner(node) is owner]
    return all(_is_harmless(node, facts) or _gets_new_array(node, facts) for node in own)


def _gets_new_array(target: ast.Name, facts: FileFacts) -> bool:
    """True if an assignment gives a new array to a variable alone."""
    parent = facts.flows.parents[target]
    is_alone = isinstance(parent, ast.Assign) and parent.targets == [target]
    return is_alone and _is_new(getattr(parent, "value", target), facts)


def _is_harmless(array: ast.Name, facts: FileFacts) -> bool:
    """True if a read of an array sends it, calculates with it, or reads its shape."""
    parent = facts.flows.parents[array]
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("shape", "size", "dtype", "ndim", "nbytes")
    if isinstance(parent, (ast.BinOp, ast.Compare)):
        return True
    while isinstance(parent, (ast.List, ast.Tuple, ast.Dict)):
        parent = facts.flows.parents[parent]
    requests = [site.call for site in facts.sites if site.id in REQUESTS]
    return parent in requests and parent is not facts.flows.parents[array]


@dataclass(frozen=True)
class _ResultPlan(Plan):
    """The result of a future, whose reads are those of arrays if the request is in lines."""

    own_edit: Edit
    reads: Sequence[ast.Subscript]

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits: a helper returns results as v1 did, and lines do not."""
        reads = () if decisions.calls_helper else lines.reads_of_arrays(self.reads)
        return [*reads, self.own_edit]


def results(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """``get_async_run_results(request)`` → ``request.result()``."""
    arguments = call_arguments(PARAMETERS["TS055"], call)
    request = arguments.get("request_id")
    wait = arguments.get("wait")
    if request is None or isinstance(request, ast.Constant):
        raise Refused("there are no numbers of requests any more: call result() of a future")
    form = "{0}.result()"
    if wait is not None and facts.constant(wait) is not True:
        is_done = "{0}.done()" if facts.constant(wait) is False else "{1} or {0}.done()"
        form = f"({form} if {is_done} else None)"

    reads = lines.reads_of(call, facts) if contexts.starts else []
    unsafe = (UnsafeChange.FUTURES,) if facts.beside.linked else ()
    edit = replaced(call, form, request, wait or "")
    return _ResultPlan("result() of a future", unsafe, edit, reads)

"""TS051 with names in literals, of a model that ``--server`` knows → lines of tritonclient."""

from __future__ import annotations

import ast
from typing import Mapping, NamedTuple, Sequence

from tritonclient_shim.core.model import ModelProfile
from tritonclient_shim.migrate.scopes import index, last_name
from tritonclient_shim.rewrite.calls import owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.models import Carried, Form, context_arguments
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import protocol_of

_UNSAFE = "an array of another datatype than the model's is refused, and results can be read only"
_PRIMARY = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
#: Functions that read a list of rows and an array with equal results.
_READING = frozenset(("len", "array", "asarray", "stack", "concatenate", "enumerate", "zip"))
#: Ids of uses that a request in lines may have inside: itself, and the formats of its outputs.
_INSIDE = frozenset(("TS002", "TS051", "TS062", "TS063", "TS109"))


class _Input(NamedTuple):
    """An input of a request, as text."""

    tensor: str  # the arguments of InferInput
    array: str


class _Output(NamedTuple):
    """An output of a request, as text. ``classes``: how many it has, '' for an array."""

    name: str
    classes: str


def in_lines(
    call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft, carried: Carried
) -> Plan | None:
    """Return the plan for ``x = context.run({…}, {…})``; None if not all of it is literal."""
    inputs, outputs = arguments["inputs"], arguments["outputs"]
    creations = [context_arguments(item, "TS050", draft) for item in carried.group.creations]
    protocols = {protocol_of(item["protocol"], draft) for item in creations}
    model = draft.options.models.get(str(draft.constant(creations[0]["model_name"])))
    if model is None or len(protocols) > 1 or "" in protocols:
        return None
    if carried.form is not Form.CLIENT or not _has_place(call, arguments, draft):
        return None
    if not isinstance(inputs, ast.Dict) or not isinstance(outputs, ast.Dict):
        return None
    tensors = [_input(*item, model, draft) for item in zip(inputs.keys, inputs.values)]
    wanted = [_output(*item, draft) for item in zip(outputs.keys, outputs.values)]
    known = [item for item in tensors if item], [item for item in wanted if item]
    if None in (*tensors, *wanted) or not all(known):
        return None
    module = f"{protocols.pop()}client"
    return Plan(lambda: _write(call, module, model, *known, draft, carried), "infer", _UNSAFE)


def _has_place(call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft) -> bool:
    """True if lines can stand above the statement of a request.

    They lose comments. With an array of another size they raise another error than v1.
    """
    statement = draft.flows.parents[call]
    inside = {id(node) for node in ast.walk(call)}
    ids = {site.id for site in draft.sites if id(site.node) in inside or site.call is call}
    return (
        draft.options.unsafe
        and isinstance(statement, (ast.Assign, ast.Return))
        and draft.edits.has_lines(statement)
        and ids <= _INSIDE
        and set(arguments) <= {"inputs", "outputs", "batch_size"}
        and "#" not in draft.text(call)
        and not draft.is_tried(call)
    )


def _input(
    key: ast.expr | None, value: ast.expr, model: ModelProfile, draft: Draft
) -> _Input | None:
    known = model.inputs.get(str(draft.constant(key)))
    rows = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    if key is None or known is None or not rows:
        return None
    if any(isinstance(row, ast.Starred) for row in rows):
        return None
    if known.datatype in ("", "BYTES") or known.scalar:
        return None
    texts = [draft.text(row) for row in rows]
    dims: Sequence[object] = known.dims
    if min(known.dims, default=1) < 0:
        if len(rows) > 1 or not isinstance(rows[0], ast.Name):
            return None
        dims = [f"*{texts[0]}.shape"]
    shape = ", ".join(map(str, [len(rows), *dims] if model.batching else dims))
    array = texts[0] if isinstance(rows[0], _PRIMARY) else f"({texts[0]})"
    if len(texts) > 1:
        array = f"np.stack([{', '.join(texts)}])"
    tensor = f'{draft.text(key)}, [{shape}], "{known.datatype}"'
    return _Input(tensor, f"{array}.reshape({shape})")


def _output(key: ast.expr | None, value: ast.expr, draft: Draft) -> _Output | None:
    if not isinstance(key, ast.Constant):
        return None
    if isinstance(value, ast.Attribute) and value.attr == "RAW":
        return _Output(draft.text(key), "")
    pair = value.elts if isinstance(value, ast.Tuple) else []
    is_classes = len(pair) == 2 and getattr(pair[0], "attr", "") == "CLASS"
    return _Output(draft.text(key), draft.text(pair[1])) if is_classes else None


def _write(
    call: ast.Call,
    module: str,
    model: ModelProfile,
    tensors: Sequence[_Input],
    wanted: Sequence[_Output],
    draft: Draft,
    carried: Carried,
) -> None:
    """Write the lines above the statement of a request, and the results into it."""
    inputs, outputs, answer = map(draft.called, ("inputs", "outputs", "answer"))
    infer = f"{draft.text(owner(call))}.infer({carried.name()}, {inputs}, outputs={outputs}"
    options = "".join(f", {key}={value}" for key, value in carried.options().items())
    requested = (f"{x.name}, class_count={x.classes}" if x.classes else x.name for x in wanted)
    lines = [
        f"{inputs} = " + _bracketed("[]", [f"{module}.InferInput({x.tensor})" for x in tensors]),
        *(f"{inputs}[{n}].set_data_from_numpy({x.array})" for n, x in enumerate(tensors)),
        f"{outputs} = "
        + _bracketed("[]", [f"{module}.InferRequestedOutput({x})" for x in requested]),
    ]
    if any("np.stack(" in line for line in lines):
        draft.imports.add("import numpy as np")
    if any(output.classes for output in wanted):
        draft.need("class_of")
    statement = draft.edits.statement(call)
    reads = _reads(call, draft)
    if reads and model.batching and not any(output.classes for output in wanted):
        draft.replace(call, f"{infer}{options})")
        for read in reads:
            name = draft.text(read.value), draft.text(index(read))
            draft.replace(read, "{}.as_numpy({})".format(*name))
    else:
        lines.append(f"{answer} = {infer}{options})")
        results = [_result(output, answer, model.batching, draft) for output in wanted]
        draft.replace(call, _bracketed("{}", results, " " * statement.col_offset))
    draft.edits.before[statement] += lines


def _reads(call: ast.Call, draft: Draft) -> list[ast.Subscript]:
    """Return all reads of the results, if an array can replace each list of rows; else nothing."""
    target = getattr(draft.flows.parents[call], "targets", [None])[0]
    if not isinstance(target, ast.Name) or target.id in draft.beside.taken:
        return []
    reads = []
    for node in ast.walk(draft.source.tree):
        if not isinstance(node, ast.Name) or node.id != target.id or node is target:
            continue
        values = [item.definition.node for item in draft.evaluator.scopes.bindings(node)]
        read = draft.flows.parents[node]
        if call not in values:
            continue
        outer = draft.flows.parents[read]
        if not isinstance(read, ast.Subscript) or not isinstance(index(read), ast.Constant):
            return []
        if len(values) > 1 or not _takes_array(outer, read):
            return []
        reads.append(read)
    return reads


def _takes_array(outer: ast.AST, rows: ast.AST) -> bool:
    """True if an array does in an expression what a list of its rows does."""
    if isinstance(outer, ast.Subscript):
        return outer.value is rows and isinstance(outer.ctx, ast.Load)
    if isinstance(outer, (ast.For, ast.comprehension)):
        return outer.iter is rows
    return isinstance(outer, ast.Call) and last_name(outer.func) in _READING


def _result(output: _Output, answer: str, batching: bool, draft: Draft) -> str:
    """Return an output with its rows, as an entry of a dict."""
    array = f"{answer}.as_numpy({output.name})"
    if output.classes:
        rows, class_of = array if batching else f"[{array}]", draft.called("class_of")
        return f"{output.name}: [[{class_of}(text) for text in row.flat] for row in {rows}]"
    return f"{output.name}: " + (f"list({array})" if batching else f"[{array}]")


def _bracketed(brackets: str, items: Sequence[str], indent: str = "") -> str:
    """Return items in brackets, on lines of their own if there are several."""
    if len(items) == 1:
        return f"{brackets[0]}{items[0]}{brackets[1]}"
    lines = "".join(f"{indent}    {item},\n" for item in items)
    return f"{brackets[0]}\n{lines}{indent}{brackets[1]}"

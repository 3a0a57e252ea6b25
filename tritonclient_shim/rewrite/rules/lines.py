"""TS051 to TS055, of a model that ``--server`` knows → lines of tritonclient."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import takewhile
from typing import Callable, Mapping, Sequence, Tuple

from tritonclient_shim.core.model import ModelProfile
from tritonclient_shim.migrate.scopes import index, last_name
from tritonclient_shim.rewrite.calls import owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.models import Contexts, Form, context_arguments
from tritonclient_shim.rewrite.rules.names import protocol_of

UNSAFE = "an array of another datatype than the model's is refused, and results can be read only"
_REQUESTS = ("TS051", "TS052", "TS053", "TS054")
#: A file with more requests calls a function for each.
_MOST = 6
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
#: Expressions that evaluate their parts later, several times, or not at all.
_DEFERRING = (
    *(ast.Lambda, ast.IfExp, ast.BoolOp),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
#: Functions that read a list of rows and an array with equal results.
_READING = frozenset(
    ("len", "array", "asarray", "stack", "concatenate", "squeeze", "enumerate", "zip")
    + ("argmax", "allclose", "array_equal")
)
_VARIABLE = (ast.Name, ast.Attribute)
#: The name of a tensor, and its rows or its format.
_Item = Tuple[ast.expr, ast.expr]


@dataclass(frozen=True)
class Lines:
    """A request in lines of tritonclient. The texts have all changes of the parts of its call."""

    call: ast.Call
    options: Callable[[], Sequence[str]]  # further arguments of ``infer``
    contexts: Contexts
    draft: Draft
    model: ModelProfile
    module: str  # of the client
    inputs: list[_Item]
    outputs: list[_Item]

    @property
    def has_rows(self) -> bool:
        """True if each output is an array with a row for each entry of the batch."""
        return self.model.batching and not any(map(_classes, self.outputs))

    def above(self) -> list[str]:
        """Return the lines above the statement of a request."""
        name, lines = self.draft.called("inputs"), []
        for number, (key, rows) in enumerate(self.inputs):
            kind, array = self._tensor(key, rows)
            tensor = f"{self.module}.InferInput({self.draft.new(key)}, {kind})"
            lines.append(f"{name}.append({tensor})" if number else f"{name} = [{tensor}]")
            lines.append(f"{name}[{number}].set_data_from_numpy({array})")
        if len(self.outputs) > 1:
            lines.append(f"{self.draft.called('outputs')} = {self._requested()}")
        return lines

    def _tensor(self, key: ast.expr, rows: ast.expr) -> tuple[str, str]:
        """Return an input's shape and datatype, and its array."""
        draft, known = self.draft, self.model.inputs[str(self.draft.constant(key))]
        first = _first(rows)
        assert first is not None
        row = draft.primary(first)
        if isinstance(rows, _VARIABLE):
            row, count = f"{row}[0]", f"len({row})"
        else:
            repeats = rows.right if isinstance(rows, ast.BinOp) else None
            count = draft.new(repeats) if repeats else str(len(_elements(rows)))
        is_tried = draft.is_tried(self.call)  # errors of the server are caught then, NumPy's not
        is_open = min(known.dims, default=1) < 0 or is_tried and isinstance(first, _VARIABLE)
        dims = [f"*{row}.shape"] if is_open else list(map(str, known.dims))
        shape = ", ".join([count, *dims] if self.model.batching else dims)
        text = ".astype(object)" if known.datatype == "BYTES" else ""
        array = f"{row}{text}" if is_tried else f"{row}{text}.reshape({shape})"
        if self.model.batching and (count != "1" or is_tried):
            draft.imports.add("import numpy as np")
            array = f"np.stack({draft.new(rows)}){text}"
        return f'[{shape}], "{known.datatype}"', array

    def _output(self) -> tuple[str, str]:
        """Return the name of an output, and the loop over the names if there are several."""
        names = [self.draft.new(key) for key, _ in self.outputs]
        return (names[0], "") if len(names) == 1 else ("name", f" for name in ({', '.join(names)})")

    def _requested(self) -> str:
        """Return a list of the outputs."""
        (name, loop), count = self._output(), _classes(self.outputs[0])
        more = f", class_count={self.draft.new(count)}" if count else ""
        return f"[{self.module}.InferRequestedOutput({name}{more}){loop}]"

    def parameters(self) -> str:
        """Return the arguments of ``infer``."""
        draft = self.draft
        outputs = self._requested() if len(self.outputs) == 1 else draft.called("outputs")
        parts = [self.contexts.name(), draft.called("inputs"), f"outputs={outputs}"]
        return ", ".join([*parts, *self.options()])

    def results(self, answer: str) -> str:
        """Return the results as v1 had them: a list of rows for each name."""
        name, loop = self._output()
        array = f"{answer}.as_numpy({name})"
        rows = array if self.model.batching else f"[{array}]"
        if _classes(self.outputs[0]):
            class_of = self.draft.called("class_of")
            rows = f"[[{class_of}(text) for text in row.flat] for row in {rows}]"
        elif self.model.batching:
            rows = f"list({rows})"
        return f"{{{name}: {rows}{loop}}}"


def lines_of(
    call: ast.Call,
    arguments: Mapping[str, ast.expr],
    options: Callable[[], Sequence[str]],
    draft: Draft,
    contexts: Contexts,
) -> Lines | None:
    """Return the lines for a request; None if they need what is not known."""
    known = draft.options.models
    if not known or not draft.options.unsafe or contexts.form is not Form.CLIENT:
        return None
    creations = [context_arguments(item, "TS050", draft) for item in contexts.group.creations]
    protocols = {protocol_of(item["protocol"], draft) for item in creations}
    model = known.get(str(draft.constant(creations[0]["model_name"])))
    inputs, outputs = _items(arguments["inputs"]), _items(arguments["outputs"])
    if model is None or len(protocols) > 1 or not inputs or not outputs:
        return None
    has_inputs = all(_is_input(*item, model, draft) for item in inputs)
    has_outputs = all(_is_output(*item, len(outputs), draft) for item in outputs)
    is_plain = not arguments.keys() & {"priority", "timeout_us"} and _has_place(call, draft)
    protocol = protocols.pop()
    if not (protocol and has_inputs and has_outputs and is_plain):
        return None
    return Lines(call, options, contexts, draft, model, f"{protocol}client", inputs, outputs)


def _has_place(call: ast.Call, draft: Draft) -> bool:
    """True if lines can stand above the statement of a request. They lose comments."""
    requests = [site.call for site in draft.sites if site.id in _REQUESTS and site.call]
    statement = draft.edits.statement(call)
    around = takewhile(lambda node: node is not statement, draft.flows.around(call))
    return (
        isinstance(statement, _STATEMENTS)
        and draft.edits.has_lines(statement)
        and not any(isinstance(node, _DEFERRING) for node in around)
        and len(requests) <= _MOST
        and [draft.edits.statement(other) for other in requests].count(statement) == 1
        and "#" not in draft.text(call)
    )


def write(lines: Lines, call: ast.Call, draft: Draft) -> None:
    """Write the lines of a synchronous request, and its results into its statement."""
    above = draft.edits.before[draft.edits.statement(call)]
    above.append(lambda: "\n".join(lines.above()))

    def infer() -> str:
        return f"{draft.new(owner(call))}.infer({lines.parameters()})"

    reads = reads_of(call, draft) if lines.has_rows else []
    if reads or isinstance(draft.flows.parents[call], ast.Expr):
        draft.change(call, lambda old: infer())
        read_arrays(reads, draft)
        return
    answer = draft.called("answer")
    above.append(lambda: f"{answer} = {infer()}")
    if draft.has_classes:
        draft.need("class_of")
    draft.change(call, lambda old: lines.results(answer))


def read_arrays(reads: Sequence[ast.Subscript], draft: Draft) -> None:
    """Read results with ``as_numpy``."""
    for read in reads:
        draft.write(read, "{0}.as_numpy({1})", read.value, index(read))


def reads_of(call: ast.Call, draft: Draft) -> list[ast.Subscript]:
    """Return all reads of the results, if an array can replace each list of rows; else nothing."""
    reads = draft.around_result(call)
    known = [read for read in reads if isinstance(read, ast.Subscript) and _is_read(read, draft)]
    bindings = [item for read in known for item in draft.evaluator.scopes.bindings(read.value)]
    others = [item.node for item in bindings if item.node is not call]
    # None is what a program has before the results
    is_only = all(getattr(value, "value", ...) is None for value in others)
    is_taken = any(getattr(read.value, "id", ...) in draft.beside.taken for read in known)
    return known if len(known) == len(reads) and is_only and not is_taken else []


def _is_read(read: ast.Subscript, draft: Draft) -> bool:
    """True if an array does for a read of a list of rows."""
    outer = draft.flows.parents[read]
    if isinstance(outer, ast.Subscript):
        return outer.value is read and isinstance(outer.ctx, ast.Load)
    if isinstance(outer, (ast.For, ast.comprehension)):
        return outer.iter is read
    return isinstance(outer, ast.Call) and last_name(outer.func) in _READING


def _items(node: ast.expr) -> list[_Item]:
    """Return the keys and values of a dict; nothing if one is hidden."""
    items = list(zip(node.keys, node.values)) if isinstance(node, ast.Dict) else []
    known = [(key, value) for key, value in items if key]
    return known if len(known) == len(items) else []


def _is_input(name: ast.expr, rows: ast.expr, model: ModelProfile, draft: Draft) -> bool:
    """True if shape and datatype of an input are known."""
    known, first = model.inputs.get(str(draft.constant(name))), _first(rows)
    if known is None or first is None or known.scalar or known.datatype in ("", "BF16"):
        return False
    if not model.batching and not isinstance(rows, _VARIABLE) and len(_elements(rows)) != 1:
        return False
    return min(known.dims, default=1) >= 0 or isinstance(first, _VARIABLE)


def _is_output(name: ast.expr, value: ast.expr, count: int, draft: Draft) -> bool:
    """True if an output may be repeated, and its format is known."""
    is_array = not draft.has_classes or getattr(value, "attr", "") == "RAW"
    return isinstance(name, (ast.Constant, ast.Name)) and (
        is_array or (count == 1 and isinstance(value, ast.Tuple))
    )


def _classes(output: _Item) -> ast.expr | None:
    """Return how many classes an output has; None for an array."""
    pair = output[1].elts if isinstance(output[1], ast.Tuple) else []
    return pair[1] if len(pair) == 2 else None


def _first(rows: ast.expr) -> ast.expr | None:
    """Return the first row of a batch, or the variable that has the rows; None if unknown."""
    if isinstance(rows, _VARIABLE):
        return rows
    repeated = rows.left if isinstance(rows, ast.BinOp) and isinstance(rows.op, ast.Mult) else None
    elements = _elements(repeated or rows)
    return elements[0] if len(elements) == 1 or (elements and not repeated) else None


def _elements(rows: ast.expr) -> list[ast.expr]:
    """Return the elements of a list; nothing if one is hidden."""
    elements = rows.elts if isinstance(rows, (ast.List, ast.Tuple)) else []
    return [] if any(isinstance(row, ast.Starred) for row in elements) else elements

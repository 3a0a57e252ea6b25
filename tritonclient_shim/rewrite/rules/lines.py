"""TS051 to TS055, of a model that ``--server`` knows → lines of tritonclient."""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import Mapping, Sequence, Tuple

from tritonclient_shim.core.model import ModelProfile
from tritonclient_shim.migrate.scopes import index, last_name
from tritonclient_shim.rewrite.calls import NewArgument, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.constants import protocol_of
from tritonclient_shim.rewrite.rules.models import Contexts, Form, context_arguments

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
_PRIMARY = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
#: Functions that read a list of rows and an array with equal results.
_READING = frozenset(
    ("len", "array", "asarray", "stack", "concatenate", "squeeze", "enumerate", "zip")
    + ("argmax", "allclose", "array_equal")
)
#: The name of a tensor, and its rows or its format.
_Item = Tuple[ast.expr, ast.expr]


class Lines:
    """A request in lines of tritonclient. The texts have all changes of the parts of its call."""

    def __init__(
        self,
        call: ast.Call,
        arguments: Mapping[str, ast.expr],
        options: Sequence[NewArgument],
        model: ModelProfile,
        draft: Draft,
        contexts: Contexts,
    ) -> None:
        self._call, self._options, self._model = call, options, model
        self._draft, self._carried = draft, contexts
        inputs, self._outputs = arguments["inputs"], arguments["outputs"]
        self._tensors, self._wanted = _items(inputs), _items(self._outputs)
        creations = [context_arguments(item, "TS050", draft) for item in contexts.group.creations]
        protocols = {protocol_of(item["protocol"], draft) for item in creations}
        self._module = f"{protocols.pop()}client" if len(protocols) == 1 else "client"

    @property
    def is_known(self) -> bool:
        """True if the protocol and all tensors are known."""
        has_outputs = all(_is_output(*item, self._draft) for item in self._wanted)
        if not self._wanted:
            has_outputs = isinstance(self._outputs, ast.Name) and not self._draft.has_classes
        has_inputs = bool(self._tensors) and all(map(self._is_input, self._tensors))
        return self._module != "client" and has_outputs and has_inputs

    @property
    def reads(self) -> list[ast.Subscript]:
        """Return all reads of the results, if arrays can replace them; else nothing."""
        return reads_of(self._call, self._draft) if self.has_rows else []

    @property
    def has_rows(self) -> bool:
        """True if each output is an array with a row for each entry of the batch."""
        return self._model.batching and not any(map(_classes, self._wanted))

    def _is_input(self, tensor: _Item) -> bool:
        """True if shape and datatype of an input are known."""
        known = self._model.inputs.get(str(self._draft.constant(tensor[0])))
        first = _batch(tensor[1])[1]
        if known is None or first is None or known.scalar or known.datatype in ("", "BF16"):
            return False
        if known.datatype == "BYTES" and not _is_text(first, self._draft):
            return False
        return min(known.dims, default=1) >= 0 or isinstance(first, (ast.Name, ast.Attribute))

    # --- texts

    def above(self) -> list[str]:
        """Return the lines above the statement of a request."""
        draft, module, name = self._draft, self._module, self._draft.called("inputs")
        keys = [draft.new(key) for key, _ in self._tensors]
        kinds, arrays = zip(*(self._tensor(*item) for item in self._tensors))
        if len(keys) > 1 and len(set(kinds)) == 1:
            made = f"[{module}.InferInput(name, {kinds[0]}) for name in ({', '.join(keys)})]"
        else:
            tensors = [f"{module}.InferInput({key}, {kind})" for key, kind in zip(keys, kinds)]
            made = _bracketed("[]", tensors)
        lines = [f"{name} = {made}"]
        lines += [f"{name}[{n}].set_data_from_numpy({x})" for n, x in enumerate(arrays)]
        if len(self._wanted) != 1:
            lines.append(f"{draft.called('outputs')} = {self._requested()}")
        return lines

    def _tensor(self, key: ast.expr, rows: ast.expr) -> tuple[str, str]:
        """Return an input's shape and datatype, and its array."""
        draft, known = self._draft, self._model.inputs[str(self._draft.constant(key))]
        (count, first), is_list = _batch(rows), isinstance(rows, (ast.Name, ast.Attribute))
        assert first is not None
        row = draft.new(first) if isinstance(first, _PRIMARY) else f"({draft.new(first)})"
        row, count = (f"{row}[0]", f"len({row})") if is_list else (row, count)
        if isinstance(rows, ast.BinOp):
            count = draft.new(rows.right)
        dims = list(map(str, known.dims)) if min(known.dims, default=1) >= 0 else [f"*{row}.shape"]
        shape = ", ".join([count, *dims] if self._model.batching else dims)
        array = f"{row}.reshape({shape})"
        if self._model.batching and (count != "1" or draft.is_tried(self._call)):
            draft.imports.add("import numpy as np")
            array = f"np.stack({draft.new(rows)})"
        return f'[{shape}], "{known.datatype}"', array

    def _requested(self) -> str:
        """Return a list of the outputs."""
        requested = f"{self._module}.InferRequestedOutput"
        if len(self._wanted) != 1 and not any(map(_classes, self._wanted)):
            return f"[{requested}(name) for name in {self._names()}]"
        outputs = []
        for key, value in self._wanted:
            count = _classes((key, value))
            more = f", class_count={self._draft.new(count)}" if count else ""
            outputs.append(f"{requested}({self._draft.new(key)}{more})")
        return _bracketed("[]", outputs)

    def _names(self) -> str:
        """Return the names of several outputs, or what has them."""
        names = [self._draft.new(key) for key, _ in self._wanted]
        return f"({', '.join(names)})" if names else self._draft.new(self._outputs)

    def infer(self) -> str:
        """Return the request."""
        return f"{self._draft.new(owner(self._call))}.infer({self.parameters()})"

    def parameters(self) -> str:
        """Return the arguments of ``infer``."""
        draft = self._draft
        outputs = self._requested() if len(self._wanted) == 1 else draft.called("outputs")
        options = [item if isinstance(item, str) else item() for item in self._options]
        parts = [self._carried.name(), draft.called("inputs"), f"outputs={outputs}", *options]
        return ", ".join(parts)

    def results(self, answer: str) -> str:
        """Return the results as v1 had them: a list of rows for each name."""
        if len(self._wanted) != 1 and not any(map(_classes, self._wanted)):
            entry = self._rows(f"{answer}.as_numpy(name)", None)
            return f"{{name: {entry} for name in {self._names()}}}"
        entries = []
        for key, value in self._wanted:
            name = self._draft.new(key)
            rows = self._rows(f"{answer}.as_numpy({name})", _classes((key, value)))
            entries.append(f"{name}: {rows}")
        indent = " " * self._draft.edits.statement(self._call).col_offset
        return _bracketed("{}", entries, indent)

    def _rows(self, array: str, classes: ast.expr | None) -> str:
        """Return an output as a list of its rows."""
        rows = array if self._model.batching else f"[{array}]"
        if classes:
            class_of = self._draft.called("class_of")
            return f"[[{class_of}(text) for text in row.flat] for row in {rows}]"
        return f"list({rows})" if self._model.batching else rows


def lines_of(
    call: ast.Call,
    arguments: Mapping[str, ast.expr],
    options: Sequence[NewArgument],
    draft: Draft,
    contexts: Contexts,
) -> Lines | None:
    """Return the lines for a request; None if they need what is not known."""
    known = draft.options.models
    if not known or not draft.options.unsafe or contexts.form is not Form.CLIENT:
        return None
    if arguments.keys() & {"priority", "timeout_us"}:
        return None
    first = context_arguments(contexts.group.creations[0], "TS050", draft)
    model = known.get(str(draft.constant(first["model_name"])))
    if model is None or not _has_place(call, draft):
        return None
    lines = Lines(call, arguments, options, model, draft, contexts)
    return lines if lines.is_known else None


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
    if lines.reads or isinstance(draft.flows.parents[call], ast.Expr):
        draft.change(call, lambda old: lines.infer())
        read_arrays(lines.reads, draft)
        return
    answer = draft.called("answer")
    above.append(lambda: f"{answer} = {lines.infer()}")
    if draft.has_classes:
        draft.need("class_of")
    draft.change(call, lambda old: lines.results(answer))


def read_arrays(reads: Sequence[ast.Subscript], draft: Draft) -> None:
    """Read results with ``as_numpy``."""

    def change(read: ast.Subscript) -> None:
        draft.change(
            read, lambda old: f"{draft.new(read.value)}.as_numpy({draft.new(index(read))})"
        )

    for read in reads:
        change(read)


def reads_of(call: ast.Call, draft: Draft) -> list[ast.Subscript]:
    """Return all reads of the results, if an array can replace each list of rows; else nothing."""
    parent = draft.flows.parents[call]
    target = getattr(parent, "targets", [None])[0]
    names: list[ast.AST] = [call] if isinstance(parent, ast.Subscript) else []
    if isinstance(target, ast.Name) and target.id not in draft.beside.taken:
        for node in ast.walk(draft.source.tree):
            if isinstance(node, ast.Name) and node.id == target.id and node is not target:
                bindings = draft.evaluator.scopes.bindings(node)
                values = [item.definition.node for item in bindings]
                others = [value for value in values if value is not call]
                if call not in values or not isinstance(node.ctx, ast.Load):
                    continue
                if any(getattr(value, "value", ...) is not None for value in others):
                    return []  # None is what a program has before the results
                names.append(node)
    reads = [draft.flows.parents[name] for name in names]
    known = [read for read in reads if isinstance(read, ast.Subscript) and _is_read(read, draft)]
    return known if len(known) == len(reads) else []


def _is_read(read: ast.Subscript, draft: Draft) -> bool:
    """True if an array does for a read of a list of rows."""
    if not isinstance(index(read), (ast.Constant, ast.Name)):
        return False
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


def _is_output(name: ast.expr, value: ast.expr, draft: Draft) -> bool:
    """True if an output may be repeated, and its format is known."""
    is_known = not draft.has_classes or getattr(value, "attr", "") == "RAW"
    return isinstance(name, (ast.Constant, ast.Name)) and (is_known or isinstance(value, ast.Tuple))


def _classes(output: _Item) -> ast.expr | None:
    """Return how many classes an output has; None for an array."""
    pair = output[1].elts if isinstance(output[1], ast.Tuple) else []
    return pair[1] if len(pair) == 2 else None


def _batch(rows: ast.expr) -> tuple[str, ast.expr | None]:
    """Return how many rows a batch has, and the first one, or what has them; None if unknown."""
    if isinstance(rows, (ast.Name, ast.Attribute)):
        return "", rows
    if isinstance(rows, ast.BinOp) and isinstance(rows.op, ast.Mult):
        count, first = _batch(rows.left)
        return "", first if count == "1" else None
    elements = rows.elts if isinstance(rows, (ast.List, ast.Tuple)) else []
    if not elements or any(isinstance(row, ast.Starred) for row in elements):
        return "", None
    return str(len(elements)), elements[0]


def _is_text(row: ast.expr, draft: Draft) -> bool:
    """True if an array of objects is made where it can be seen."""
    bindings = draft.evaluator.scopes.bindings(row) if isinstance(row, ast.Name) else []
    value = bindings[0].definition.node if len(bindings) == 1 else row
    if not isinstance(value, ast.Call):
        return False
    types = [keyword.value for keyword in value.keywords if keyword.arg == "dtype"]
    types += value.args[:1] if last_name(value.func) == "astype" else []
    return any(last_name(item) in ("object", "object_", "bytes_") for item in types)


def _bracketed(brackets: str, items: Sequence[str], indent: str = "") -> str:
    """Return items in brackets, on lines of their own if there are several."""
    if len(items) == 1:
        return f"{brackets[0]}{items[0]}{brackets[1]}"
    lines = "".join(f"{indent}    {item},\n" for item in items)
    return f"{brackets[0]}\n{lines}{indent}{brackets[1]}"

"""Requests (TS051 to TS055), and their lines of tritonclient.

``--server`` knows the model of a request, or the request shows that the model takes batches.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Mapping, Sequence, Tuple

from tritonclient_shim.migrate.draft import Draft, owner
from tritonclient_shim.migrate.rules.models import REQUESTS, Contexts, Form, context_arguments
from tritonclient_shim.migrate.rules.names import protocol_of
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.scopes import index, last_name
from tritonclient_shim.servers.base import ModelProfile

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
_Item = Tuple[Any, ast.expr]


@dataclass(frozen=True)
class Request:
    """A call that sends a request."""

    call: ast.Call
    arguments: Mapping[str, ast.expr]
    draft: Draft
    contexts: Contexts

    def options(self) -> list[str]:
        """Return the version of the model and the sequence as arguments of ``infer``."""
        draft, contexts = self.draft, self.contexts
        if contexts.form is Form.OBJECT:
            return []
        options = contexts.options() if contexts.form is Form.CLIENT else {}
        corr_id, flags = self.arguments.get("corr_id"), self.arguments.get("flags")
        if corr_id is not None and draft.constant(corr_id):
            options["sequence_id"] = f"int({draft.text(corr_id)})"
        if flags is not None and draft.constant(flags) not in (0, None):
            first = again = draft.primary(flags)
            if any(isinstance(part, ast.Call) for part in ast.walk(flags)):  # it is called once
                again = draft.called("flags")
                first = f"({again} := {draft.new(flags)})"
            options["sequence_start"] = f"bool({first} & {draft.flag('START')})"
            options["sequence_end"] = f"bool({again} & {draft.flag('END')})"
        return [f"{key}={value}" for key, value in options.items()]


@dataclass(frozen=True)
class Lines(Request):
    """A request in lines of tritonclient. The texts have all changes of the parts of its call."""

    model: ModelProfile | None  # None for an unknown one that takes batches
    protocol: str  # of the client
    inputs: list[_Item]
    outputs: list[_Item]

    @property
    def module(self) -> str:
        """Return the name of tritonclient's module for the protocol."""
        return client_module(self.protocol, self.draft)

    @property
    def batches(self) -> bool:
        """True if arrays have a row for each entry of the batch."""
        return self.model is None or self.model.batching

    @property
    def has_rows(self) -> bool:
        """True if each output is an array with a row for each entry of the batch."""
        return self.batches and not any(_classes(value) for _, value in self.outputs)

    def write(self, pool: str = "") -> None:
        """Write lines above the statement of a request, and the request or its results into it.

        A thread of the pool, if there is one, sends the request.
        """
        call, draft = self.call, self.draft
        above = draft.edits.before[draft.edits.statement(call)]
        above.append(lambda: "\n".join(self._tensors()))
        reads = reads_of(call, draft) if self.has_rows and not pool else []
        if pool or reads or draft.is_dropped(call):
            draft.change(call, lambda old: self._infer(pool))
            read_arrays(reads, draft)
            return
        answer = draft.called("answer")
        above.append(lambda: f"{answer} = {self._infer()}")
        draft.helpers.add("class_of")
        draft.change(call, lambda old: self._results(answer))

    def _tensors(self) -> list[str]:
        """Return the lines that make the inputs, and the outputs if there are several."""
        draft, lines = self.draft, []
        name, array = draft.called("inputs"), draft.called("array")
        for number, (key, value) in enumerate(self.inputs):
            text, datatype = self._array(key, value)
            tensor = f"{self.module}.InferInput({draft.new(key)}, {array}.shape, {datatype})"
            lines.append(f"{array} = {text}")
            lines.append(f"{name}.append({tensor})" if number else f"{name} = [{tensor}]")
            lines.append(f"{name}[{number}].set_data_from_numpy({array})")
        if len(self.outputs) > 1:
            lines.append(f"{draft.called('outputs')} = {self._requested()}")
        return lines

    def _array(self, key: ast.expr, value: ast.expr) -> tuple[str, str]:
        """Return the array of an input, and its datatype."""
        draft, rows, batch = self.draft, _rows(value), self.draft.new(value)
        numpy = draft.imported("import numpy as np")
        if self.model is None:
            dtype = draft.imported("from tritonclient.utils import np_to_triton_dtype")
            draft.helpers.add("stacked")
            return f"{draft.called('stacked')}({batch})", f"{dtype}({draft.called('array')}.dtype)"
        known = self.model.inputs[str(draft.constant(key))]
        if not self.batches:
            first = draft.new(rows[0]) if rows else f"{draft.primary(value)}[0]"
            array = f"{numpy}.asarray({first})"
        elif len(rows) == 1 or not (draft.is_caught(self.call) or draft.beside.linked):
            array = f"{numpy}.stack({batch})"
        else:  # its error for rows of several shapes is caught as the server's are
            draft.helpers.add("stacked")
            array = f"{draft.called('stacked')}({batch})"
        text = ".astype(object)" if known.datatype == "BYTES" else ""
        return f"{array}{text}", draft.quoted(known.datatype)

    def _output(self) -> tuple[str, str]:
        """Return the name of an output, and the loop over the names if there are several."""
        names = [self.draft.new(key) for key, _ in self.outputs]
        return (names[0], "") if len(names) == 1 else ("name", f" for name in ({', '.join(names)})")

    def _requested(self) -> str:
        """Return a list of the outputs."""
        (name, loop), count = self._output(), _classes(self.outputs[0][1])
        more = f", class_count={self.draft.new(count)}" if count else ""
        return f"[{self.module}.InferRequestedOutput({name}{more}){loop}]"

    def _infer(self, pool: str = "") -> str:
        """Return the call that sends the request, or has a pool send it."""
        function, called = self.draft.primary(owner(self.call)), self.draft.called
        outputs = self._requested() if len(self.outputs) == 1 else called("outputs")
        parts = [called("inputs"), f"outputs={outputs}", *self.options()]
        if self.contexts.form is Form.CLIENT:
            function, parts = f"{function}.infer", [self.contexts.name(), *parts]
        start = f"{pool}.submit({function}, " if pool else f"{function}("
        return f"{start}{', '.join(parts)})"

    def _results(self, answer: str) -> str:
        """Return the results as v1 had them: a list of rows for each name."""
        name, loop = self._output()
        array = f"{answer}.as_numpy({name})"
        rows = array if self.batches else f"[{array}]"
        if _classes(self.outputs[0][1]):
            class_of = self.draft.called("class_of")
            rows = f"[[{class_of}(text) for text in row.flat] for row in {rows}]"
        elif self.batches:
            rows = f"list({rows})"
        return f"{{{name}: {rows}{loop}}}"


def lines_of(request: Request) -> Lines | None:
    """Return the lines for a request; None if they need what is not known."""
    draft, contexts, arguments = request.draft, request.contexts, request.arguments
    if not draft.options.allows(UnsafeChange.LINES) or contexts.form is Form.OBJECT:
        return None
    creations = [context_arguments(item, "TS050", draft) for item in contexts.group.creations]
    protocols = {protocol_of(item["protocol"], draft) for item in creations}
    model = draft.options.models.get(str(draft.constant(creations[0]["model_name"])))
    inputs, outputs = _items(arguments["inputs"]), _items(arguments["outputs"])
    if len(protocols) > 1 or "" in protocols or not inputs or not outputs:
        return None
    is_known = (
        all(_is_input(*item, model, draft) for item in inputs)
        and (model or _is_batch(arguments.get("batch_size"), draft) or _all_take_batches(draft))
        and all(_is_output(*item, len(outputs), draft) for item in outputs)
        and not arguments.keys() & {"priority", "timeout_us"}
    )
    if not is_known or not _has_place(request.call, draft):
        return None
    protocol = protocols.pop()
    return Lines(**vars(request), model=model, protocol=protocol, inputs=inputs, outputs=outputs)


def client_module(protocol: str, draft: Draft) -> str:
    """Return the name of tritonclient's module for a protocol, which the file imports."""
    return draft.imported(f"import tritonclient.{protocol} as {protocol}client")


def _has_place(call: ast.Call, draft: Draft) -> bool:
    """True if lines can stand above the statement of a request. They lose comments."""
    requests = [site.call for site in draft.sites if site.id in REQUESTS and site.call]
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


def read_arrays(reads: Sequence[ast.Subscript], draft: Draft) -> None:
    """Read results with ``as_numpy``."""
    for read in reads:
        draft.write(read, "{0}.as_numpy({1})", read.value, index(read))


def reads_of(call: ast.Call, draft: Draft) -> list[Any]:
    """Return all reads of the results, if an array can replace each list of rows; else nothing."""
    reads = draft.around_result(call)
    return reads if all(_is_read(read, call, draft) for read in reads) else []


def _is_read(read: ast.AST, call: ast.Call, draft: Draft) -> bool:
    """True if an array does for a read of a list of rows, where only results of a call are."""
    if not isinstance(read, ast.Subscript) or getattr(read.value, "id", ...) in draft.beside.taken:
        return False
    nodes = [item.node for item in draft.evaluator.scopes.bindings(read.value)]
    # None is what a program has before the results
    if any(node is not call and getattr(node, "value", ...) is not None for node in nodes):
        return False
    outer = draft.flows.parents[read]
    if isinstance(outer, ast.Subscript):
        return outer.value is read and isinstance(outer.ctx, ast.Load)
    if isinstance(outer, (ast.For, ast.comprehension)):
        return outer.iter is read
    return isinstance(outer, ast.Call) and last_name(outer.func) in _READING


def _items(node: ast.expr) -> list[_Item]:
    """Return the keys and values of a dict, with None for the key of a hidden one."""
    return list(zip(node.keys, node.values)) if isinstance(node, ast.Dict) else []


def _is_batch(size: ast.expr | None, draft: Draft) -> bool:
    """True if a request has a batch of any length, which no model without batches takes."""
    if size is None:
        return False
    known = draft.constant(size)
    nodes = [item.node for item in draft.evaluator.scopes.bindings(size)] or [size]
    lengths = (last_name(getattr(node, "func", node)) == "len" for node in nodes)
    return all(lengths) or isinstance(known, int) and known > 1


def _all_take_batches(draft: Draft) -> bool:
    """True if the file names models of the server, and all of these take batches."""
    nodes = ast.walk(draft.source.tree) if draft.options.models else ()
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    named = [model.batching for name, model in draft.options.models.items() if name in texts]
    return bool(named) and all(named)


def _is_input(
    name: ast.expr | None, value: ast.expr, model: ModelProfile | None, draft: Draft
) -> bool:
    """True if shape and datatype of an input are known, or are those of its array."""
    if model is None:  # tritonclient takes np.bytes_ in arrays of objects for text
        return name is not None and "bytes_" not in draft.flows.attributes
    known = model.inputs.get(str(draft.constant(name)))
    if known is None or known.datatype in ("", "BF16"):
        return False
    return model.batching or isinstance(value, _VARIABLE) or len(_rows(value)) == 1


def _is_output(name: ast.expr | None, value: ast.expr, count: int, draft: Draft) -> bool:
    """True if an output may be repeated, and its format is known."""
    is_array = not draft.has_classes or getattr(value, "attr", "") == "RAW"
    is_known = is_array or (count == 1 and _classes(value) is not None)
    return is_known and isinstance(name, (ast.Constant, *_VARIABLE))


def _classes(value: ast.expr) -> ast.expr | None:
    """Return how many classes an output has; None for an array."""
    return value.elts[1] if isinstance(value, ast.Tuple) and len(value.elts) == 2 else None


def _rows(value: ast.expr) -> list[ast.expr]:
    """Return the rows of a batch; [] if they are not in a list or tuple here."""
    rows = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    return [] if any(isinstance(row, ast.Starred) for row in rows) else rows

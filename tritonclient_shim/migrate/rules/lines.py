"""Requests (TS051 to TS055), and their lines of tritonclient.

``--server`` knows the model of a request, or the request shows that the model takes batches.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Mapping, Sequence, Tuple

from tritonclient_shim.migrate.edits import (
    Above,
    Edit,
    Import,
    NewText,
    Part,
    Replace,
    listed,
    new_text,
    replaced,
)
from tritonclient_shim.migrate.facts import FileFacts, owner
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
    facts: FileFacts
    contexts: Contexts

    def options(self) -> list[Part]:
        """Return the version of the model and the sequence as arguments of ``infer``."""
        facts = self.facts
        contexts = self.contexts
        if contexts.form is Form.OBJECT:
            return []
        options = contexts.options()
        corr_id = self.arguments.get("corr_id")
        flags = self.arguments.get("flags")
        if corr_id is not None and facts.constant(corr_id):
            options["sequence_id"] = f"int({facts.text(corr_id)})"
        if flags is not None and facts.constant(flags) not in (0, None):
            start = new_text("bool({0} & {FLAG_SEQUENCE_START})", flags)
            end = new_text("bool({0} & {FLAG_SEQUENCE_END})", flags)
            if any(isinstance(part, ast.Call) for part in ast.walk(flags)):  # it is called once
                variable = facts.free_name("flags")
                start = new_text("bool(({0} := {1}) & {FLAG_SEQUENCE_START})", variable, flags)
                end = new_text("bool({0} & {FLAG_SEQUENCE_END})", variable)
            options["sequence_start"] = start
            options["sequence_end"] = end
        return [new_text("{0}={1}", key, value) for key, value in options.items()]


@dataclass(frozen=True)
class Lines(Request):
    """A request in lines of tritonclient."""

    model: ModelProfile | None  # None for an unknown one that takes batches
    protocol: str  # of the client
    inputs: list[_Item]
    outputs: list[_Item]

    @property
    def batches(self) -> bool:
        """True if arrays have a row for each entry of the batch."""
        return self.model is None or self.model.batching

    @property
    def has_rows(self) -> bool:
        """True if each output is an array with a row for each entry of the batch."""
        return self.batches and not any(_classes(value) for _, value in self.outputs)

    def edits(self, pool: str = "") -> list[Edit]:
        """Return lines above the statement of a request, and the request or its results in it.

        A thread of the pool, if there is one, sends the request.
        """
        call = self.call
        facts = self.facts
        statement = facts.layout.statement(call)
        edits: list[Edit] = [Above(statement, line) for line in self._tensors()]
        reads = reads_of(call, facts) if self.has_rows and not pool else []
        if pool or reads or facts.is_dropped(call):
            return [*edits, Replace(call, self._infer(pool)), *reads_of_arrays(reads)]
        answer = facts.free_name("answer")
        edits.append(Above(statement, new_text("{0} = {1}", answer, self._infer())))
        return [*edits, Replace(call, self._results(answer))]

    def _tensors(self) -> list[NewText]:
        """Return the lines that make the inputs, and the outputs if there are several."""
        name = self.facts.free_name("inputs")
        array = self.facts.free_name("array")
        lines = []
        for number, (key, value) in enumerate(self.inputs):
            form = "{0}.append({1})" if number else "{0} = [{1}]"
            lines.append(new_text("{0} = {1}", array, self._array(key, value)))
            lines.append(new_text(form, name, self._input(key, array)))
            lines.append(new_text(f"{{0}}[{number}].set_data_from_numpy({{1}})", name, array))
        if len(self.outputs) > 1:
            outputs = self.facts.free_name("outputs")
            lines.append(new_text("{0} = {1}", outputs, self._requested()))
        return lines

    def _input(self, key: ast.expr, array: str) -> NewText:
        """Return the description of an input."""
        if self.model is None:
            to_datatype = Import("from tritonclient.utils import np_to_triton_dtype")
            datatype = new_text("{0}({1}.dtype)", to_datatype, array)
        else:
            known = self.model.inputs[str(self.facts.constant(key))]
            datatype = new_text("{0}", self.facts.quoted(known.datatype))
        module = client_module(self.protocol)
        return new_text("{0}.InferInput({1}, {2}.shape, {3})", module, key, array, datatype)

    def _array(self, key: ast.expr, value: ast.expr) -> NewText:
        """Return the array of an input."""
        if self.model is None:
            return new_text("{stacked}({0})", value)
        numpy = Import("import numpy as np")
        rows = _rows(value)
        may_raise = self.facts.is_caught(self.call) or self.facts.beside.linked
        if not self.batches and rows:
            array = new_text("{0}.asarray({1})", numpy, rows[0])
        elif not self.batches:
            array = new_text("{0}.asarray({1}[0])", numpy, value)
        elif len(rows) == 1 or not may_raise:
            array = new_text("{0}.stack({1})", numpy, value)
        else:  # its error for rows of several shapes is caught as the server's are
            array = new_text("{stacked}({0})", value)
        datatype = self.model.inputs[str(self.facts.constant(key))].datatype
        return new_text("{0}.astype(object)", array) if datatype == "BYTES" else array

    def _output(self) -> tuple[Part, Part]:
        """Return the name of an output, and the loop over the names if there are several."""
        names = [key for key, _ in self.outputs]
        if len(names) == 1:
            return names[0], ""
        return "name", new_text(" for name in ({0})", listed(names))

    def _requested(self) -> NewText:
        """Return a list of the outputs."""
        name, loop = self._output()
        count = _classes(self.outputs[0][1])
        arguments: list[Part] = [name]
        if count is not None:
            arguments.append(new_text("class_count={0}", count))
        module = client_module(self.protocol)
        return new_text("[{0}.InferRequestedOutput({1}){2}]", module, listed(arguments), loop)

    def _infer(self, pool: str = "") -> NewText:
        """Return the call that sends the request, or has a pool send it."""
        free_name = self.facts.free_name
        client = owner(self.call)
        outputs: Part = self._requested() if len(self.outputs) == 1 else free_name("outputs")
        parts: list[Part] = [free_name("inputs"), new_text("outputs={0}", outputs)]
        parts = [self.contexts.name(), *parts, *self.options()]
        function = new_text("{0}.infer", client)
        if pool:
            return new_text("{0}.submit({1})", pool, listed([function, *parts]))
        return new_text("{0}({1})", function, listed(parts))

    def _results(self, answer: str) -> NewText:
        """Return the results as v1 had them: a list of rows for each name."""
        name, loop = self._output()
        array = new_text("{0}.as_numpy({1})", answer, name)
        rows = array if self.batches else new_text("[{0}]", array)
        if _classes(self.outputs[0][1]):
            rows = new_text("[[{class_of}(text) for text in row.flat] for row in {0}]", rows)
        elif self.batches:
            rows = new_text("list({0})", rows)
        return new_text("{{{0}: {1}{2}}}", name, rows, loop)


def lines_of(request: Request) -> Lines | None:
    """Return the lines for a request; None if they need what is not known."""
    facts = request.facts
    contexts = request.contexts
    arguments = request.arguments
    if not facts.options.allows(UnsafeChange.LINES) or contexts.form is Form.OBJECT:
        return None
    creations = [context_arguments(item, "TS050", facts) for item in contexts.group.creations]
    protocols = {protocol_of(item["protocol"], facts) for item in creations}
    model = facts.options.models.get(str(facts.constant(creations[0]["model_name"])))
    inputs = _items(arguments["inputs"])
    outputs = _items(arguments["outputs"])
    if len(protocols) > 1 or "" in protocols or not inputs or not outputs:
        return None
    is_known = (
        all(_is_input(*item, model, facts) for item in inputs)
        and (model or _is_batch(arguments.get("batch_size"), facts) or _all_take_batches(facts))
        and all(_is_output(*item, len(outputs), facts) for item in outputs)
        and not arguments.keys() & {"priority", "timeout_us"}
    )
    if not is_known or not _has_place(request.call, facts):
        return None
    protocol = protocols.pop()
    return Lines(**vars(request), model=model, protocol=protocol, inputs=inputs, outputs=outputs)


def client_module(protocol: str) -> Import:
    """Return tritonclient's module for a protocol."""
    return Import(f"import tritonclient.{protocol} as {protocol}client")


def _has_place(call: ast.Call, facts: FileFacts) -> bool:
    """True if lines can stand above the statement of a request. They lose comments."""
    requests = [site.call for site in facts.sites if site.id in REQUESTS and site.call]
    statement = facts.layout.statement(call)
    around = takewhile(lambda node: node is not statement, facts.flows.around(call))
    return (
        isinstance(statement, _STATEMENTS)
        and facts.layout.has_lines(statement)
        and not any(isinstance(node, _DEFERRING) for node in around)
        and len(requests) <= _MOST
        and [facts.layout.statement(other) for other in requests].count(statement) == 1
        and "#" not in facts.text(call)
    )


def reads_of_arrays(reads: Sequence[ast.Subscript]) -> list[Replace]:
    """Read results with ``as_numpy``."""
    return [replaced(read, "{0}.as_numpy({1})", read.value, index(read)) for read in reads]


def reads_of(call: ast.Call, facts: FileFacts) -> list[Any]:
    """Return all reads of the results, if an array can replace each list of rows; else nothing."""
    reads = facts.around_result(call)
    return reads if all(_is_read(read, call, facts) for read in reads) else []


def _is_read(read: ast.AST, call: ast.Call, facts: FileFacts) -> bool:
    """True if an array does for a read of a list of rows, where only results of a call are."""
    if not isinstance(read, ast.Subscript) or getattr(read.value, "id", ...) in facts.beside.taken:
        return False
    nodes = [item.node for item in facts.evaluator.scopes.bindings(read.value)]
    # None is what a program has before the results
    if any(node is not call and getattr(node, "value", ...) is not None for node in nodes):
        return False
    outer = facts.flows.parents[read]
    if isinstance(outer, ast.Subscript):
        return outer.value is read and isinstance(outer.ctx, ast.Load)
    if isinstance(outer, (ast.For, ast.comprehension)):
        return outer.iter is read
    return isinstance(outer, ast.Call) and last_name(outer.func) in _READING


def _items(node: ast.expr) -> list[_Item]:
    """Return the keys and values of a dict, with None for the key of a hidden one."""
    return list(zip(node.keys, node.values)) if isinstance(node, ast.Dict) else []


def _is_batch(size: ast.expr | None, facts: FileFacts) -> bool:
    """True if a request has a batch of any length, which no model without batches takes."""
    if size is None:
        return False
    known = facts.constant(size)
    nodes = [item.node for item in facts.evaluator.scopes.bindings(size)] or [size]
    lengths = (last_name(getattr(node, "func", node)) == "len" for node in nodes)
    return all(lengths) or isinstance(known, int) and known > 1


def _all_take_batches(facts: FileFacts) -> bool:
    """True if the file names models of the server, and all of these take batches."""
    nodes = ast.walk(facts.source.tree) if facts.options.models else ()
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    named = [model.batching for name, model in facts.options.models.items() if name in texts]
    return bool(named) and all(named)


def _is_input(
    name: ast.expr | None, value: ast.expr, model: ModelProfile | None, facts: FileFacts
) -> bool:
    """True if shape and datatype of an input are known, or are those of its array."""
    if model is None:  # tritonclient takes np.bytes_ in arrays of objects for text
        return name is not None and "bytes_" not in facts.flows.attributes
    known = model.inputs.get(str(facts.constant(name)))
    if known is None or known.datatype in ("", "BF16"):
        return False
    return model.batching or isinstance(value, _VARIABLE) or len(_rows(value)) == 1


def _is_output(name: ast.expr | None, value: ast.expr, count: int, facts: FileFacts) -> bool:
    """True if an output may be repeated, and its format is known."""
    is_array = not facts.has_classes or getattr(value, "attr", "") == "RAW"
    is_known = is_array or (count == 1 and _classes(value) is not None)
    return is_known and isinstance(name, (ast.Constant, *_VARIABLE))


def _classes(value: ast.expr) -> ast.expr | None:
    """Return how many classes an output has; None for an array."""
    return value.elts[1] if isinstance(value, ast.Tuple) and len(value.elts) == 2 else None


def _rows(value: ast.expr) -> list[ast.expr]:
    """Return the rows of a batch; [] if they are not in a list or tuple here."""
    rows = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    return [] if any(isinstance(row, ast.Starred) for row in rows) else rows

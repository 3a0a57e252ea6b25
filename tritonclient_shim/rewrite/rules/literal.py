"""TS051 with inputs and outputs in literals, of a model that is known: lines of tritonclient."""

from __future__ import annotations

import ast
from typing import Any, Mapping, Sequence

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

UNSAFE = "an array of another datatype than the model's is refused, and results can be read only"


def plan(
    call: ast.Call, arguments: Mapping[str, ast.expr], module: str, draft: Draft, carried: Carried
) -> Plan | None:
    """Return the lines instead of ``x = context.run({…}, {…})``; None if they do not fit."""
    inputs, outputs, parent = arguments["inputs"], arguments["outputs"], draft.flows.parents[call]
    fits = isinstance(inputs, ast.Dict) and isinstance(outputs, ast.Dict) and module
    if not fits or set(arguments) - {"inputs", "outputs", "batch_size"}:
        return None
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return None
    config = draft.options.configs.get(str(draft.constant(carried.name_node)))
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
    return Plan(lambda: lines.write([item for item in tensors if item], wanted), "infer", UNSAFE)


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
    """Writes the lines of a request."""

    def __init__(
        self, module: str, draft: Draft, carried: Carried, call: ast.Call, batched: bool
    ) -> None:
        self._client, self._draft, self._carried = f"{module}client", draft, carried
        self._call, self._batched = call, batched

    def write(self, tensors: list[tuple[str, str, str, str]], wanted: Sequence[object]) -> None:
        """Put them before the statement, and the results into it."""
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
        asked = f"[{self._client}.InferRequestedOutput(name) for name in ({names},)]"
        options = "".join(f", {key}={value}" for key, value in self._carried.options().items())
        owner = draft.text(call.func.value)
        lines.append(
            f"{answer} = {owner}.infer({self._carried.name()}, {inputs}, outputs={asked}{options})"
        )
        draft.edits.before[draft.edits.statement(call)].append("\n".join(lines))
        rows = f"list({answer}.as_numpy(name))" if self._batched else f"[{answer}.as_numpy(name)]"
        draft.replace(call, f"{{name: {rows} for name in ({names},)}}")
        if any("np.stack(" in line for line in lines):
            draft.imports.add("import numpy as np")

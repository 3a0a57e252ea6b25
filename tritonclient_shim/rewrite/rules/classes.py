"""v1's classes where none of their objects is made: annotations, and ``R = …ResultFormat``."""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import State

_HOLDERS = (ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)


def is_annotation(node: ast.AST, draft: Draft) -> bool:
    """Whether a node is in an annotation."""
    while node in draft.flows.parents:
        parent = draft.flows.parents[node]
        if isinstance(parent, _HOLDERS):
            return node is getattr(parent, "annotation", getattr(parent, "returns", None))
        node = parent
    return False


def formats_alias(node: ast.AST, draft: Draft) -> ast.Assign | None:
    """The statement ``R = InferContext.ResultFormat`` that a class is in."""
    attribute = draft.flows.parents.get(node)
    statement = draft.flows.parents.get(attribute) if attribute else None
    is_class = isinstance(attribute, ast.Attribute) and attribute.attr == "ResultFormat"
    return statement if is_class and isinstance(statement, ast.Assign) else None


def rewrite(draft: Draft, whole: bool) -> None:
    """Rewrite the annotations and aliases, where all contexts and constants are rewritten."""
    for site in draft.sites:
        if site.call is not None or draft.outcome(site):
            continue
        if site.id in ("TS010", "TS050", "TS025") and is_annotation(site.node, draft):
            if not whole or not draft.modules:
                draft.todo(site.node, "stays for the contexts that stay", comment=False)
                continue
            draft.replace(site.node, "str" if site.id == "TS010" else _client(draft))
            draft.note(site.node, State.SAFE, "annotation")
        alias = formats_alias(site.node, draft)
        if alias is not None and whole:
            draft.edits.removed.add(draft.statement(site.node))
            draft.note(site.node, State.SAFE, "the formats are numbers")


def _client(draft: Draft) -> str:
    if "Model" in draft.helpers:
        return draft.called("Model")
    module = "grpc" if "grpc" in draft.modules else "http"
    return f"{module}client.InferenceServerClient"

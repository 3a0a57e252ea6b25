"""TS031: the index of the model repository, of which only the names are read."""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.methods import of_owner
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan


def index(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_model_repository_index()`` → the models with a name each."""
    around = draft.around_result(call)
    if not all(isinstance(one, ast.Attribute) and one.attr == "models" for one in around):
        raise Refused("the whole index is used; the client has a row for each version")
    return of_owner(call, draft, "repository_index")

"""TS031: the index of the model repository, if the program reads only the models' names."""

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
    if not all(isinstance(item, ast.Attribute) and item.attr == "models" for item in around):
        raise Refused("the whole index is used; the client has a row for each version")
    return of_owner(call, draft, "repository_index")

"""Clients are closed where the function that makes them is done with them.

In a function by a ``with`` statement, which also closes them when it returns or raises; in the
statements of a script, and in a long function with one way out, by ``close()`` after the last use.
"""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.variables import Block, Blocks, Variable

#: More lines than this are not indented where ``close()`` does.
_LINES = 30
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEAVING = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def close(variable: Variable, draft: Draft, blocks: Blocks) -> bool:
    """Close a client; False where the end of its use is not known."""
    if variable.closed:
        return True
    if not variable.uses:
        return False  # what uses it is not seen
    unclear = variable.unknown or variable.deleted or not variable.only_clients
    if unclear or draft.source.path.endswith(".ipynb"):
        return False
    block, owner = blocks.common([*variable.made, *variable.places])
    found = [blocks.inside(block, one) for one in (*variable.made, *variable.places)]
    order = sorted({block.index(one) for one in found if one})
    last = block[order[-1]]
    if any(_is_in_loop(call, block, blocks) for call in variable.made):
        return False
    starts = _with_callbacks(variable, draft)
    if variable.nested or starts:
        if variable.nested and not _is_of_script(owner, draft):
            return False
        if not isinstance(owner, (ast.FunctionDef, ast.Module)) and not _is_main(owner):
            return False
        last = block[-1]
        if any(blocks.inside(block, one) is last for one in starts):
            return False  # nothing may wait for its requests
    return _write(variable, block[order[0] : block.index(last) + 1], draft)


def _is_in_loop(call: ast.Call, block: Block, blocks: Blocks) -> bool:
    """Whether a client is made again and again within one statement of a block."""
    for one in blocks.around(call):
        if isinstance(one, _LOOPS):
            return True
        if blocks.of[one][0] is block:
            return False
    return False


def _is_main(owner: ast.AST) -> bool:
    """Whether a block is that of ``if __name__ == "__main__"``."""
    test = owner.test if isinstance(owner, ast.If) else None
    return getattr(getattr(test, "left", None), "id", "") == "__name__"


def _is_of_script(owner: ast.AST, draft: Draft) -> bool:
    """Whether the end of a block is that of a program, and no module's that others import."""
    if not isinstance(owner, ast.Module):
        return _is_main(owner)
    places = draft.evaluator.scopes.places
    asked = (one for one in places if getattr(one, "attr", "") in ("argv", "parse_args"))
    return any(isinstance(places[one].scope.frame.node, ast.Module) for one in asked)


def _with_callbacks(variable: Variable, draft: Draft) -> list[ast.AST]:
    """Where requests are started that end by a call of something else."""
    name = draft.called("start_run")
    return [
        place
        for call, place in variable.uses
        if getattr(call.func, "id", "") == name
        and not (len(call.args) > 2 and getattr(call.args[2], "value", ...) is None)
    ]


def _write(variable: Variable, inside: Block, draft: Draft) -> bool:
    """Put the statement into the file, where one of the forms fits."""
    first, last = inside[0], inside[-1]
    start, end = draft.places.whole(first), draft.places.whole(last)
    leaves = any(_leaves(one) for one in inside)
    is_script = isinstance(variable.scope.node, ast.Module)
    short = int(getattr(last, "end_lineno", 0)) - first.lineno <= _LINES
    single = isinstance(first, ast.Assign) and len(variable.made) == 1 and len(inside) > 1
    if start is None or end is None:
        return False
    if single and (leaves or (short and not is_script)):
        draft.edits.entered[start] = (end, variable.name)
        return True
    if leaves or not _is_certain(inside, variable):
        return False
    draft.edits.after[end].append(f"{variable.name}.close()")
    return True


def _leaves(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement may go on elsewhere than at the next one of its block, or never."""
    if isinstance(node, _FUNCTIONS):
        return False
    if isinstance(node, _LEAVING) or _is_endless(node):
        return True
    if isinstance(node, (ast.Break, ast.Continue)):
        return not in_loop
    inner = in_loop or isinstance(node, _LOOPS)
    return any(_leaves(one, inner) for one in ast.iter_child_nodes(node))


def _is_endless(node: ast.AST) -> bool:
    endless = isinstance(node, ast.While) and getattr(node.test, "value", None) in (True, 1)
    return endless and not any(isinstance(one, ast.Break) for one in ast.walk(node))


def _is_certain(inside: Block, variable: Variable) -> bool:
    """Whether the variable is bound after the statements: one of them alone makes or reads it."""
    nodes = {id(one) for one in (*variable.made, *variable.places)}
    simple = (one for one in inside if not hasattr(one, "body"))
    return any(id(node) in nodes for one in simple for node in ast.walk(one))

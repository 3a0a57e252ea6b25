"""TS010, TS011, TS015, TS062, TS063, TS066, TS201, TS203: names that need no object of v1.

These are v1's constants and exception, and names that NumPy and Python removed.
"""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.decisions import (
    Plan,
    Refused,
    Rewrite,
    rewrite,
    unchanged,
)
from tritonclient_shim.migrate.edits import Define, Edit, Import, Remove, new_text, replaced
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.values import Instance, LocalClass, LocalFunction, Value

PROTOCOLS = ("http", "grpc")  # by v1's numbers
FORMS = ("TS062", "TS063")  # ids of RAW and CLASS
FLAGS = ("FLAG_NONE", "FLAG_SEQUENCE_START", "FLAG_SEQUENCE_END")
_CLASS = f"{API}.ProtocolType"
_NAME = "InferenceServerException"
_IMPORT = f"from tritonclient.utils import {_NAME}"
_BY_NAME = "write the protocol as ProtocolType.GRPC or ProtocolType.HTTP"
_BY_OPTION = (
    "the option {} chooses the protocol, unseen at its use; write `ProtocolType.GRPC if … else "
    "ProtocolType.HTTP` there"
)
_IN_ANNOTATION = "write str in the annotation: the protocol becomes a text"
_METHODS = {f"iter{name}": f"dict.{name}" for name in ("items", "keys", "values")}
UNNUMBERED = "drop it: servers number no requests any more, and errors do not name the server"
_TYPES = {name: name for name in ("object", "bool", "int", "float", "str", "complex")}
_TYPES.update(long="int", unicode="str")


# ------------------------------------------------------------------------------------- protocols


def is_protocol(value: Value) -> bool:
    """True if a value is v1's class of protocols, or one of them."""
    name = getattr(value, "name", getattr(value, "of", ""))
    return str(name).startswith(_CLASS)


def is_test(node: ast.AST) -> bool:
    """True for an expression or statement that tests if a part is true, or which object it is."""
    if isinstance(node, ast.Compare):
        return any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops)
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, (ast.If, ast.While, ast.Assert, ast.BoolOp))


def is_certain_identity(node: ast.AST, facts: FileFacts) -> bool:
    """True if ``is`` compares a named protocol with another protocol, or anything with None.

    With texts, ``==`` has the result that ``is`` had.
    """
    if not isinstance(node, ast.Compare) or len(node.ops) > 1:
        return False
    sides = (node.left, node.comparators[0])
    if any(isinstance(side, ast.Constant) and side.value is None for side in sides):
        return True
    are_protocols = all(_is_only_protocol(side, facts) for side in sides)
    return are_protocols and any(map(_is_named, sides))


def _is_only_protocol(node: ast.expr, facts: FileFacts) -> bool:
    """True if an expression is one of v1's protocols, and nothing else."""
    values = facts.evaluator.of(node)
    return bool(values) and all(map(_is_one_protocol, values))


def _is_one_protocol(value: Value) -> bool:
    """True for a protocol, also one whose name is not known."""
    return bool(_name_of(value)) or (isinstance(value, Instance) and is_protocol(value))


def _is_named(node: ast.expr) -> bool:
    """True for the name of a protocol, such as ``ProtocolType.GRPC``."""
    return isinstance(node, ast.Attribute) and node.attr.lower() in PROTOCOLS


def _compared_by_value(node: ast.AST, facts: FileFacts) -> list[Edit]:
    """Return the edit of a comparison by identity that a protocol is in, once."""
    comparison = facts.flows.parents[node]
    if not isinstance(comparison, ast.Compare) or not is_certain_identity(comparison, facts):
        return []
    left = comparison.left
    right = comparison.comparators[0]
    operators = {ast.Is: "==", ast.IsNot: "!="}
    operator = operators.get(type(comparison.ops[0]))
    if operator is None or (node is left and _is_named(right)):
        return []
    return [replaced(comparison, f"{{0}} {operator} {{1}}", left, right)]


def protocol(node: ast.AST, facts: FileFacts) -> Plan:
    """``ProtocolType.GRPC`` → ``"grpc"``; the class in an annotation → ``str``."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name in ("GRPC", "HTTP"):
        edits = (replaced(node, facts.quoted(name.lower())), *_compared_by_value(node, facts))
        return Rewrite(facts.quoted(name.lower()), (), edits)
    if isinstance(facts.flows.parents[node], (ast.arg, ast.AnnAssign, ast.FunctionDef)):
        return rewrite(node, "str")
    around = [part for part in facts.flows.around(node) if isinstance(part, ast.arg)]
    raise Refused(_IN_ANNOTATION if around else _BY_NAME)


def protocol_from_text(node: ast.AST, facts: FileFacts) -> Plan:
    """``ProtocolType.from_str(text)`` → ``protocol_name(text)``, which refuses other names."""
    what = "the protocol's name in lower case"
    if not isinstance(node, ast.Call):
        return rewrite(node, "{protocol_name}", what=what)
    if len(node.args) != 1:
        raise Refused("expected from_str(text)")
    known = _literal(node)
    if known:
        return rewrite(node, facts.quoted(known))
    return rewrite(node, "{protocol_name}({0})", *node.args, what=what)


def protocol_of(node: ast.expr, facts: FileFacts) -> str:
    """Return ``grpc`` or ``http``; '' if the program chooses.

    ``--to`` decides only what the source does not: each of several written protocols stays.
    """
    written = written_protocol(node, facts)
    if written:
        return written
    values = facts.evaluator.of(node)
    bindings = facts.evaluator.scopes.bindings(node)
    names = {_name_of(value) for value in values}
    choices: list[ast.AST] = [item.node for item in bindings] or [node]
    is_choice = len(choices) > 1 or isinstance(choices[0], (ast.IfExp, ast.Subscript))
    if facts.options.to and (is_choice or "" in names or not names):
        return facts.options.to
    is_named = any(any(map(is_protocol, facts.evaluator.of(part))) for part in ast.walk(node))
    if is_named and not any(map(is_protocol, values)):  # ProtocolType[name]
        raise Refused(_BY_NAME)
    if not any(map(is_protocol, values)) and not facts.options.allows(UnsafeChange.CONNECT):
        raise Refused(f"{_why_unknown(facts)}; --to grpc, --to http or --unsafe rewrites it")
    return ""


def _why_unknown(facts: FileFacts) -> str:
    """Return why a protocol is not known: an option of the program chooses it, or another file."""
    for call in facts.evaluator.scopes.calls:
        if last_name(call.func) != "add_argument" or not call.args:
            continue
        chosen = [x.value for x in call.keywords if x.arg in ("const", "default")]
        if any(any(map(is_protocol, facts.evaluator.of(value))) for value in chosen):
            return _BY_OPTION.format(facts.text(call.args[0]).strip("\"'"))
    return "the protocol is not chosen in this file"


def written_protocol(node: ast.expr, facts: FileFacts) -> str:
    """Return the protocol that an expression or its only assignment names; '' for none."""
    number = facts.constant(node)
    if number in (0, 1) and not isinstance(number, bool):
        return PROTOCOLS[int(str(number))]
    values = facts.evaluator.of(node)
    bindings = facts.evaluator.scopes.bindings(node)
    names = {_name_of(value) for value in values}
    sources: list[ast.AST] = [item.node for item in bindings] or [node]
    source = sources[0] if len(sources) == 1 else None
    is_name = isinstance(source, ast.Attribute) and facts.evaluator.names(source)
    is_written = is_name or source in [getattr(value, "creation", ...) for value in values]
    return names.pop() if is_written and len(names) == 1 else ""


def _name_of(value: Value) -> str:
    """Return ``grpc`` for v1's constant and ``from_str("grpc")``; '' if it is not known."""
    if not is_protocol(value):
        return ""
    if isinstance(value, Instance) and value.creation:
        return _literal(value.creation)
    name = getattr(value, "name", "").rpartition(".")[2].lower()
    return name if name in PROTOCOLS else ""


def _literal(call: ast.Call) -> str:
    """Return the protocol of ``from_str("gRPC")``; '' if its text is not written there."""
    text = call.args[0] if call.args else None
    name = str(text.value).lower() if isinstance(text, ast.Constant) else ""
    return name if name in PROTOCOLS else ""


# --------------------------------------------------------------------------- formats and flags


def output_format(node: ast.AST, facts: FileFacts) -> Plan:
    """``RAW`` → 0, ``(CLASS, k)`` → k, ``(RAW, handle)`` → the region; also in a variable."""
    name = getattr(node, "attr", "")
    outer = facts.flows.parents[node]
    if name == "ResultFormat":
        raise Refused("write ResultFormat.RAW where an output is")
    is_class = name == "CLASS"
    variable = getattr(outer, "targets", [node])[0]
    reads = facts.around_result(node)
    first = last_name(variable)
    if any(map(is_test, reads)):
        raise Refused(
            "compare the format with `==` and a format: it becomes a number, and RAW is 0"
        )
    tuples = [x for x in reads if isinstance(x, ast.Tuple)]  # with the format first, and not again
    pairs = [x for x in tuples if [last_name(y) == first for y in x.elts] == [True, False]]
    if not is_class:
        pairs = [x for x in pairs if _may_be_region(x, facts)]
    is_taken = variable is not node and facts.beside.linked  # perhaps
    are_numbers = all(_may_be_number(x.elts[1], facts) for x in pairs)
    if is_class and (not pairs or pairs != reads or is_taken or not are_numbers):
        raise Refused("write (ResultFormat.CLASS, k) where an output is")
    unknown = [] if is_class else [x for x in pairs if not facts.flows.of(x.elts[1])]
    if unknown and facts.beside.linked:
        raise Refused("create the region of the output in the file that uses it")

    edits: list[Edit] = [replaced(pair, "{0}", pair.elts[1]) for pair in pairs]
    if is_class and isinstance(outer, ast.Assign):
        edits.append(Remove(outer))
    elif not is_class and outer not in pairs:
        has_name = isinstance(outer, ast.Assign) and isinstance(variable, ast.Name)
        edits.append(replaced(node, "0" if has_name else "{RAW}"))
    unsafe = (UnsafeChange.DECIMALS,) if is_class else ()
    if unknown:
        unsafe = (UnsafeChange.HANDLES,)
    return Rewrite("classes or a region" if pairs else "RAW", unsafe, tuple(edits))


def _may_be_region(pair: ast.Tuple, facts: FileFacts) -> bool:
    """True if a format and what follows it may be an output in shared memory."""
    if facts.beside.has_regions or facts.has("TS040", "TS081", "TS086"):
        return True
    is_in_table = isinstance(facts.flows.parents[pair], (ast.List, ast.Tuple, ast.Set))
    return not is_in_table and _may_be_number(pair.elts[1], facts)


def _may_be_number(node: ast.expr, facts: FileFacts) -> bool:
    """True unless an expression is a text, or a function or class of the file."""
    values = facts.evaluator.of(node)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    is_own = any(isinstance(value, (LocalFunction, LocalClass)) for value in values)
    return not is_text and not is_own


def flag(node: ast.AST, facts: FileFacts) -> Plan:
    """``InferRequestHeader.FLAG_SEQUENCE_START`` → a number."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name not in FLAGS:
        raise Refused("pass sequence_start and sequence_end to the request")
    return rewrite(node, f"{{{name}}}", what="a constant of the file")


# ------------------------------------------------------------------------------- v1's exception


def exception(node: ast.AST, facts: FileFacts) -> Plan:
    """Use tritonclient's exception, with v1's name."""
    node = node.func if isinstance(node, ast.Call) else node
    if facts.errors_stay:
        raise Refused(_stays_for_ids(facts), by_option=True)
    name = getattr(node, "attr", _NAME)
    if name == "message":
        return unchanged()
    if name != _NAME:
        raise Refused("errors do not tell it any more")
    what = "tritonclient's exception"
    if isinstance(node, ast.Attribute) or facts.text(node) == _NAME:
        return rewrite(node, "{0}", Import(_IMPORT), what=what)
    return unchanged(what)


def _stays_for_ids(facts: FileFacts) -> str:
    """Return why v1's exception stays: for the first id that the file asks an error for."""
    asking = [site.node for site in facts.sites if site.id in ("TS016", "TS017")]
    if asking:
        return f"stays because of {facts.source.place(asking[0].lineno)}: only v1's errors have ids"
    if facts.beside.asks_errors:
        return f"{facts.beside.asks_errors[0]} reads the ids of errors, which only v1's have"
    return facts.beside.reason_of(Keeps.ERRORS)


def error_id(node: ast.AST, facts: FileFacts) -> Plan:
    """``server_id()`` or ``request_id()`` of an error that is only printed → ``None``."""
    stays = facts.errors_stay and facts.options.allows(UnsafeChange.PRINTED_IDS)
    if stays or not facts.is_printed(node):
        raise Refused(UNNUMBERED)
    return rewrite(node, "None", unsafe=(UnsafeChange.PRINTED_IDS,))


# ---------------------------------------------------------------- what NumPy and Python removed


def numpy_name(node: ast.AST, facts: FileFacts) -> Plan:
    """``np.object`` → ``object``."""
    target = node.func if isinstance(node, ast.Call) else node  # np.bool(value)
    name = target.attr if isinstance(target, ast.Attribute) else ""
    if name not in _TYPES:
        raise Refused("write a list of the types that are meant")
    return rewrite(target, _TYPES[name])


def future_name(node: ast.AST, facts: FileFacts) -> Plan:
    """``from future.utils import iteritems`` → ``iteritems = dict.items``."""
    names = node.names if isinstance(node, ast.ImportFrom) else []
    if not names or not all(item.name in _METHODS and not item.asname for item in names):
        raise Refused("use items(), values() and keys(), which Python 3 has")

    assert isinstance(node, ast.stmt)
    edits: list[Edit] = [Remove(node)]
    for item in names:
        edits.append(Define(item.name, new_text(f"{item.name} = {_METHODS[item.name]}")))
    return Rewrite("a method of dict", (), tuple(edits))

"""Calls of libcst: another function, other arguments, the format of those that stay."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Callable, Mapping, Union

import libcst as cst

from tritonclient_shim.migrate.patterns import arguments
from tritonclient_shim.rewrite.options import Refused

#: Between two arguments, and around the ``=`` of one by keyword.
COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))

#: The text of an argument, or a function of the old call that makes one.
NewArgument = Union[str, Callable[[cst.Call], cst.Arg]]


def given(names: tuple[str, ...], call: ast.Call) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter; refuse a call if ``*`` or ``**`` hide any."""
    hidden = any(isinstance(argument, ast.Starred) for argument in call.args)
    if hidden or any(keyword.arg is None for keyword in call.keywords):
        raise Refused("the arguments are in a list or dict made elsewhere")
    strange = {keyword.arg for keyword in call.keywords if keyword.arg} - set(names)
    if strange or len(call.args) > len(names):
        raise Refused(f"expected the arguments {', '.join(names)}")
    return arguments(names, call)


@dataclass
class NewCall:
    """A call with another function; of its arguments those stay whose parameters are in ``kept``.

    ``kept``: parameter → what it is called now, '' for an argument by position.
    """

    names: tuple[str, ...]
    function: str
    before: list[NewArgument] = field(default_factory=list)
    kept: Mapping[str, str] = field(default_factory=dict)
    after: list[NewArgument] = field(default_factory=list)  # with their keywords
    function_node: cst.BaseExpression | None = None

    def __call__(self, old: cst.Call) -> cst.Call:
        """Return the call that takes the place of an old one."""
        positional = [_argument(element, old) for element in self.before]
        by_name: list[cst.Arg] = []
        for parameter, arg in self._pairs(old):
            if parameter in self.kept:
                name = self.kept[parameter]
                changed = _renamed(arg, name)
                (by_name if name else positional).append(changed)
        arguments = [*positional, *by_name, *(_argument(item, old) for item in self.after)]
        function = self.function_node or cst.parse_expression(self.function)
        return old.with_changes(func=function, args=_punctuated(arguments, old))

    def _pairs(self, old: cst.Call) -> list[tuple[str, cst.Arg]]:
        arguments = named(self.names, old)
        return [(name, arguments[name]) for name in self.names if name in arguments]


def named(names: tuple[str, ...], old: cst.Call) -> dict[str, cst.Arg]:
    """Return the argument of a call for each parameter."""
    order = iter(names)
    return {arg.keyword.value if arg.keyword else next(order): arg for arg in old.args}


def owner(old: cst.Call) -> cst.Arg:
    """Return the object whose method a call calls, as an argument."""
    assert isinstance(old.func, cst.Attribute)
    return cst.Arg(old.func.value)


def _argument(new: NewArgument, old: cst.Call) -> cst.Arg:
    if not isinstance(new, str):
        return new(old)
    call = cst.parse_expression(f"f({new})")
    assert isinstance(call, cst.Call)
    return call.args[0]


def _renamed(arg: cst.Arg, name: str) -> cst.Arg:
    if not name:
        return arg.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
    if arg.keyword:
        return arg.with_changes(keyword=cst.Name(name))
    return arg.with_changes(keyword=cst.Name(name), equal=TIGHT)


def _punctuated(arguments: list[cst.Arg], old: cst.Call) -> list[cst.Arg]:
    """Return arguments with commas between them; the last one ends as the old last one did."""
    if not arguments:
        return []
    result = []
    for arg in arguments[:-1]:
        has = isinstance(arg.comma, cst.Comma)
        result.append(arg if has else arg.with_changes(comma=COMMA))
    last = old.args[-1] if old.args else None
    ending = last.comma if last else cst.MaybeSentinel.DEFAULT
    after = last.whitespace_after_arg if last else cst.SimpleWhitespace("")
    return [*result, arguments[-1].with_changes(comma=ending, whitespace_after_arg=after)]

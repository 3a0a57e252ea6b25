"""The functions that migrated files call: parts of ``helpers``, written into each such file."""

from __future__ import annotations

import ast
import os
import re
from functools import lru_cache
from types import MappingProxyType
from typing import Iterable, Iterator, Mapping, NamedTuple

from tritonclient_shim.migrate.format import with_quotes
from tritonclient_shim.scan.scopes import Scopes
from tritonclient_shim.scan.sources import content

_FOLDER = os.path.join(os.path.dirname(__file__), "helpers")
#: The sources. Each source follows the sources whose names it reads.
_SOURCES = (
    "http_client",
    "requests",
    "over_both",
    "over_grpc",
    "over_http",
    "checked_arrays",
    "without_classes",
    "without_headers",
    "without_threads",
    "plain_clients",
    "memory",
    "system_memory",
    "models",
    "plain_requests",
    "models_in_regions",
    "without_reports",
    "asks_if_open",
    "status",
    "only_states",
    "stub",
)
#: The sources whose names replace those of earlier sources where a fact of this name is certain.
FACTS = frozenset(
    (
        "asks_if_open",
        "checked_arrays",
        "models_in_regions",
        "only_states",
        "over_both",
        "over_grpc",
        "over_http",
        "plain_clients",
        "plain_requests",
        "system_memory",
        "without_classes",
        "without_headers",
        "without_reports",
        "without_threads",
    )
)
#: The fact that a program catches no errors of clients: tritonclient's own client does.
PLAIN_CLIENT = "without_handlers"
#: The class of the helpers for a client over HTTP.
_HTTP_CLIENT = "HttpClient"
#: The fact that a program chooses the protocol of a client.
OVER_BOTH = "over_both"
#: The fact that objects that know their model may send requests with shared memory.
IN_REGIONS = "models_in_regions"
#: The facts without which a file has too little. Without the others it has too much.
NEEDS = frozenset(("asks_if_open", "checked_arrays", OVER_BOTH, IN_REGIONS))
#: The class whose methods are written if a file may call them. A source may replace single methods.
MODEL = "InferModel"
_OURS = "from tritonclient_shim."
#: The start of a function or class.
FUNCTION = re.compile(r"^(?:def|class) ", re.M)
_UNTOUCHED = ('"""', "#")


class Part(NamedTuple):
    """A statement with the comments above it, and the names that it binds and reads.

    ``method``: the name of a method, which is a part of its own until its class is written.
    """

    source: str  # '' for the import of a name
    text: str
    binds: frozenset[str]
    reads: frozenset[str] = frozenset()
    method: str = ""

    def renamed(self, names: Mapping[str, str]) -> str:
        """Return the text with other names for what the parts bind.

        Attributes, docstrings and comments keep their words.
        """
        changed = {name: new for name, new in names.items() if name != new}
        if not changed:
            return self.text
        pattern = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, sorted(changed)))})\b")
        lines = []
        for line in self.text.split("\n"):
            is_text = line.strip().startswith(_UNTOUCHED)
            lines.append(line if is_text else pattern.sub(lambda x: changed[x[1]], line))
        return "\n".join(lines)


@lru_cache(maxsize=None)
def _parts() -> tuple[Part, ...]:
    """Return the parts of all sources, each import once."""
    parts = []
    for source in _SOURCES:
        text = content(os.path.join(_FOLDER, f"{source}.py")).decode()
        lines = text.splitlines(keepends=True)
        end = 0
        for statement in ast.parse(text).body:
            own_lines = "".join(lines[end : statement.end_lineno]).strip("\n")
            end = statement.end_lineno or 0
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name in statement.names:
                    line = import_text(statement, [name])
                    parts.append(Part("", line, frozenset({name.asname or name.name})))
            elif isinstance(statement, ast.ClassDef) and statement.name == MODEL:
                parts += _parts_of_model(source, statement, lines)
            elif not isinstance(statement, ast.Expr):
                parts.append(_statement(source, statement, own_lines))
    return tuple(dict.fromkeys(part for part in parts if not part.text.startswith(_OURS)))


def _statement(source: str, statement: ast.stmt, text: str) -> Part:
    """Return a statement of a source."""
    scopes = Scopes(ast.Module([statement], []))
    names = (node for node in scopes.places if isinstance(node, ast.Name))
    reads = {x.id for x in names if scopes.owner(x) in (None, scopes.module)}
    return Part(source, text, frozenset(scopes.module.bindings), frozenset(reads))


def _parts_of_model(source: str, model: ast.ClassDef, lines: list[str]) -> Iterator[Part]:
    """Yield the start of the class, which has its docstring only, and each of its methods."""
    docstring, *methods = model.body
    end = docstring.end_lineno or 0
    yield Part(source, "".join(lines[model.lineno - 1 : end]).rstrip(), frozenset([MODEL]))
    for method in methods:
        text = "".join(lines[end : method.end_lineno]).strip("\n")
        end = method.end_lineno or 0
        part = _statement(source, method, text)
        name = next(iter(part.binds))
        yield part._replace(binds=frozenset([f"{MODEL}.{name}"]), method=name)


@lru_cache(maxsize=None)
def local_names() -> frozenset[str]:
    """Return the names that functions and classes of the helpers bind for themselves."""
    names: set[str] = set()
    for source in _SOURCES:
        scopes = Scopes(ast.parse(content(os.path.join(_FOLDER, f"{source}.py")).decode()))
        for scope in scopes.of_node.values():
            if scope is not scopes.module:
                names.update(scope.bindings)
    return frozenset(names)


def import_text(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """Return the text of an import of some of its names."""
    parts = (f"{name.name} as {name.asname}" if name.asname else name.name for name in names)
    text = f"import {', '.join(parts)}"
    if isinstance(node, ast.ImportFrom):
        return f"from {'.' * node.level}{node.module or ''} {text}"
    return text


@lru_cache(maxsize=None)
def _variant(facts: frozenset[str]) -> tuple[Part, ...]:
    """Return the parts for files of which these facts are certain."""
    variant: list[Part] = []
    for part in _parts():
        if part.source in facts:
            variant = [earlier for earlier in variant if not _is_replaced(earlier, part)]
        if part.source in facts or part.source not in FACTS:
            variant.append(part)
    if PLAIN_CLIENT in facts:
        variant = [_with_plain_client(part) for part in variant]
    return tuple(_with_methods(variant, facts))


def _with_plain_client(part: Part) -> Part:
    """Return a part with tritonclient's client over HTTP in the place of that of the helpers."""
    if _HTTP_CLIENT not in part.reads:
        return part
    text = re.sub(rf"\b{_HTTP_CLIENT}\b", "httpclient.InferenceServerClient", part.text)
    return part._replace(text=text, reads=part.reads - {_HTTP_CLIENT} | {"httpclient"})


def without(method: str) -> str:
    """Return the fact that no code calls a method of the objects that know their model."""
    return f"without {method}"


def _with_methods(variant: list[Part], facts: frozenset[str]) -> list[Part]:
    """Return the parts with one part for the class, which has the methods that may be called."""
    order = [part.method for part in _parts() if part.method]
    methods = [part for part in variant if part.method and without(part.method) not in facts]
    methods.sort(key=lambda part: order.index(part.method))
    parts = []
    for part in variant:
        if MODEL in part.binds:
            text = "\n\n".join([part.text, *(method.text for method in methods)])
            reads = frozenset().union(*(method.reads for method in methods))
            parts.append(part._replace(text=text, reads=reads))
        elif not part.method:
            parts.append(part)
    return parts


def _is_replaced(earlier: Part, part: Part) -> bool:
    """True if a part binds a name that an earlier definition binds."""
    return bool(earlier.source) and not earlier.binds.isdisjoint(part.binds)


def parts_of(wanted: Iterable[str], facts: frozenset[str] = frozenset()) -> list[Part]:
    """Return the parts with these names and all that they need: imports, and definitions."""
    names = set(wanted)
    size = -1
    needed: list[Part] = []
    while size < len(names):
        size = len(names)
        needed = [part for part in _variant(facts) if part.binds & names]
        names.update(*(part.reads for part in needed))
    return needed


def is_written(
    name: str,
    facts: frozenset[str],
    text: str,
    names: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """True if a file has the part with a name, and all that it needs, from an earlier migration.

    Files with other facts have other functions of these names. ``names``: as in `Part.renamed`.
    """
    own_text = "\n" + with_quotes(text, '"')
    parts = [part.renamed(names) for part in parts_of([name], facts) if part.source]
    return bool(parts) and all(_is_in(part, own_text) for part in parts)


def _is_in(part: str, text: str) -> bool:
    """True if a text with double quotes has the lines of a part."""
    lines = with_quotes(part, '"')
    return f"\n{lines}\n" in text


def block_of(definitions: Iterable[str]) -> str:
    """Return definitions, with two empty lines around functions and classes."""
    text = ""
    was_function = False
    for definition in definitions:
        is_function = bool(FUNCTION.search(definition))
        lines = "\n" * (1 + 2 * (is_function or was_function)) if text else "\n" * (1 + is_function)
        text += lines + definition
        was_function = is_function
    return text

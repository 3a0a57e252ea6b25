"""The functions that migrated files call: parts of ``helpers``, written into each such file."""

from __future__ import annotations

import ast
import os
import re
from functools import lru_cache
from typing import Iterable, Mapping, NamedTuple

from tritonclient_shim.migrate.format import with_quotes
from tritonclient_shim.scan.scopes import Scopes
from tritonclient_shim.scan.sources import content

_FOLDER = os.path.join(os.path.dirname(__file__), "helpers")
#: The sources. Each source follows the sources whose names it reads.
_SOURCES = (
    "http_client",
    "without_handlers",
    "requests",
    "over_both",
    "over_grpc",
    "over_http",
    "checked_arrays",
    "without_classes",
    "without_headers",
    "without_threads",
    "memory",
    "system_memory",
    "models",
    "plain_requests",
    "status",
    "stub",
)
#: The sources whose names replace those of earlier sources where a fact of this name is certain.
FACTS = frozenset(
    (
        "checked_arrays",
        "over_both",
        "over_grpc",
        "over_http",
        "plain_requests",
        "system_memory",
        "without_classes",
        "without_handlers",
        "without_headers",
        "without_threads",
    )
)
_OURS = "from tritonclient_shim."
_UNTOUCHED = ('"""', "#")


class Part(NamedTuple):
    """A statement with the comments above it, and the names that it binds and reads."""

    source: str  # '' for the import of a name
    text: str
    binds: frozenset[str]
    reads: frozenset[str] = frozenset()

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
            elif not isinstance(statement, ast.Expr):
                scopes = Scopes(ast.Module([statement], []))
                names = (node for node in scopes.places if isinstance(node, ast.Name))
                reads = {x.id for x in names if scopes.owner(x) in (None, scopes.module)}
                binds = frozenset(scopes.module.bindings)
                parts.append(Part(source, own_lines, binds, frozenset(reads)))
    return tuple(dict.fromkeys(part for part in parts if not part.text.startswith(_OURS)))


def import_text(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """Return the text of an import of some of its names."""
    parts = (f"{name.name} as {name.asname}" if name.asname else name.name for name in names)
    text = f"import {', '.join(parts)}"
    if isinstance(node, ast.ImportFrom):
        return f"from {'.' * node.level}{node.module or ''} {text}"
    return text


def _variant(facts: frozenset[str]) -> list[Part]:
    """Return the parts for files of which these facts are certain."""
    variant: list[Part] = []
    for part in _parts():
        if part.source in facts:
            variant = [earlier for earlier in variant if not _is_replaced(earlier, part)]
        if part.source in facts or part.source not in FACTS:
            variant.append(part)
    return variant


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


def is_written(name: str, facts: frozenset[str], text: str) -> bool:
    """True if a file has the part with a name, and all that it needs, from an earlier migration.

    Files with other facts have other functions of these names.
    """
    own_text = "\n" + with_quotes(text, '"')
    parts = [part for part in parts_of([name], facts) if part.source]
    return bool(parts) and all(_is_in(part, own_text) for part in parts)


def _is_in(part: Part, text: str) -> bool:
    """True if a text with double quotes has the lines of a part."""
    lines = with_quotes(part.text, '"')
    return f"\n{lines}\n" in text

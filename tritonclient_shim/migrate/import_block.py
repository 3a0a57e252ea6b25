"""Where new imports stand in a file: in its first block of imports, in the order of isort."""

from __future__ import annotations

import ast
import os
import sys
from collections import defaultdict
from itertools import groupby, takewhile
from typing import Any, Iterable, NamedTuple, Sequence, Union

from tritonclient_shim.migrate.edits import Above, AddName, Below, Edit, new_text
from tritonclient_shim.migrate.emitted import import_text
from tritonclient_shim.migrate.layout import Layout
from tritonclient_shim.scan.scopes import DEFINITIONS

Import = Union[ast.Import, ast.ImportFrom]
IMPORT = (ast.Import, ast.ImportFrom)
#: Formatters break imports that are longer.
_COLUMNS = 88
_PYTHONS_OWN: Iterable[str] = getattr(
    sys,
    "stdlib_module_names",  # since Python 3.10
    ("argparse", "builtins", "collections", "concurrent", "copy", "ctypes", "datetime", "enum")
    + ("functools", "glob", "io", "itertools", "json", "logging", "math", "multiprocessing")
    + ("os", "pathlib", "queue", "random", "re", "struct", "subprocess", "sys", "tempfile")
    + ("threading", "time", "types", "typing", "unittest", "urllib", "uuid", "weakref"),
)
_FUTURE, _PYTHON, _OTHER, _PROGRAM, _PACKAGE = range(5)
#: Statements that change nothing that an import depends on.
_HARMLESS = (*DEFINITIONS, *IMPORT)


def first_block(body: Sequence[ast.stmt], anchor: ast.stmt) -> list[Import]:
    """Return the imports among which new ones stand in place of an import, the anchor.

    These are the first of the file, unless a statement above the anchor may have to come first.
    """
    above = body[: body.index(anchor)]
    imports = [part for part in body if isinstance(part, IMPORT)]
    start = imports[0] if all(map(_is_harmless, above)) else anchor
    first = body.index(start)
    while first and start is anchor and isinstance(body[first - 1], IMPORT):
        first -= 1
    block = takewhile(lambda part: isinstance(part, IMPORT), body[first:])
    return [part for part in block if isinstance(part, IMPORT)]


def _is_harmless(node: ast.stmt) -> bool:
    """True for a definition, an import, a text, or an assignment of a literal."""
    value = getattr(node, "value", None)
    return isinstance(node, _HARMLESS) or isinstance(value, ast.Constant)


class Place(NamedTuple):
    """The folder of a file, and the first part of the module of ``--helpers``; '' for none."""

    folder: str = ""
    helpers: str = ""


class LinesBelow(NamedTuple):
    """New imports that stand below a star import, which would bind their names anew."""

    star: Import
    lines: Sequence[str]


def added_imports(
    lines: Iterable[str],
    block: list[Import],
    layout: Layout,
    place: Place,
    below_star: LinesBelow | None = None,
) -> list[Edit]:
    """Return the edits that add imports to a block, or names to imports of the block."""
    edits: list[Edit] = []
    above: dict[tuple[Import, int], list[str]] = defaultdict(list)  # by import and section
    below: dict[tuple[Import, int], list[str]] = defaultdict(list)
    sections = _sections(block, place, below_star)
    for line in lines:
        statement: Any = ast.parse(line).body[0]
        first = below_star.star.lineno if below_star and line in below_star.lines else 0
        twin = next((part for part in block if _takes(part, statement, layout)), None)
        if isinstance(twin, ast.ImportFrom) and twin.lineno >= first:
            edits.append(AddName(twin, statement.names[0]))
            continue
        section = _section(statement, place)
        places = [part for part in block if sections[part] == section]
        smaller = [part for part in places if _order(part) < _order(statement)]
        earlier = [part for part in block if sections[part] < section]
        if below_star and first > max((part.lineno for part in smaller), default=0):
            below[below_star.star, section].append(line)
        elif smaller:
            below[smaller[-1], section].append(line)
        elif places:
            above[places[0], section].append(line)
        elif earlier:
            below[earlier[-1], section].append(line)
        else:
            above[block[0], section].append(line)
    for (anchor, section), texts in sorted(below.items(), key=lambda item: item[0][1]):
        gap = [] if sections.get(anchor, section) == section else [""]
        edits += [Below(anchor, text) for text in (*gap, *sorted_imports(texts))]
    for (anchor, section), texts in sorted(above.items(), key=lambda item: item[0][1]):
        gap = [] if sections[anchor] == section else [""]
        edits += [Above(anchor, new_text("{0}", text)) for text in (*sorted_imports(texts), *gap)]
    return edits


def _sections(
    block: list[Import], place: Place, below_star: LinesBelow | None
) -> dict[Import, int]:
    """Return the sections of a block as the file has them.

    Imports of the program are other modules' where no empty line is between the two, and where a
    star import has new imports below it.
    """
    sections = {part: _section(part, place) for part in block}
    star = below_star.star if below_star else None
    for run in _runs(block):
        if star in run or any(sections[part] == _OTHER for part in run):
            program = [part for part in run if sections[part] == _PROGRAM]
            sections.update(dict.fromkeys(program, _OTHER))
    return sections


def _runs(block: list[Import]) -> list[list[Import]]:
    """Return the imports of a block that follow each other without a line between them."""
    runs: list[list[Import]] = []
    for part in block:
        if runs and runs[-1][-1].end_lineno == part.lineno - 1:
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def sorted_imports(lines: Iterable[str]) -> list[str]:
    """Sort imports as isort does. Names of one module share an import."""
    names: dict[str, list[str]] = {}
    for line in lines:
        module, _, name = line.partition(" import ")
        names.setdefault(module, []).append(name)
    texts = [_import_line(module, own) for module, own in names.items()]
    return sorted(texts, key=lambda text: _order(ast.parse(text).body[0]))


def import_block(lines: Iterable[str]) -> str:
    """Return imports as the first lines of a module, with an empty line between sections."""
    texts = sorted_imports(lines)
    sections = groupby(texts, key=lambda text: _section(ast.parse(text).body[0], Place()))
    return "\n\n".join("\n".join(own) for _, own in sections)


def _import_line(module: str, names: list[str]) -> str:
    """Return an import of names, or of a module alone."""
    if names == [""]:
        return module
    ordered = sorted(set(names), key=_name_order)
    line = f"{module} import {', '.join(ordered)}"
    if len(line) <= _COLUMNS:
        return line
    lines = "".join(f"    {name},\n" for name in ordered)
    return f"{module} import (\n{lines})"


def _name_order(name: str) -> tuple[int, str]:
    """Return the order of a name: constants, then classes, then the rest."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1 if name[:1].isupper() else 2), name


def _order(node: Any) -> tuple[int, bool, str]:
    """Return the order of an import: sections, then modules, then names of modules."""
    is_from = isinstance(node, ast.ImportFrom)
    module = node.module or "" if is_from else node.names[0].name
    return _section(node, Place()), is_from, module.lower()


def _section(node: Any, place: Place) -> int:
    """Return the section of an import in a file."""
    if getattr(node, "level", 0):
        return _PACKAGE
    module: str = getattr(node, "module", "") or node.names[0].name
    first = module.split(".")[0]
    if first == "__future__":
        return _FUTURE
    if first in _PYTHONS_OWN:
        return _PYTHON
    is_own = first == place.helpers or place.folder and _is_of_program(first, place.folder)
    return _PROGRAM if is_own else _OTHER


def _is_of_program(module: str, folder: str) -> bool:
    """True if a module is beside the file in a folder, or beside the package of the file."""
    above = folder
    while os.path.exists(os.path.join(above, "__init__.py")):
        above = os.path.dirname(above)
    places = [os.path.join(place, module) for place in (folder, above)]
    return any(os.path.isdir(place) or os.path.exists(f"{place}.py") for place in places)


def _takes(node: Import, new: Import, layout: Layout) -> bool:
    """True if an import takes the name of a new one: from one module, without comments."""
    if not isinstance(node, ast.ImportFrom) or not isinstance(new, ast.ImportFrom):
        return False
    is_plain = node.names[0].name != "*" and "#" not in layout.text(node)
    return node.module == new.module and not node.level and is_plain and layout.has_lines(node)


def with_name(old: str, name: ast.alias) -> str:
    """Return the text of an import with another name."""
    present: Any = ast.parse(old).body[0]
    names = [import_text(present, [alias]) for alias in [*present.names, name]]
    return sorted_imports(names)[0]

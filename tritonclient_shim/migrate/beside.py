"""What the other files of a program mean for one of its files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterable, Mapping

from tritonclient_shim.migrate.file_names import ImportedModule
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.program_file import ASYNCHRONOUS, ERROR_IDS, ProgramFile

if TYPE_CHECKING:
    from tritonclient_shim.migrate.program import Program


@dataclass(frozen=True)
class Beside:
    """What the other files of a program mean for a file.

    ``linked``: it runs together with one of the ``others``. ``starts``: the places of asynchronous
    requests in files that have v1's names from other files. ``keepers``: what each file keeps of
    v1, with places. ``kept``: what they keep. ``asks_errors``: the places where they ask errors
    for their ids. ``errors_stay``: they do so, or catch errors of v1 alone. ``names_errors``: they
    may catch v1's exception. ``asks``: they ask for last requests. ``protocols``: those of their
    clients. ``replaced``: classes of v1 that they may replace, each with a place.
    ``star_bindings``: names that star imports put into one module with those of this file, each
    with the imports that bind it, '' for anything else. ``imported``: names that importers read
    once they are migrated. ``taken``: names that other files read and do not bind themselves.
    ``own_methods``: those of their classes that do not derive from v1's. ``classes``: the methods
    of their classes in which v1 has no part, by class.
    """

    program: Program
    path: str
    linked: bool
    others: tuple[str, ...]
    has_classes: bool
    starts: tuple[str, ...]
    keepers: Mapping[ProgramFile, Mapping[Keeps, str]]
    kept: frozenset[Keeps]
    asks_errors: tuple[str, ...]
    errors_stay: bool
    names_errors: bool
    asks: bool
    has_processes: bool
    may_ask_for_classes: bool
    protocols: frozenset[str]
    has_regions: bool
    replaced: Mapping[str, str]
    star_bindings: Mapping[str, frozenset[str]]
    imported: frozenset[str]
    taken: frozenset[str]
    own_methods: frozenset[str]
    classes: Mapping[str, frozenset[str]]

    def reason_of(self, *keeps: Keeps) -> str:
        """Return what another file keeps, with its place, for the reason of a use that stays."""
        for file, places in self.keepers.items():
            for kind in keeps:
                if kind in places and file.may_use_v1:
                    return f"{places[kind]} keeps v1's {kind.value}; rewrite it first"
                if kind in places:
                    return f"{places[kind]} has v1's names from another file; import v1 there"
        return "other files of the program keep uses of v1"

    def reader_of(self, names: Iterable[str]) -> tuple[str, str] | None:
        """Return an importer that reads one of these names once it is migrated, and the name."""
        for file in self.program.importers(self.path):
            read = self.program.imported_by(file).intersection(names)
            if read:
                return file.name, min(read)
        return None

    def star_names(self, level: int, module: str) -> set[str]:
        """Return what a star import of the file binds; '' for the names of an unknown module."""
        return self.program.star_names(ImportedModule(level, module), self.path)


def beside_of(program: Program, path: str) -> Beside:
    """Return what the other files of a program mean for a file."""
    related = program.related(path)
    keepers = {file: program.keeps(file.path) for file in related}
    kept: frozenset[Keeps] = frozenset().union(*keepers.values())
    indirect = [file for file in related if not file.may_use_v1]
    asks_errors = tuple(file.place(ERROR_IDS) for file in related if file.asks_errors)
    attributes = [file.names.attributes | file.names.methods for file in related]
    importers = program.importers(path)
    return Beside(
        program=program,
        path=path,
        linked=bool(related),
        others=tuple(file.name for file in related),
        has_classes=any(file.has_classes for file in related),
        starts=tuple(file.place(ASYNCHRONOUS) for file in indirect if file.starts_requests),
        keepers=keepers,
        kept=kept,
        asks_errors=asks_errors,
        errors_stay=Keeps.ERRORS in kept or bool(asks_errors),
        names_errors=any(file.names_errors for file in related),
        asks=any(file.asks_contexts for file in related),
        has_processes=any(file.starts_processes for file in related),
        may_ask_for_classes=any(file.may_ask_for_classes for file in related),
        protocols=frozenset().union(*(file.protocols for file in related)),
        has_regions=any(file.has_regions for file in related),
        replaced=_replaced_by(related),
        star_bindings=program.star_bindings(path),
        imported=frozenset().union(*map(program.imported_by, importers)),
        taken=frozenset().union(*attributes, *(file.names.free for file in importers)),
        own_methods=frozenset().union(*(file.names.own_methods for file in related)),
        classes=_classes_without_v1(file.names.classes for file in related),
    )


def _replaced_by(files: Iterable[ProgramFile]) -> dict[str, str]:
    """Return the classes of v1 that files may replace, each with a place."""
    return {
        class_name: f"{file.name}, line {line},"
        for file in files
        for class_name, line in file.names.replaced.items()
    }


def _classes_without_v1(
    files: Iterable[dict[str, frozenset[str] | None]],
) -> dict[str, frozenset[str]]:
    """Return the classes of some files in which v1 has no part, and the methods that all have."""
    methods_of: defaultdict[str, list[frozenset[str] | None]] = defaultdict(list)
    for classes in files:
        for name, methods in classes.items():
            methods_of[name].append(methods)
    own: dict[str, frozenset[str]] = {}
    for name, candidates in methods_of.items():
        known = [methods for methods in candidates if methods is not None]
        if len(known) == len(candidates):
            own[name] = frozenset.intersection(*known)
    return own

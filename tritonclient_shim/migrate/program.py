"""The files of a program: which of them run together, and what they use and keep of v1.

What crosses files changes in all of them, or in none. So each round of a migration plans all files.
What a file keeps is a fact for the others in the next round. Facts are never taken back, so the
rounds end.
"""

from __future__ import annotations

import copy
import os
from collections import defaultdict
from typing import Iterable, Iterator, Mapping

from tritonclient_shim.migrate.beside import Beside, beside_of
from tritonclient_shim.migrate.builtin_names import star_builtins
from tritonclient_shim.migrate.file_names import ImportedModule
from tritonclient_shim.migrate.keeps import Keeps, all_kept, indirectly_kept
from tritonclient_shim.migrate.program_file import ProgramFile, text_of
from tritonclient_shim.scan import sources
from tritonclient_shim.scan.imports import API, star_of
from tritonclient_shim.scan.sources import ENDINGS


class Program:
    """The given files, and the files beside them.

    ``is_whole``: all files will be migrated. Without it, only the given files will.
    """

    def __init__(self, paths: Iterable[str], is_whole: bool = False) -> None:
        given = list(dict.fromkeys(map(os.path.abspath, paths)))
        places = {os.path.dirname(path) for path in given}
        beside = (other for place in places for other in _beside(place))
        #: by absolute path
        self._files = {path: ProgramFile(path, text_of(path)) for path in (*given, *beside)}
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        for path in self._files:
            self._by_stem[_stem(path)].append(path)
        self._importers: defaultdict[str, set[str]] = defaultdict(set)
        self._imported: dict[str, set[str]] = {}
        for path in self._files:
            self._imported[path] = {*self._modules(path), *self._fixtures(path)} - {path}
            for module in self._imported[path]:
                self._importers[module].add(path)
        #: by star imports alone
        self._star_importers: defaultdict[str, set[str]] = defaultdict(set)
        self._star_imported: dict[str, set[str]] = {}
        for path, file in self._files.items():
            modules = (self._files_of(imported, path) for imported in file.star_imports())
            self._star_imported[path] = {module for own in modules for module in own} - {path}
            for module in self._star_imported[path]:
                self._star_importers[module].add(path)
        #: what files keep, each with its first place, by path
        self._kept: dict[str, Mapping[Keeps, str]] = {}
        for path in () if is_whole else set(self._files).difference(given):
            self._kept[path] = all_kept(self._files[path])
        for path, file in self._files.items():
            if not file.may_use_v1:  # it has v1's names from other files
                self._kept[path] = indirectly_kept(file)
        #: files with their new texts, by path
        self._migrated = dict(self._files)

    @property
    def kept(self) -> dict[str, frozenset[Keeps]]:
        """Return what files keep, by their paths."""
        return {path: frozenset(keeps) for path, keeps in self._kept.items() if keeps}

    def with_migrated(self, path: str, keeps: Mapping[Keeps, str], text: bytes) -> Program:
        """Return the program with the new text of a file, and what it keeps, each with its place.

        What the file kept before it keeps, with the first place.
        """
        own = os.path.abspath(path)
        file = self._migrated[own]
        if text != file.text:
            is_old = text == self._files[own].text
            file = self._files[own] if is_old else ProgramFile(own, text)
        elif keeps.keys() <= self.keeps(own).keys():
            return self
        changed = copy.copy(self)
        changed._kept = {**self._kept, own: {**keeps, **self.keeps(own)}}
        changed._migrated = {**self._migrated, own: file}
        return changed

    def with_failed(self, path: str) -> Program:
        """Return the program with a file that keeps what it has of v1: nothing is rewritten."""
        file = self._files[os.path.abspath(path)]
        return self.with_migrated(path, all_kept(file), file.text)

    def migrated(self, file: ProgramFile) -> ProgramFile:
        """Return a file with its new text."""
        return self._migrated[file.path]

    def star_names(self, imported: ImportedModule, path: str) -> set[str]:
        """Return what a star import binds: of a file, all names; of another module, builtins.

        '' stands for the names of a module that is not known.
        """
        rest = [(imported, path)]
        visited: set[str] = set()
        names: set[str] = set()
        while rest:
            module, importer = rest.pop()
            others = self._files_of(module, importer)
            if not others:
                names.update(star_builtins(module.module))
            for other in others:
                names |= self._files[other].names.bound
                if other not in visited:
                    rest += [(more, other) for more in self._files[other].star_imports()]
                    visited.add(other)
        return names

    def names_from_elsewhere(self, file: ProgramFile) -> set[str]:
        """Return the names that a file imports, such as tritonclient's, and no file provides."""
        origins = file.names.origins
        return {name for name, module in origins if not self._files_of(module, file.path)}

    def imported_by(self, file: ProgramFile) -> set[str]:
        """Return the names that a file reads once it is migrated, but for those from elsewhere."""
        new = self.migrated(file)
        read = new.names.free - self.names_from_elsewhere(new)
        return {*read, *new.names.attributes}

    def importers_first(self, paths: list[str]) -> list[str]:
        """Sort files so that each comes after its importers, unless they import each other."""
        rest = dict.fromkeys(paths)
        ordered: list[str] = []
        while rest:
            waiting = set(map(os.path.abspath, rest))
            free = [x for x in rest if waiting.isdisjoint(self._importers[os.path.abspath(x)])]
            for path in free or list(rest)[:1]:
                ordered.append(path)
                del rest[path]
        return ordered

    def beside(self, path: str) -> Beside:
        """Return what the other files mean for a file."""
        return beside_of(self, os.path.abspath(path))

    def related(self, path: str) -> list[ProgramFile]:
        """Return the files that may run in one process with a file."""
        roots = _reachable([path], self._importers)
        together = _reachable(roots, self._imported) - {path}
        return [self._files[other] for other in sorted(together)]

    def importers(self, path: str) -> list[ProgramFile]:
        """Return the files that import a file, themselves or through others."""
        above = _reachable([path], self._importers) - {path}
        return [self._files[other] for other in sorted(above)]

    def star_bindings(self, path: str) -> dict[str, frozenset[str]]:
        """Return the names that share a module with those of a file, by star imports.

        They are names of the files that star-import it, and of all files that these or the file
        star-import, themselves or through others. Each name comes with what binds it: texts of
        imports, and '' for anything else.
        """
        importers = _reachable([path], self._star_importers)
        together = _reachable(importers, self._star_imported)
        texts: defaultdict[str, set[str]] = defaultdict(set)
        for other in together - {path}:
            for name, own in self._files[other].names.bindings.items():
                texts[name] |= own
        for other in importers - {path}:
            for name in self._read_from_elsewhere(other):
                texts[name].add("")
        return {name: frozenset(own) for name, own in texts.items()}

    def _read_from_elsewhere(self, path: str) -> set[str]:
        """Return the names that a file reads, and that no file of the program gives it."""
        names = set(self._files[path].names.read)
        for provider in _reachable([path], self._star_imported):
            file = self._files[provider]
            names -= file.names.bindings.keys()
            if file.has_star_of_v1:
                names -= star_of(API).keys()
        return names

    def keeps(self, path: str) -> Mapping[Keeps, str]:
        """Return what a file keeps of v1, each with its place."""
        return self._kept.get(path, {})

    def _fixtures(self, path: str) -> Iterator[str]:
        """Yield the files of pytest's fixtures for a file of tests, which uses them by name."""
        name = os.path.basename(path)
        if not name.startswith(("test", "conftest")) and not name.endswith("_test.py"):
            return
        for other in self._by_stem["conftest"]:
            if path.startswith(os.path.join(os.path.dirname(other), "")):
                yield other

    def _modules(self, path: str) -> Iterator[str]:
        """Yield the files that a file may import: beside it, else anywhere in the program."""
        for imported in dict.fromkeys(self._files[path].imports()):
            yield from self._files_of(imported, path)

    def _files_of(self, imported: ImportedModule, path: str) -> list[str]:
        """Return the files that a module may be which a file imports."""
        parts = imported.module.split(".") if imported.module else []
        above = [os.pardir] * max(imported.level - 1, 0)
        place = os.path.normpath(os.path.join(os.path.dirname(path), *above))
        beside = [x for x in _sources_of(os.path.join(place, *parts)) if x in self._files]
        if beside or imported.level or not parts:
            return beside
        ends = _sources_of(os.path.join(os.sep, *parts))
        return [other for other in self._by_stem[parts[-1]] if other.endswith(ends)]


def _beside(folder: str) -> Iterator[str]:
    """Yield the sources in a folder, and those of its package and beside the package."""
    top = folder
    while os.path.exists(os.path.join(top, "__init__.py")):
        top = os.path.dirname(top)
    for place in dict.fromkeys([folder, top]):
        files = (os.path.join(place, name) for name in _listed(place))
        yield from (file for file in files if file.endswith(ENDINGS))
    if top != folder:
        package = os.path.relpath(folder, top).split(os.sep)[0]
        yield from map(os.path.abspath, sources.files([os.path.join(top, package)]))


def _listed(folder: str) -> list[str]:
    """Return the names in a folder; none if it cannot be read, which the search for files tells."""
    try:
        return sorted(os.listdir(folder))
    except OSError:  # such as a path that is too long
        return []


def _reachable(starts: Iterable[str], links: dict[str, set[str]]) -> set[str]:
    """Return the files that links lead to, with those that they start from."""
    rest = list(starts)
    reached = set(rest)
    while rest:
        new = links.get(rest.pop(), set()) - reached
        reached |= new
        rest += new
    return reached


def _sources_of(module: str) -> tuple[str, ...]:
    """Return the paths that the file of a module may have."""
    return (f"{module}.py", os.path.join(module, "__init__.py"))


def _stem(path: str) -> str:
    """Return the name of a file in imports."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    return os.path.basename(folder) if stem == "__init__" else stem

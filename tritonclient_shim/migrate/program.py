"""The files of a program: which of them run together, and what they use and keep of v1.

What crosses files changes in all of them, or in none. So each round of a migration plans all files.
What a file keeps is a fact for the others in the next round. Facts are never taken back, so the
rounds end.
"""

from __future__ import annotations

import ast
import copy
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Iterable, Iterator, Mapping, NamedTuple

from tritonclient_shim.migrate.builtin_names import star_builtins
from tritonclient_shim.migrate.emitted import import_text
from tritonclient_shim.migrate.flows import CONTEXTS
from tritonclient_shim.registry.entry import IMPORT
from tritonclient_shim.scan import sources
from tritonclient_shim.scan.imports import API, may_use_v1, star_of
from tritonclient_shim.scan.scopes import Binding, Scope, Scopes, last_name
from tritonclient_shim.scan.sources import ENDINGS, Unreadable, content, parsed

if TYPE_CHECKING:
    from tritonclient_shim.migrate.options import SiteOutcome
    from tritonclient_shim.usage.rows import UsageRow

#: An import in a line of Python, or in a text of a notebook's JSON.
_START = r"(?:^|\\n|\")[ \t]*"
_FROM = re.compile(
    _START + r"from[ \t]+(\.*)([\w.]*)[ \t]*\bimport\b[ \t]*(\([^)]*\)|[^\n\"#;]*)", re.M
)
_IMPORT = re.compile(_START + r"import[ \t]+([^\n\"#;]*)", re.M)
_CALLED = re.compile(r"\b(?:import_module|__import__)\([ \t]*[\"']([\w.]+)[\"']")
#: Modules with fixtures and hooks of pytest.
_PLUGINS = re.compile(r"^pytest_plugins[ \t]*=[ \t]*([(\[][^)\]]*|[^\n]*)", re.M)
_ERROR_IDS = re.compile(rb"\.(?:server_id|request_id)\(\)")
_ASKED = re.compile(rb"\.(?:get_last_request_\w+|get_stat)\(")
_ASYNC = re.compile(rb"\.(?:async_run\w*|get_async_run_results|get_ready_async_request)\(")
_REQUESTS = re.compile(rb"InferContext|SharedMemoryControlContext")
_LEGACY = re.compile(rb"(?:Infer|Status|Health|Repository|Control)Context|ProtocolType")
#: What starts processes. A pool of threads may be a part of ``multiprocessing``, too.
_PROCESSES = re.compile(
    r"(?:^|\\n|[\";:])[ \t]*(?:from|import)[ \t][^;\n]*?"
    r"\b(?:multiprocessing(?!\.dummy|\.pool[ \t]+import[ \t]+ThreadPool[ \t]*(?:$|[;\\]))"
    r"|joblib|loky|billiard|celery|pathos|mpire|ray|dask|pyspark)\b"
    r"|\bfork(?:pty)?\(|\bProcessPoolExecutor\b|\bDataLoader\b",
    re.M,
)
#: What may be classes in outputs: every format that is not written as RAW.
_CLASSES = re.compile(r"\bCLASS\b|ResultFormat(?!\.RAW\b)")
_SENDERS = (f"{API}.InferContext", f"{API}.SharedMemoryControlContext")
_MEMORY = ("tensorrtserver.shared_memory", "tensorrtserver.cuda_shared_memory")
_ERROR = f"{API}.InferenceServerException"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Base classes of Python's that add no method with a name of v1's.
_PLAIN_BASES = ("object", "ABC")
_CLASS_NAMES = frozenset(symbol.rpartition(".")[2] for symbol in CONTEXTS)


class Keeps(Enum):
    """What a file keeps of v1 that other files may give it, or get from it.

    HANDED: contexts for requests that other files make or get.
    """

    CONTEXTS = "contexts or protocols"
    REQUESTS = "contexts, regions or formats"
    HANDED = "contexts"
    ERRORS = "exception"
    REGIONS = "regions"


#: What the text of a file has if it keeps all that it has of v1.
_MARKS = {
    Keeps.CONTEXTS: _LEGACY,
    Keeps.REQUESTS: _REQUESTS,
    Keeps.HANDED: re.compile(_REQUESTS.pattern + b"|" + _ASYNC.pattern),
    Keeps.ERRORS: re.compile(b"InferenceServerException"),
    Keeps.REGIONS: re.compile(b"shared_memory"),
}
#: The same for a file that has v1's names from other files.
_MARKS_OF_NAMES = {Keeps.CONTEXTS: _LEGACY, Keeps.REQUESTS: _REQUESTS, Keeps.HANDED: _REQUESTS}


class _Import(NamedTuple):
    """A module that a file imports, with the number of dots before it."""

    level: int
    module: str


class _File:
    """A file of a program, and what its text says. Each fact is found once, when it is read."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.text = text

    @cached_property
    def decoded(self) -> str:
        """The text, for patterns of texts."""
        return self.text.decode("utf-8", "replace")

    @cached_property
    def may_use_v1(self) -> bool:
        """True if the file names v1, or star-imports a file beside it."""
        return may_use_v1(self.path, self.text)

    @cached_property
    def names(self) -> _Names:
        """The names that the file reads and binds."""
        return _names_in(self.path, self.text)

    @property
    def name(self) -> str:
        """The name of the file, for reasons in other files."""
        return _name_of(self.path)

    def place(self, mark: re.Pattern[bytes]) -> str:
        """Return the name of the first line with a mark; that of the file if it has none."""
        match = mark.search(self.text)
        if match is None or self.path.endswith(".ipynb"):  # whose lines are of JSON
            return self.name
        lines = self.text[: match.start()].count(b"\n") + 1
        return f"{self.name}, line {lines},"

    @cached_property
    def has_classes(self) -> bool:
        """True if the file names the format CLASS."""
        return b"ResultFormat.CLASS" in self.text

    @cached_property
    def may_ask_for_classes(self) -> bool:
        """True if the file may have the format CLASS, by its name or as a value."""
        return may_ask_for_classes(self.decoded)

    @cached_property
    def starts_requests(self) -> bool:
        """True if the file sends asynchronous requests, or asks for their results."""
        return bool(_ASYNC.search(self.text))

    @cached_property
    def starts_processes(self) -> bool:
        """True if the file may start processes."""
        return starts_processes(self.decoded)

    @cached_property
    def asks_errors(self) -> bool:
        """True if the file asks errors for their ids."""
        return bool(_ERROR_IDS.search(self.text))

    @cached_property
    def names_errors(self) -> bool:
        """True if the file names v1's exception."""
        return b"InferenceServerException" in self.text

    @cached_property
    def asks_contexts(self) -> bool:
        """True if the file asks contexts for their last request."""
        return bool(_ASKED.search(self.text))

    @cached_property
    def has_regions(self) -> bool:
        """True if the file names shared memory."""
        return b"shared_memory" in self.text

    @cached_property
    def has_star_of_v1(self) -> bool:
        """True if the file star-imports v1's module."""
        return has_star_of_v1(self.text)

    @cached_property
    def protocols(self) -> frozenset[str]:
        """The protocols that clients of the file may speak: one only if it names no other."""
        text = self.text
        if not _LEGACY.search(text) and b"tritonclient" not in text:
            return frozenset()
        if b"from_str" not in text:
            if b"GRPC" in text and b"http" not in text.lower():
                return frozenset(("grpc",))
            if b"HTTP" in text and b"grpc" not in text.lower():
                return frozenset(("http",))
        return frozenset(("grpc", "http"))

    def imports(self) -> Iterator[_Import]:
        """Yield the modules that the file may import."""
        text = self.decoded
        for dots, module, names in _FROM.findall(text):
            yield _Import(len(dots), module)
            for name in re.findall(r"\w+", names):
                yield _Import(len(dots), f"{module}.{name}" if module else name)
        for names in _IMPORT.findall(text):
            for module in re.findall(r"[\w.]+", names):
                yield _Import(0, module)
        for module in _CALLED.findall(text):
            yield _Import(0, module)
        for names in _PLUGINS.findall(text):
            for module in re.findall(r"[\w.]+", names):
                yield _Import(0, module)

    def star_imports(self) -> Iterator[_Import]:
        """Yield the modules whose names a star import of the file binds."""
        for dots, module, names in _FROM.findall(self.decoded):
            if names.strip() == "*":
                yield _Import(len(dots), module)


class Program:
    """The given files, and the files beside them.

    ``is_whole``: all files will be migrated. Without it, only the given files will.
    """

    def __init__(self, paths: Iterable[str], is_whole: bool = False) -> None:
        given = list(dict.fromkeys(map(os.path.abspath, paths)))
        places = {os.path.dirname(path) for path in given}
        beside = (other for place in places for other in _beside(place))
        #: by absolute path
        self._files = {path: _File(path, _text_of(path)) for path in (*given, *beside)}
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
            self._kept[path] = _all_kept(self._files[path])
        for path, file in self._files.items():
            if not file.may_use_v1:  # it has v1's names from other files
                self._kept[path] = _marked(file, _MARKS_OF_NAMES)
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
            file = self._files[own] if is_old else _File(own, text)
        elif keeps.keys() <= self.keeps(own).keys():
            return self
        changed = copy.copy(self)
        changed._kept = {**self._kept, own: {**keeps, **self.keeps(own)}}
        changed._migrated = {**self._migrated, own: file}
        return changed

    def with_failed(self, path: str) -> Program:
        """Return the program with a file that keeps what it has of v1: nothing is rewritten."""
        file = self._files[os.path.abspath(path)]
        return self.with_migrated(path, _all_kept(file), file.text)

    def migrated(self, file: _File) -> _File:
        """Return a file with its new text."""
        return self._migrated[file.path]

    def star_names(self, imported: _Import, path: str) -> set[str]:
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

    def names_from_elsewhere(self, file: _File) -> set[str]:
        """Return the names that a file imports, such as tritonclient's, and no file provides."""
        origins = file.names.origins
        return {name for name, module in origins if not self._files_of(module, file.path)}

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
        return _beside_of(self, os.path.abspath(path))

    def related(self, path: str) -> list[_File]:
        """Return the files that may run in one process with a file."""
        roots = _reachable([path], self._importers)
        together = _reachable(roots, self._imported) - {path}
        return [self._files[other] for other in sorted(together)]

    def importers(self, path: str) -> list[_File]:
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

    def _files_of(self, imported: _Import, path: str) -> list[str]:
        """Return the files that a module may be which a file imports."""
        parts = imported.module.split(".") if imported.module else []
        above = [os.pardir] * max(imported.level - 1, 0)
        place = os.path.normpath(os.path.join(os.path.dirname(path), *above))
        beside = [x for x in _sources_of(os.path.join(place, *parts)) if x in self._files]
        if beside or imported.level or not parts:
            return beside
        ends = _sources_of(os.path.join(os.sep, *parts))
        return [other for other in self._by_stem[parts[-1]] if other.endswith(ends)]


class _Names(NamedTuple):
    """Names of a file."""

    free: frozenset[str]  # variables that it binds by imports or not at all, and names in texts
    attributes: frozenset[str]  # but those of objects of its own classes
    methods: frozenset[str]  # of its classes, which may replace those of their base classes
    replaced: dict[str, int]  # classes of v1 that it may replace in other files, with lines
    bound: frozenset[str]  # but those of its imports
    #: names of the module, with the texts of the imports that bind them, '' for anything else
    bindings: Mapping[str, frozenset[str]]
    read: frozenset[str]  # variables that it reads and does not bind
    #: names that it reads only below its import of them, with the module
    origins: frozenset[tuple[str, _Import]]
    #: its classes and their methods; None for a class in which v1 may have a part
    classes: dict[str, frozenset[str] | None]
    #: of its classes that do not derive from v1's
    own_methods: frozenset[str]


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
    keepers: Mapping[_File, Mapping[Keeps, str]]
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
            read = _imported_by(file, self.program).intersection(names)
            if read:
                return file.name, min(read)
        return None

    def star_names(self, level: int, module: str) -> set[str]:
        """Return what a star import of the file binds; '' for the names of an unknown module."""
        return self.program.star_names(_Import(level, module), self.path)


def _beside_of(program: Program, path: str) -> Beside:
    """Return what the other files of a program mean for a file."""
    related = program.related(path)
    keepers = {file: program.keeps(file.path) for file in related}
    kept: frozenset[Keeps] = frozenset().union(*keepers.values())
    indirect = [file for file in related if not file.may_use_v1]
    asks_errors = tuple(file.place(_ERROR_IDS) for file in related if file.asks_errors)
    attributes = [file.names.attributes | file.names.methods for file in related]
    importers = program.importers(path)
    return Beside(
        program=program,
        path=path,
        linked=bool(related),
        others=tuple(file.name for file in related),
        has_classes=any(file.has_classes for file in related),
        starts=tuple(file.place(_ASYNC) for file in indirect if file.starts_requests),
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
        imported=frozenset().union(*(_imported_by(file, program) for file in importers)),
        taken=frozenset().union(*attributes, *(file.names.free for file in importers)),
        own_methods=frozenset().union(*(file.names.own_methods for file in related)),
        classes=_classes_without_v1(file.names.classes for file in related),
    )


def _replaced_by(files: Iterable[_File]) -> dict[str, str]:
    """Return the classes of v1 that files may replace, each with a place."""
    return {
        class_name: f"{file.name}, line {line},"
        for file in files
        for class_name, line in file.names.replaced.items()
    }


def _imported_by(file: _File, program: Program) -> set[str]:
    """Return the names that a file reads once it is migrated, but for those from elsewhere."""
    new = program.migrated(file)
    read = new.names.free - program.names_from_elsewhere(new)
    return {*read, *new.names.attributes}


def _all_kept(file: _File) -> dict[Keeps, str]:
    """Return what a file has of v1, each with its first place."""
    return _marked(file, _MARKS) if file.may_use_v1 else {}


def _marked(file: _File, marks: Mapping[Keeps, re.Pattern[bytes]]) -> dict[Keeps, str]:
    """Return what a file keeps, by marks in its text, each with its first place."""
    found = {keeps: mark for keeps, mark in marks.items() if mark.search(file.text)}
    return {keeps: file.place(mark) for keeps, mark in found.items()}


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


def may_ask_for_classes(text: str) -> bool:
    """True if a file may have the format CLASS, by its name or as a value."""
    return bool(_CLASSES.search(text))


def starts_processes(text: str) -> bool:
    """True if a file may start processes."""
    return bool(_PROCESSES.search(text))


def keeps_of(
    uses: Iterable[tuple[UsageRow, SiteOutcome]], keeps_handed: bool
) -> Mapping[Keeps, str]:
    """Return what a file keeps of v1, each with its place, by the outcomes of its uses.

    ``keeps_handed``: contexts for requests that are kept may be those of other files.
    """
    starts = {
        Keeps.CONTEXTS: (*CONTEXTS, f"{API}.ProtocolType"),
        Keeps.REQUESTS: _SENDERS,
        Keeps.HANDED: _SENDERS if keeps_handed else (),
        Keeps.REGIONS: _MEMORY,
        Keeps.ERRORS: (_ERROR,),
    }
    keeps: dict[Keeps, str] = {}
    causes_first = sorted(uses, key=lambda use: use[1].what.startswith("stays because"))
    for row, outcome in causes_first:
        is_left = outcome.todo and row.entry.kind != IMPORT
        for kind, names in starts.items():
            if is_left and row.entry.symbol.startswith(names):
                keeps.setdefault(kind, _place_of(row))
    return keeps


def _place_of(row: UsageRow) -> str:
    """Return the name of a use's line, for reasons in other files."""
    cell = f"cell {row.cell}, " if row.cell else ""
    return f"{_name_of(row.file)}, {cell}line {row.line},"


def _name_of(path: str) -> str:
    """Return the name of a file; for that of a package, with its folder."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.basename(folder), name) if name == "__init__.py" else name


def _text_of(path: str) -> bytes:
    """Return the text of a file; an empty text if it cannot be read."""
    try:
        return content(path)
    except Unreadable:
        return b""


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


def _names_in(path: str, text: bytes) -> _Names:
    """Return the names of a file; those of an empty file if it cannot be parsed."""
    try:
        tree = parsed(path, text).tree
    except Unreadable:
        tree = ast.Module([], [])
    scopes = Scopes(tree)
    nodes = list(scopes.places)
    star = set(star_of(API)) if has_star_of_v1(text) else set()
    imported = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    bound = {name for scope in scopes.of_node.values() for name in _bound(scope.bindings)}
    modules = _imported_modules(nodes, scopes.module.bindings)
    variables = {node.id for node in nodes if isinstance(node, ast.Name)}
    own = set(_own_attributes(nodes))
    attributes = [x for x in nodes if isinstance(x, ast.Attribute) and x not in own]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.bases]
    texts = set(filter(str.isidentifier, map(_last_word, nodes)))  # for getattr and mocks
    return _Names(
        free=frozenset((variables - bound - star - modules) | imported | texts),
        attributes=frozenset(node.attr for node in attributes),
        methods=frozenset(name for x in classes for name in scopes.of_node[x].bindings),
        replaced=dict(_replaced_classes([x for x in nodes if x not in own])),
        bound=frozenset(_bound(scopes.module.bindings)),
        bindings=_bindings_of(tree, scopes),
        read=frozenset(_read(scopes)),
        origins=frozenset(_origins(tree, nodes)),
        classes=_classes_of(scopes),
        own_methods=own_methods_of(scopes),
    )


def _replaced_classes(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield the classes of v1 that a file may replace in others, each with the last such line."""
    for node in nodes:
        names = {_last_word(node)}
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        for name in names & _CLASS_NAMES:
            yield name, getattr(node, "lineno", 1)


def _bound(bindings: dict[str, list[Binding]]) -> Iterator[str]:
    """Yield the names that a scope binds, but those of its imports."""
    for name, own in bindings.items():
        if not any(isinstance(binding.node, ast.alias) for binding in own):
            yield name


def has_star_of_v1(text: bytes) -> bool:
    """True if a file star-imports v1's module."""
    return f"{API} import *".encode() in text


def _bindings_of(tree: ast.Module, scopes: Scopes) -> dict[str, frozenset[str]]:
    """Return the names of a module, with the texts of imports that bind them, '' for the rest."""
    statements = {
        alias: node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    texts: dict[str, frozenset[str]] = {}
    for name, bindings in scopes.module.bindings.items():
        nodes = [binding.node for binding in bindings if binding.binds]
        texts[name] = frozenset(
            import_text(statements[node], [node]) if isinstance(node, ast.alias) else ""
            for node in nodes
        )
    return texts


def _read(scopes: Scopes) -> Iterator[str]:
    """Yield the variables that a file reads and does not bind."""
    for node in scopes.places:
        if isinstance(node, ast.Name) and scopes.owner(node) is None:
            yield node.id


def own_methods_of(scopes: Scopes) -> frozenset[str]:
    """Return the methods of the classes of a file that do not derive from v1's."""
    derived = set(_CLASS_NAMES)
    methods: set[str] = set()
    for node, scope in scopes.of_node.items():
        if not isinstance(node, ast.ClassDef):
            continue
        if any(last_name(base) in derived for base in node.bases):
            derived.add(node.name)
        else:
            methods.update(scope.bindings)
    return frozenset(methods)


def _classes_of(scopes: Scopes) -> dict[str, frozenset[str] | None]:
    """Return the classes of a file and their methods; None where v1 may have a part in a class.

    v1 has none in a class without base classes, nor in one that derives from such classes.
    """
    classes: dict[str, frozenset[str] | None] = {}
    for node, scope in scopes.of_node.items():
        if isinstance(node, ast.ClassDef):
            is_new = node.name not in classes
            methods = _own_methods(node, scope, classes)
            classes[node.name] = methods if is_new else None
    for name, bindings in scopes.module.bindings.items():
        if name in classes and len(bindings) > 1:
            classes[name] = None
    return classes


def _own_methods(
    node: ast.ClassDef, scope: Scope, classes: dict[str, frozenset[str] | None]
) -> frozenset[str] | None:
    """Return the methods of a class and its base classes; None if v1 may have a part in it."""
    if node.keywords or any(last_name(mark) != "dataclass" for mark in node.decorator_list):
        return None
    methods = {
        name
        for name, bindings in scope.bindings.items()
        if all(isinstance(binding.node, _FUNCTIONS) for binding in bindings)
    }
    for base in node.bases:
        inherited = frozenset() if last_name(base) in _PLAIN_BASES else classes.get(last_name(base))
        if inherited is None:
            return None
        methods |= inherited
    return frozenset(methods)


def _origins(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[tuple[str, _Import]]:
    """Yield the names that one import binds above all that read or bind them, with its module.

    The import is a statement of the module, so it runs whenever the module does.
    """
    first: dict[str, int] = {}  # name → the first line that reads or assigns it
    imports: dict[str, int] = defaultdict(int)  # name → how many imports bind it
    for node in nodes:
        if isinstance(node, ast.Name):
            first[node.id] = min(node.lineno, first.get(node.id, node.lineno))
        elif isinstance(node, ast.alias):
            imports[node.asname or node.name] += 1
            imports[node.name] += bool(node.asname and node.asname != node.name)
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        for alias in statement.names:
            name = alias.asname or alias.name
            is_above = statement.lineno < first.get(name, statement.lineno + 1)
            if is_above and imports[name] == 1:
                yield name, _Import(statement.level, statement.module or "")


def _imported_modules(nodes: list[ast.AST], bindings: dict[str, list[Binding]]) -> set[str]:
    """Return the names of a file that only ``import sys`` binds: no other file provides these."""
    imports = [node for node in nodes if isinstance(node, ast.Import)]
    aliases = {alias for node in imports for alias in node.names}
    binding = {name: [x.node for x in own if x.binds] for name, own in bindings.items()}
    return {name for name, own in binding.items() if aliases.issuperset(own)}


def _own_attributes(nodes: list[ast.AST]) -> Iterator[ast.Attribute]:
    """Yield the attributes of ``self`` that a class without base classes assigns itself."""
    for node in nodes:
        if isinstance(node, ast.ClassDef) and not node.bases:
            attributes = [x for x in ast.walk(node) if isinstance(x, ast.Attribute)]
            of_self = [x for x in attributes if last_name(x.value) == "self"]
            assigned = {x.attr for x in of_self if isinstance(x.ctx, ast.Store)}
            yield from (x for x in of_self if x.attr in assigned)


def _last_word(node: ast.AST) -> str:
    """Return the last name in a literal text such as ``"client.InferContext"``."""
    text = node.value if isinstance(node, ast.Constant) else ""
    return text.rpartition(".")[2] if isinstance(text, str) else ""

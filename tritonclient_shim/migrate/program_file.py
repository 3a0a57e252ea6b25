"""A file of a program, and what its text says of v1, of processes and of other modules."""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import Iterator

from tritonclient_shim.migrate.file_names import FileNames, ImportedModule, has_star_of_v1, names_in
from tritonclient_shim.scan.imports import may_use_v1
from tritonclient_shim.scan.sources import Unreadable, content

#: An import in a line of Python, or in a text of a notebook's JSON.
_START = r"(?:^|\\n|\")[ \t]*"
_FROM = re.compile(
    _START + r"from[ \t]+(\.*)([\w.]*)[ \t]*\bimport\b[ \t]*(\([^)]*\)|[^\n\"#;]*)", re.M
)
_IMPORT = re.compile(_START + r"import[ \t]+([^\n\"#;]*)", re.M)
_CALLED = re.compile(r"\b(?:import_module|__import__)\([ \t]*[\"']([\w.]+)[\"']")
#: Modules with fixtures and hooks of pytest.
_PLUGINS = re.compile(r"^pytest_plugins[ \t]*=[ \t]*([(\[][^)\]]*|[^\n]*)", re.M)
#: Questions to errors, and to contexts, for what v1's server said.
ERROR_IDS = re.compile(rb"\.(?:server_id|request_id)\(\)")
_ASKED = re.compile(rb"\.(?:get_last_request_\w+|get_stat)\(")
#: Calls that send asynchronous requests, or ask for their results.
ASYNCHRONOUS = re.compile(rb"\.(?:async_run\w*|get_async_run_results|get_ready_async_request)\(")
#: Names of v1's contexts and protocols.
LEGACY = re.compile(rb"(?:Infer|Status|Health|Repository|Control)Context|ProtocolType")
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


class ProgramFile:
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
    def names(self) -> FileNames:
        """The names that the file reads and binds."""
        return names_in(self.path, self.text)

    @property
    def name(self) -> str:
        """The name of the file, for reasons in other files."""
        return name_of(self.path)

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
        return bool(ASYNCHRONOUS.search(self.text))

    @cached_property
    def starts_processes(self) -> bool:
        """True if the file may start processes."""
        return starts_processes(self.decoded)

    @cached_property
    def asks_errors(self) -> bool:
        """True if the file asks errors for their ids."""
        return bool(ERROR_IDS.search(self.text))

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
        if not LEGACY.search(text) and b"tritonclient" not in text:
            return frozenset()
        if b"from_str" not in text:
            if b"GRPC" in text and b"http" not in text.lower():
                return frozenset(("grpc",))
            if b"HTTP" in text and b"grpc" not in text.lower():
                return frozenset(("http",))
        return frozenset(("grpc", "http"))

    def imports(self) -> Iterator[ImportedModule]:
        """Yield the modules that the file may import."""
        text = self.decoded
        for dots, module, names in _FROM.findall(text):
            yield ImportedModule(len(dots), module)
            for name in re.findall(r"\w+", names):
                yield ImportedModule(len(dots), f"{module}.{name}" if module else name)
        for names in _IMPORT.findall(text):
            for module in re.findall(r"[\w.]+", names):
                yield ImportedModule(0, module)
        for module in _CALLED.findall(text):
            yield ImportedModule(0, module)
        for names in _PLUGINS.findall(text):
            for module in re.findall(r"[\w.]+", names):
                yield ImportedModule(0, module)

    def star_imports(self) -> Iterator[ImportedModule]:
        """Yield the modules whose names a star import of the file binds."""
        for dots, module, names in _FROM.findall(self.decoded):
            if names.strip() == "*":
                yield ImportedModule(len(dots), module)


def may_ask_for_classes(text: str) -> bool:
    """True if a file may have the format CLASS, by its name or as a value."""
    return bool(_CLASSES.search(text))


def starts_processes(text: str) -> bool:
    """True if a file may start processes."""
    return bool(_PROCESSES.search(text))


def name_of(path: str) -> str:
    """Return the name of a file; for that of a package, with its folder."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.basename(folder), name) if name == "__init__.py" else name


def text_of(path: str) -> bytes:
    """Return the text of a file; an empty text if it cannot be read."""
    try:
        return content(path)
    except Unreadable:
        return b""

"""The other files of a program: their imports, and the names that they use."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from contextlib import suppress
from typing import Iterator, Mapping

from tritonclient_shim.scan.imports import API, may_use_v1, star_of
from tritonclient_shim.scan.scopes import Scopes, last_name
from tritonclient_shim.scan.sources import ENDINGS, Unreadable, content, parsed

_IMPORT = re.compile(r"(?:^|\\n|\")[ \t]*(?:from[ \t]+[.\w]+[ \t]+)?import[ \t]+[^\n\"#]*", re.M)
_ERROR_IDS = re.compile(rb"\.(?:server_id|request_id)\(\)")
_ASKED = re.compile(rb"\.(?:get_last_request_\w+|get_stat)\(")
_ASYNC = re.compile(rb"\.(?:async_run\w*|get_async_run_results|get_ready_async_request)\(")
_REQUESTS = re.compile(rb"InferContext|SharedMemoryControlContext")
_STAR = re.compile(rb"\bimport[ \t]*\*")
_LEGACY = re.compile(rb"(?:Infer|Status|Health|Repository|Control)Context|ProtocolType")


class Neighbours:
    """The files beside a file that import it, or that it imports.

    ``texts``: path → text that will replace the file on disk, None if it is not known yet. Without
    it, all files will be replaced.
    """

    def __init__(self, path: str, texts: Mapping[str, bytes | None] | None = None) -> None:
        path = os.path.abspath(path)
        stem, own = _stem(path), _text(path, texts)
        others = {other: _text(other, texts) for other in _beside(path)}
        importers = {x: text for x, text in others.items() if stem in imported(text)}
        stems = imported(own)
        linked = {*importers, *(other for other in others if _stem(other) in stems)}
        self.linked = bool(linked)  # the file imports another file of its program, or is imported
        before = [_text(other) for other in linked]
        self.has_classes = any(b"ResultFormat.CLASS" in text for text in before)
        unread = [text for x, text in others.items() if linked and not may_use_v1(x, text)]
        self.starts = any(map(_ASYNC.search, unread))  # asynchronous requests
        known = (x for x in linked if texts is not None and texts.get(x, b"") is not None)
        left = b"\n".join(others[x] for x in known)
        self.has_contexts = bool(_LEGACY.search(left))  # linked files have contexts of v1
        self.has_requests = bool(_REQUESTS.search(left))  # or its requests, or their formats
        all_text = b"\n".join(importers.values())
        self.asks_errors = bool(_ERROR_IDS.search(all_text))  # importers ask errors for their ids
        self.asks = bool(_ASKED.search(all_text))  # importers ask contexts for their last request
        self.taken: set[str] = set()  # names that importers read and do not bind themselves
        #: names that importers with a star import bind: they would get others of this file
        self.names: set[str] = set()
        for importer, text in importers.items():
            with suppress(Unreadable):
                self.taken |= _free_names(importer, text, stem)
                if _STAR.search(text):
                    self.names |= _defined(importer, text)


def importers_first(paths: list[str]) -> list[str]:
    """Sort files so that each file comes after its importers, unless they import each other."""
    rest = {path: imported(_text(path)) - {_stem(path)} for path in paths}
    importers = Counter(stem for stems in rest.values() for stem in stems)
    ordered: list[str] = []
    while rest:
        free = (path for path in rest if not importers[_stem(path)])
        path = next(free, next(iter(rest)))
        importers.subtract(rest.pop(path))
        ordered.append(path)
    return ordered


def imported(text: bytes) -> set[str]:
    """Return the names in the imports of a text, which may be those of modules."""
    lines = _IMPORT.findall(text.decode("utf-8", "replace"))
    return {word for line in lines for word in re.findall(r"\w+", line)}


def _beside(path: str) -> Iterator[str]:
    """Yield the other sources in a file's folder, and in the parent folder of a package."""
    folder = os.path.dirname(path)
    for place in [folder, *([os.path.dirname(folder)] if _in_package(path) else [])]:
        files = (os.path.join(place, name) for name in sorted(os.listdir(place)))
        others = (file for file in files if file != path)
        yield from (file for file in others if file.endswith(ENDINGS))


def _in_package(path: str) -> bool:
    return os.path.exists(os.path.join(os.path.dirname(path), "__init__.py"))


def _stem(path: str) -> str:
    """Return the name of a file in imports."""
    folder, name = os.path.split(os.path.abspath(path))
    stem = os.path.splitext(name)[0]
    return os.path.basename(folder) if stem == "__init__" else stem


def _text(path: str, texts: Mapping[str, bytes | None] | None = None) -> bytes:
    text = (texts or {}).get(path)
    with suppress(Unreadable):
        return content(path) if text is None else text
    return b""


def _defined(path: str, text: bytes) -> set[str]:
    """Return the names that a file binds, but those of its imports."""
    scopes = Scopes(parsed(path, text).tree)
    bindings = scopes.module.bindings.items()
    return {name for name, own in bindings if not any(isinstance(x.node, ast.alias) for x in own)}


def _free_names(path: str, text: bytes, stem: str) -> set[str]:
    """Return the names that a file reads and does not bind, attributes included."""
    tree, names, taken = parsed(path, text).tree, set(), set()
    for node in ast.walk(tree):
        names.add(last_name(node))
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == stem:
            taken |= {alias.name for alias in node.names}
    star = set(star_of(API)) if f"{API} import *".encode() in text else set()
    return (names - Scopes(tree).names | taken) - star

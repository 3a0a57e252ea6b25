"""One place per effect: files, network, threads and output (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Callable, Iterator

import pytest

from tests.architecture.source import PACKAGES, trees

SHIM = "tritonclient_shim/"
FACADE = "tensorrtserver/"


def imported(node: ast.AST) -> Iterator[str]:
    """Yield ``a.b`` for ``import a.b`` and for ``from a import b``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(*modules: str) -> Callable[[ast.AST], bool]:
    """Return a predicate: true for an import of a module, or from it."""

    def matches(node: ast.AST) -> bool:
        names = [f"{name}." for name in imported(node)]
        return any(name.startswith(f"{module}.") for name in names for module in modules)

    return matches


def uses(*dotted: str) -> Callable[[ast.AST], bool]:
    """Return a predicate: true for ``module.name``, its import, or a builtin's name."""
    wanted = frozenset(dotted)

    def matches(node: ast.AST) -> bool:
        if isinstance(node, (ast.Attribute, ast.Name)):
            return _spelt(node) in wanted
        return not wanted.isdisjoint(imported(node))

    return matches


def _spelt(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_spelt(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def broad_except(node: ast.AST) -> bool:
    """True if a handler catches everything, ``Exception`` or ``BaseException``, also in a tuple.

    A handler that ends in a bare ``raise`` hides nothing: it only cleans up.
    """
    if not isinstance(node, ast.ExceptHandler):
        return False
    last = node.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    broad = {"Exception", "BaseException"}
    return any(item is None or (isinstance(item, ast.Name) and item.id in broad) for item in caught)


def hidden_broad_except(node: ast.AST) -> bool:
    """True if code catches everything without an ``except``, and so without a reason.

    Examples are ``gather(…, return_exceptions=True)`` and ``suppress(Exception)``.
    """
    if not isinstance(node, ast.Call):
        return False
    if _spelt(node.func).rpartition(".")[2] == "suppress":
        return any(_spelt(arg) in ("Exception", "BaseException") for arg in node.args)
    return any(keyword.arg == "return_exceptions" for keyword in node.keywords)


@dataclass(frozen=True)
class Effect:
    """An effect, and the only paths that may cause it."""

    name: str
    matches: Callable[[ast.AST], bool]
    doors: tuple[str, ...]


#: Modules that ``migrate`` writes into users' folders. No module of ours imports them.
WRITTEN = SHIM + "migrate/helpers/"
LOCKS = ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier")
EFFECTS = (
    Effect(
        "import tritonclient",
        imports("tritonclient"),
        (SHIM + "backends/", SHIM + "core/errors.py", SHIM + "shm/cuda.py"),
    ),
    Effect("warnings", imports("warnings"), (SHIM + "notice/",)),
    Effect(
        "os.environ",
        uses("os.environ", "os.environb", "os.getenv", "os.putenv"),
        (
            SHIM + "settings/",
            SHIM + "migrate/prove.py",  # gives the user's variables to the user's commands
        ),
    ),
    Effect(
        "print, stdout",
        uses("print", "sys.stdout", "sys.__stdout__"),
        (
            SHIM + "cli/",
            SHIM + "usage/",
            SHIM + "notice/watch.py",
            SHIM + "session/control.py",
        ),
    ),
    Effect(
        "ctypes",
        imports("ctypes", "_ctypes"),
        (
            SHIM + "shm/",
            SHIM + "core/arguments.py",  # ArgumentError, which v1 raised, and c_void_p
            SHIM + "registry/star_names.py",  # its names, which v1's star import gave
            FACADE + "api/_contexts.py",  # c_void_p, in signatures
            FACADE + "shared_memory/",
            FACADE + "cuda_shared_memory/",
        ),
    ),
    Effect(
        "threads",
        lambda node: (
            uses("threading.Thread", "threading.Timer")(node)
            or imports("_thread", "concurrent", "multiprocessing")(node)
        ),
        (
            SHIM + "concurrency/daemon_executor.py",
            SHIM + "concurrency/questions.py",
            SHIM + "session/in_flight.py",
            SHIM + "session/streams.py",
            SHIM + "stub/calls.py",
            SHIM + "gateway/",
            SHIM + "backends/",
        ),
    ),
    Effect(
        "locks",  # each lock must be free in a forked child
        uses(*(f"threading.{lock}" for lock in LOCKS)),
        (
            SHIM
            + "concurrency/forks.py",  # use forks.Lock; the next modules have their own after_fork
            SHIM + "concurrency/daemon_executor.py",
            SHIM + "session/in_flight.py",
            SHIM + "session/infer_session.py",
            SHIM + "backends/grpc/forks.py",
            SHIM + "backends/grpc/stream.py",
            SHIM + "gateway/",  # it does not fork
        ),
    ),
    Effect(
        "broad except",
        broad_except,
        (
            SHIM + "core/reading.py",  # any exception from reading a reply is an error
            SHIM + "concurrency/daemon_executor.py",  # any exception is the outcome of a job
            SHIM + "backends/in_process/server.py",  # any exception of a model is an error reply
            SHIM + "session/in_flight.py",
            SHIM + "stub/calls.py",  # any exception is the outcome of a future
            SHIM + "stub/__init__.py",  # any exception of a user's iterator ends the stream
            SHIM + "cli/doctor.py",  # any exception of an import is a finding
            SHIM + "cli/migrate.py",  # reports a file if a rule fails, and continues
            SHIM + "cli/scan.py",
            SHIM + "cli/__init__.py",  # reports a crash with a status of its own
            # a client waits for v1's reply after any exception
            SHIM + "gateway/http/service.py",
            SHIM + "gateway/grpc/service.py",
            SHIM + "gateway/grpc/stream.py",
            SHIM + "gateway/upstream/calls.py",
            SHIM + "gateway/upstream/server.py",
        ),
    ),
    Effect(
        "hidden broad except",
        hidden_broad_except,
        (),
    ),
)


def lines(effect: Effect, tree: ast.AST) -> list[int]:
    """Return the lines of a file with the effect."""
    return [node.lineno for node in ast.walk(tree) if effect.matches(node)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.name)
def test_effect_has_one_place(effect: Effect) -> None:
    """No file outside an effect's permitted places causes it."""
    elsewhere: frozenset[str] = frozenset(
        f"{path}:{line}"
        for path, tree in trees(*PACKAGES).items()
        if not path.startswith((*effect.doors, WRITTEN))
        for line in lines(effect, tree)
    )
    assert not elsewhere, f"{effect.name} belongs in {', '.join(effect.doors)}"

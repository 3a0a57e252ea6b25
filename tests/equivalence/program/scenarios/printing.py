"""Output of verbose contexts on stdout and stderr (docs/v1-behaviour.md §10.2)."""

import ctypes
import os
import sys
import tempfile

from recorder import BOTH, SUMS

#: The C library, which flushes the output of libraries in C.
LIBC = ctypes.CDLL(None)


def printed(number, act):
    """Return the output of an action to a file descriptor, by Python or by libraries in C."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(number)
        flush()
        os.dup2(file.fileno(), number)
        try:
            act()
        finally:
            flush()
            os.dup2(kept, number)
            os.close(kept)
        file.seek(0)
        return file.read().decode("utf-8", "replace")


def flush():
    sys.stdout.flush()
    sys.stderr.flush()
    LIBC.fflush(None)


def health(see):
    ctx = see.of("ServerHealthContext", True)
    see.note("live", printed(1, ctx.is_live))
    see.note("ready", printed(1, ctx.is_ready))


def index(see):
    ctx = see.of("ModelRepositoryContext", True)
    see.note("index", printed(1, ctx.get_model_repository_index))


def status(see):
    ctx = see.of("ServerStatusContext", "simple", True)
    text = printed(1, ctx.get_server_status)
    see.note("its beginning", text.split("\n")[0])
    see.note("its end", text[-3:])
    see.note("the model", 'key: "simple"' in text)


def regions(see):
    ctx = see.of("SharedMemoryControlContext", True)
    number = 2 if see.grpc else 1
    see.note("status", printed(number, ctx.get_shared_memory_status))


def inference(see):
    opened = []
    text = printed(1, lambda: opened.append(see.open("simple", -1, True)))
    see.note("constructor", [text.split("\n")[0], 'key: "simple"' in text])
    see.note("run", printed(1, lambda: opened[0].run(SUMS, BOTH)))


def quiet(see):
    """Contexts that are not verbose print nothing on stdout."""
    ctx = see.open("simple")
    see.note("run", printed(1, lambda: ctx.run(SUMS, BOTH)))
    see.note("health", printed(1, see.of("ServerHealthContext").is_live))
    see.note("status", printed(1, see.of("ServerStatusContext").get_server_status))
    control = see.of("ModelControlContext", True)
    see.note("control", printed(1, lambda: control.unload("nope")))

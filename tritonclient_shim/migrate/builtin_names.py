"""Names of builtins that star imports may bind anew."""

from __future__ import annotations

from tritonclient_shim.scan.imports import is_of_v1

_NUMPY = frozenset(["abs", "all", "any", "bool", "divmod", "max", "min", "pow", "round", "sum"])
#: Packages → the names of other builtins that their star imports may bind.
_STARS = {
    "numpy": _NUMPY,
    "pylab": _NUMPY,
    "os": frozenset(("open",)),
    "codecs": frozenset(("open",)),
    "io": frozenset(("open",)),
    "math": frozenset(("pow",)),
    "operator": frozenset(("abs", "pow")),
    **dict.fromkeys(
        ("argparse", "builtins", "collections", "ctypes", "datetime", "functools", "future")
        + ("glob", "itertools", "json", "logging", "multiprocessing", "past", "queue", "random")
        + ("shutil", "signal", "six", "socket", "string", "struct", "subprocess", "sys")
        + ("threading", "time", "tkinter", "tritonclient", "typing", "unittest", "__future__"),
        frozenset(),
    ),
}


def star_builtins(module: str) -> frozenset[str]:
    """Return the builtins that a star import of a module may bind anew; '' if it is not known."""
    package = module.partition(".")[0]
    return frozenset() if is_of_v1(module) else _STARS.get(package, frozenset(("",)))

"""Find out if a program may run functions in several threads."""

from __future__ import annotations

import ast

from tritonclient_shim.scan.scopes import last_name

#: Modules that call no function of the program in a thread of their own. Others may.
_OF_ONE_THREAD = (
    "__future__", "abc", "argparse", "array", "ast", "base64", "binascii", "bisect",
    "builtins", "bz2", "calendar", "cmath", "codecs", "collections", "configparser",
    "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime", "decimal", "difflib",
    "email", "enum", "errno", "fnmatch", "fractions", "functools", "gc", "getopt", "getpass",
    "glob", "gzip", "hashlib", "heapq", "html", "imghdr", "inspect", "io", "ipaddress",
    "itertools", "json", "keyword", "locale", "logging", "lzma", "math", "mimetypes",
    "numbers", "operator", "optparse", "os", "pathlib", "pickle", "platform", "pprint",
    "random", "re", "resource", "secrets", "select", "shlex", "shutil", "signal", "socket",
    "sqlite3", "ssl", "stat", "statistics", "string", "struct", "subprocess", "sys",
    "tarfile", "tempfile", "textwrap", "time", "timeit", "token", "tokenize", "traceback",
    "types", "typing", "unicodedata", "unittest", "urllib", "uuid", "warnings", "wave",
    "weakref", "xml", "zipfile", "zlib", "zoneinfo",
    "attr", "click", "cv2", "future", "google", "h5py", "librosa", "mock", "numpy", "pandas",
    "past", "PIL", "pytest", "requests", "scipy", "six", "skimage", "soundfile", "tabulate",
    "tensorrtserver", "tqdm", "tritonclient", "typing_extensions", "yaml",
)  # fmt: skip


def may_have_threads(tree: ast.Module) -> bool:
    """True unless the file imports nothing but modules that run functions in one thread.

    v1's star import provides ``threading``, too.
    """
    return any(map(_may_start_threads, ast.walk(tree)))


def _may_start_threads(node: ast.AST) -> bool:
    """True for an import of a module that may run functions in threads, and for ``threading``."""
    if isinstance(node, ast.Import):
        return not all(map(_is_of_one_thread, (name.name for name in node.names)))
    if isinstance(node, ast.ImportFrom):
        return bool(node.level) or not _is_of_one_thread(node.module or "")
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("import_module", "__import__")
    return isinstance(node, ast.Name) and node.id == "threading"


def _is_of_one_thread(module: str) -> bool:
    """True for a module, or one of its package, that calls functions in their own thread."""
    return module.partition(".")[0] in _OF_ONE_THREAD

"""``tritonclient-shim COMMAND`` and ``python -m tritonclient_shim COMMAND``.

A command is a module of this package whose name does not begin with ``_``. Its docstring is the
help text, as it is: at most 79 letters wide. Its function ``add_arguments(parser)`` adds options.
Its function ``run(arguments)`` imports what the command needs, and returns the exit status or
raises Refused.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import re
import sys
import traceback
from difflib import get_close_matches
from typing import Sequence

from tritonclient_shim import __version__

_REFUSED = 2
#: Of a crash, as sysexits.h has it. Python's own 1 has another meaning for most commands.
_CRASHED = 70
#: The exit status that shells report for Ctrl-C.
_INTERRUPTED = 128 + 2
#: The exit status that shells report for a pipe whose reader has stopped.
_SIGPIPE = 128 + 13


class Refused(Exception):
    """Wrong usage or configuration: the text says what was expected and what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in ``argv``, or in the process's arguments → exit status."""
    parser = _parser()
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] not in (*_commands(), "") and not words[0].startswith("-"):
        expected = f"expected one of: {', '.join(_commands())}"
        parser.error(f"no command {words[0]!r}; {_near(words[0], _commands())}{expected}")
    arguments, unknown = parser.parse_known_args(argv)
    if "run" not in arguments:
        if unknown:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        parser.print_help()
        return 0
    if unknown:  # with the usage of the command
        options = re.findall(r"--[\w-]+", arguments.command.format_usage())
        near = _near(unknown[0], options).rstrip()
        hint = f"; {near}" if near else ""
        arguments.command.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    try:
        return int(arguments.run(arguments))
    except Refused as error:
        tell(arguments.name, str(error))
        return _REFUSED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception:
        if arguments.name == "run":  # the script's
            raise
        traceback.print_exc()
        tell(arguments.name, "this is a bug; please report it with the lines above")
        return _CRASHED


def tell(command: str, text: str) -> None:
    """Print a message of a command on stderr."""
    print(f"tritonclient-shim {command}: {text}", file=sys.stderr)


def show(text: str) -> None:
    """Print the text; end in silence if the reader has stopped, as ``head`` does.

    Letters that standard output cannot show are printed as backslash and number.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except BrokenPipeError:
        # Python writes what it still holds once more when it ends: to where that cannot fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_SIGPIPE)


def show_long(text: str) -> None:
    """Print the text, on a terminal by a pager if it has more lines than the screen."""
    from tritonclient_shim.cli import _terminal

    if _terminal.fits(text) or not _terminal.page(text):
        show(text)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _commands() -> list[str]:
    return [row.name for row in pkgutil.iter_modules(__path__) if not row.name.startswith("_")]


def _near(word: str, words: Sequence[str]) -> str:
    """Return a question with the word that is written almost so, '' without one."""
    names = get_close_matches(word.partition("=")[0], words, 1)
    return f"did you mean {names[0]}? " if names else ""


def _parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="tritonclient-shim",
        description="Programs of the retired tensorrtserver client on today's Triton.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in _commands():
        module = importlib.import_module(f"{__name__}.{name}")
        text = (module.__doc__ or "").strip()
        command = commands.add_parser(
            name,
            help=text.splitlines()[0],
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(command=command, name=name, run=module.run)
    return parser

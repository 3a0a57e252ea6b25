"""``tritonclient-shim COMMAND`` and ``python -m tritonclient_shim COMMAND``.

A command is a module of this package whose name does not begin with ``_``. Its docstring is the
help text, as it is: at most 79 letters wide. Its function ``add_arguments(parser)`` adds options.
Its function ``run(arguments)`` imports what the command needs, and returns the exit status or
raises Refused.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import pkgutil
import re
import sys
from typing import NoReturn, Sequence

from tritonclient_shim import __version__

#: The exit status of a command that Ctrl-C ended, as shells report it.
INTERRUPTED = 128 + 2
_REFUSED = 2
_SIGPIPE = 128 + 13  # the exit status that a shell reports for the signal


class Refused(Exception):
    """Wrong usage or configuration: the text says what was expected and what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in ``argv``, or in the process's arguments → exit status."""
    parser = _parser()
    arguments, unknown = parser.parse_known_args(argv)
    if "run" not in arguments:
        parser.print_help()
        return 0
    if unknown:
        arguments.command.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return int(arguments.run(arguments))
    except Refused as error:
        tell(arguments.name, str(error))
        return _REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


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


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest option or choice for one that does not exist."""

    def error(self, message: str) -> NoReturn:
        """Print the error with a suggestion, and exit with 2."""
        wrong = re.search(r"(?:invalid choice: '|unrecognized arguments: )([^'\s=]+)", message)
        if wrong:
            words = {*re.findall(r"[\w-]+", self.format_usage() + message)} - {wrong[1]}
            near = difflib.get_close_matches(wrong[1], words, 1)
            message += f"; did you mean {near[0]}?" if near else ""
        super().error(message)


def _parser() -> _Parser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="tritonclient-shim",
        description="Programs of the retired tensorrtserver client on today's Triton.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for row in pkgutil.iter_modules(__path__):
        if not row.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{row.name}")
            text = (module.__doc__ or "").strip()
            command = commands.add_parser(
                row.name,
                help=text.splitlines()[0],
                description=text,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            module.add_arguments(command)
            command.set_defaults(command=command, name=row.name, run=module.run)
    return parser

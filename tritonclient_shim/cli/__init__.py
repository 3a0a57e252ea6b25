"""``tritonclient-shim COMMAND`` and ``python -m tritonclient_shim COMMAND``.

A command is a module of this package whose name does not begin with ``_``. The command has the
module's name, with ``-`` for ``_``. The module's docstring is the help text; its functions are
``add_arguments(parser)`` and ``run(arguments) -> int``, which returns the exit status and imports
what the command needs.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from typing import Sequence

from tritonclient_shim import __version__

#: The exit status of a command that Ctrl-C ended, as shells report it.
INTERRUPTED = 128 + 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in ``argv``, by default the process's arguments → exit status."""
    arguments = _parser().parse_args(argv)
    run = arguments.run
    try:
        return int(run(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tritonclient-shim",
        description="Programs of the retired tensorrtserver client on today's Triton.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for found in pkgutil.iter_modules(__path__):
        if not found.name.startswith("_"):
            _add(commands, found.name)
    return parser


def _add(commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str) -> None:
    module = importlib.import_module(f"{__name__}.{name}")
    text = (module.__doc__ or "").strip()
    command = commands.add_parser(
        name.replace("_", "-"), help=text.splitlines()[0], description=text
    )
    module.add_arguments(command)
    command.set_defaults(run=module.run)

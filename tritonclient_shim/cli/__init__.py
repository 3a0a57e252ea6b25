"""``tritonclient-shim COMMAND`` and ``python -m tritonclient_shim COMMAND``.

A command is a module of this package: its first docstring line is the help text, it has
``add_arguments(parser)`` and ``run(arguments) -> int``, the exit status. It imports what it
needs in ``run``. Its name is the module's, with ``-`` for ``_``; modules that begin with ``_``
are none.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from typing import Sequence

from tritonclient_shim import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that ``argv`` names, by default of the process → exit status."""
    arguments = _parser().parse_args(argv)
    run = arguments.run
    return int(run(arguments))


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
        name.replace("_", "-"),
        help=text.splitlines()[0],
        description=text,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    module.add_arguments(command)
    command.set_defaults(run=module.run)

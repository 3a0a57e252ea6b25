"""Run a script as it is, and report what it used.

What NumPy and Python have removed since 2019 is put back for it. All arguments
after the script's name are the script's. TRITON_SHIM_REPORT=usage.txt writes
the report to a file.

Exit status: the script's; 2 if there is none to run.
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys

from tritonclient_shim.cli import Refused, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim run``; all after the script is the script's."""
    parser.usage = "%(prog)s [-h] SCRIPT | -m MODULE [ARGUMENT ...]"
    add = parser.add_argument
    rest = argparse.REMAINDER
    add("-m", dest="module", nargs=rest, default=[], help="run a module, as python -m")
    add("script", metavar="SCRIPT", nargs=rest, help="run a script or folder, as python SCRIPT")


def run(arguments: argparse.Namespace) -> int:
    """Run the script → 0; its exceptions and SystemExit pass."""
    from tritonclient_shim.cli import _runner
    from tritonclient_shim.cli._installation import shadow

    is_module = bool(arguments.module)
    run_command = _runner.run_module if is_module else _runner.run_script
    command = arguments.module or arguments.script
    if not command:
        raise Refused("name a script, or -m MODULE")
    if not is_module and not os.path.exists(command[0]):
        raise Refused(f"there is no script {command[0]!r} in {os.getcwd()}; check name and folder")
    folder = "" if is_module else os.path.dirname(command[0])
    hidden = shadow(folder or os.curdir)
    _start_report()
    if hidden:
        tell("run", hidden)
    _runner.numpy_names()
    _runner.hide_runner()
    run_command(command)
    return 0


def _start_report() -> None:
    """Report at the end: as TRITON_SHIM_REPORT says, or on stderr, with what was put back.

    Raise Refused if the report cannot be written.
    """
    from tritonclient_shim import usage
    from tritonclient_shim.settings import SettingsError
    from tritonclient_shim.usage import Recorder, report

    try:
        is_counting = usage.wanted() is not None
    except SettingsError as error:
        raise Refused(f"{error}. The script has not run") from None
    if not is_counting:
        atexit.register(_print_put_back, os.getpid())  # after the report
        recorder = Recorder()
        usage.start(recorder)
        report.print_at_exit(recorder)


def _print_put_back(owner: int) -> None:
    """Name what the script used that Python or NumPy have removed."""
    from tritonclient_shim.cli._runner import put_back

    if put_back and os.getpid() == owner:
        names = ", ".join(dict.fromkeys(put_back))
        print(
            f"Put back for this run: {names}. `tritonclient-shim guide "
            "what-python-and-numpy-removed` shows what to write instead.",
            file=sys.stderr,
        )

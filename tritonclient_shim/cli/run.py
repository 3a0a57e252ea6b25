"""Run a script as it is, and report what it used.

What NumPy and Python have removed since 2019 is put back for it. Arguments and exit status are the
script's own; 2 when there is none to run.
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys

_ALL = ("numpy", "async", "future")
_REMEDY = (
    "Convert it with 2to3 -w {path} or futurize -w {path} (both need Python 3.12 or older, and "
    "keep the old API as it is); or leave it with its Python 2 and old client, and have them call "
    "a tritonclient-shim gateway in front of Triton"
)
_ADVICE = (
    "tritonclient-shim run: the server cannot be reached as the script asks for it. `{command}`, "
    "with the script's address, tells what is wrong"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim run``; all after the script is the script's."""
    add = parser.add_argument
    add("--restore", type=_parts, default=",".join(_ALL), metavar="WHAT",
        help="what to put back, with commas between: numpy (np.object, np.bool, np.int, ...), "
        "async (as a name), future (future.utils); or none (default: %(default)s)")  # fmt: skip
    add("--report", metavar="PATH", default=argparse.SUPPRESS,
        help="write the report there; its ending says how: .txt, .json, .sarif. "
        "Otherwise it goes to stderr")  # fmt: skip
    add("-m", dest="module", nargs=argparse.REMAINDER, default=argparse.SUPPRESS,
        metavar="MODULE ARG", help="run a module, as python -m")  # fmt: skip
    add("-c", dest="code", nargs=argparse.REMAINDER, default=argparse.SUPPRESS,
        metavar="CODE ARG", help="run this code, as python -c")  # fmt: skip
    add("script", nargs=argparse.REMAINDER, metavar="SCRIPT ARG", default=argparse.SUPPRESS,
        help="run a script, as python SCRIPT")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Run the script → 0, or 2 when there is none to run; its exceptions and SystemExit pass."""
    from tritonclient_shim.cli import _restore, _runner

    what = getattr(arguments, "module", None)
    how = _runner.module
    if not what:
        what, how = getattr(arguments, "code", None), _runner.code
    if not what:
        what, how = getattr(arguments, "script", None), _runner.script
    if not what:
        return _fail("name a script, or -m MODULE, or -c CODE")
    refused = _unusable_script(what[0]) if how is _runner.script else ""
    refused = refused or _unusable_report(getattr(arguments, "report", ""))
    if refused:
        return _fail(refused)
    _warn_of_shadow(os.path.dirname(what[0]) if how is _runner.script else "")
    advice = ConnectionAdvice()
    _report(getattr(arguments, "report", ""))
    _restore.everything(arguments.restore)
    try:
        how(what, "async" in arguments.restore)
    except SyntaxError as error:
        explained = _explain_python2(error)
        if not explained or error.filename != what[0]:  # an import: the traceback says which
            raise
        return 2
    except BaseException as error:
        advice.note(error)
        raise
    return 0


def _unusable_script(path: str) -> str:
    """Return why Python cannot run this script or folder; '' if it can."""
    if not os.path.exists(path):
        return f"there is no script {path!r} in {os.getcwd()}; check name and folder"
    mains = [os.path.join(path, name) for name in ("__main__.py", "__main__.pyc")]
    if os.path.isdir(path) and not any(map(os.path.isfile, mains)):
        return (
            f"the folder {path!r} has no __main__.py; expected a script, or a folder that has "
            "one; name the script itself"
        )
    return ""


def _unusable_report(path: str) -> str:
    """Return why the report cannot be written; '' if it can."""
    from tritonclient_shim.settings import SettingsError, report_path, report_problem
    from tritonclient_shim.usage import report

    try:
        wanted = path or report_path()
    except SettingsError as error:
        return f"{error}. The script has not run"
    problem = report_problem(wanted)
    if problem:
        return f"--report {wanted}: {problem}. The script has not run"
    reason = report.obstacle(wanted) if wanted else ""
    if not reason:
        return ""
    source = "--report" if path else "TRITON_SHIM_REPORT"
    return (
        f"cannot write the report to {wanted!r}: {reason}; expected a file in a folder that "
        f"exists and can be written to; change {source}. The script has not run"
    )


def _warn_of_shadow(folder: str) -> None:
    """Warn of a ``tensorrtserver`` in the script's folder or on the path that hides ours."""
    from tritonclient_shim.cli import _installation

    text = _installation.shadow(folder or os.curdir)
    if text:
        print(f"tritonclient-shim run: {text}", file=sys.stderr)


def _explain_python2(error: SyntaxError) -> bool:
    """Say what to do with a file of Python 2 → True; False for any other error."""
    from tritonclient_shim.migrate import python2

    feature = python2.feature(error)
    if not feature or not os.path.isfile(error.filename or ""):
        return False
    _fail(
        f"{error.filename}:{error.lineno}: {feature}, which is Python 2; expected Python 3. "
        + _REMEDY.format(path=error.filename)
    )
    return True


def _fail(text: str) -> int:
    print(f"tritonclient-shim run: {text}", file=sys.stderr)
    return 2


def _report(path: str) -> None:
    """Report at the end: to this path, or else on stderr, with what was put back."""
    from tritonclient_shim import usage
    from tritonclient_shim.settings import report_path
    from tritonclient_shim.usage import Recorder, report

    recorder = Recorder()
    usage.start(recorder)
    path = path or report_path()
    if path:
        report.write_at_exit(recorder, path)
    else:
        atexit.register(_print_put_back, os.getpid())  # after the report
        report.print_at_exit(recorder)


def _print_put_back(owner: int) -> None:
    """Name what the script used that Python or NumPy have removed."""
    from tritonclient_shim.cli._restore import put_back

    if put_back and os.getpid() == owner:
        names = ", ".join(dict.fromkeys(put_back))
        print(
            f"Put back for this run: {names}. `tritonclient-shim guide "
            "what-python-and-numpy-removed` shows what to write instead.",
            file=sys.stderr,
        )


def _parts(text: str) -> frozenset[str]:
    parts = frozenset(part.strip().lower() for part in text.split(",") if part.strip())
    strange = parts - {*_ALL, "none"}
    if strange:
        raise argparse.ArgumentTypeError(
            f"expected {', '.join(_ALL)} or none, got {', '.join(sorted(strange))}"
        )
    return parts - {"none"}


class ConnectionAdvice:
    """Prints, as the last of what the process prints, what to do about a failed connection."""

    def __init__(self) -> None:
        self._text = ""
        atexit.register(self.print)  # before the report's: functions run in reverse order

    def note(self, end: BaseException) -> None:
        """Remember the advice if the script ended because a connection failed.

        ``sys.exit`` in an ``except`` clause has the exception that was caught there as its context.
        """
        protocol = _protocol_of_failed_connection(end)
        if protocol:
            command = f"tritonclient-shim doctor --url HOST:PORT --protocol {protocol}"
            self._text = _ADVICE.format(command=command)

    def print(self) -> None:
        """Print the advice, once."""
        text, self._text = self._text, ""
        if text:
            print(text, file=sys.stderr)


def _protocol_of_failed_connection(end: BaseException) -> str:
    """Return the protocol of the failed connection behind an exception, or ''."""
    if "tritonclient_shim.core.errors" not in sys.modules:  # no call of the old API has failed
        return ""
    from tritonclient_shim.core.errors import ForeignFault, TransportFault, UnreadableFault

    error: BaseException | None = end
    while error is not None:
        if isinstance(error, TransportFault):
            return "grpc" if error.status else "http"  # only gRPC has a status without a reply
        if isinstance(error, ForeignFault) and not isinstance(error, UnreadableFault):
            return "http"
        error = error.__cause__ or error.__context__
    return ""

"""``run``: what the end of a script says of the server that it could not reach."""

from __future__ import annotations

import atexit
import sys

_ADVICE = (
    "tritonclient-shim run: the server cannot be reached as the script asks for it. `{command}`, "
    "with the script's address, tells what is wrong"
)


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
    """The protocol of the failed connection among an exception and what it came from, or ''."""
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

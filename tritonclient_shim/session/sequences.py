"""The sequences of a client whose streams may break: none goes on over a gap.

After a break nobody knows which of a sequence's requests the server has seen. One that went on
would be answered from a state that nobody asked for.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import count

from tritonclient_shim.backends.base import Done, Outcome
from tritonclient_shim.core.errors import Fault, TransportFault
from tritonclient_shim.core.model import InferCall

#: Sequences without end that are remembered; a server forgets idle ones after seconds.
MOST = 65536

_LOST = (
    "The stream broke in the midst of sequence {0}: which of its requests the server has seen, "
    "and so the state of the sequence there, is unknown. Start it again: send its first request "
    "with FLAG_SEQUENCE_START"
)


class SequenceLost(TransportFault):
    """A request goes on with a sequence that was open on a stream which has broken."""


class Sequences:
    """The sequences that have been started and not been seen to end, with the stream of each.

    Streams have numbers. No lock: every step is one operation on the dict.
    """

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, str]] = {}
        #: The number of the next stream.
        self.next_stream = count().__next__

    def enter(self, call: InferCall, stream: int, done: Done) -> Done:
        """A request with a sequence id is about to be sent → what shall receive its outcome.

        SequenceLost unless it starts its sequence, or the sequence is not one of another stream.
        """
        number = call.sequence_id
        if call.sequence_start:
            self._open[number] = (stream, call.request_id)
            self._forget_oldest()
        begun = self._open.get(number)
        if begun is None:
            return done
        if begun[0] != stream:
            raise SequenceLost(_LOST.format(number))
        return partial(self._ended, number, begun, done) if call.sequence_end else done

    def _forget_oldest(self) -> None:
        if len(self._open) > MOST:
            with suppress(StopIteration, RuntimeError):  # other threads are at work, too
                self._open.pop(next(iter(self._open)), None)

    def _ended(self, number: int, begun: tuple[int, str], done: Done, outcome: Outcome) -> None:
        if not isinstance(outcome, Fault) and self._open.get(number) is begun:
            self._open.pop(number, None)
        done(outcome)

    def forget(self) -> None:
        """Begin anew, in a forked child: the sequences so far are its parent's."""
        self._open.clear()

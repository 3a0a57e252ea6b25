"""Run scenarios twice on the same contexts, and write the steps of each as a JSON line.

python replaying.py http|grpc URL TOKEN OUTPUT FILE.SCENARIO…

The scenarios may use models with a state, if they begin and end their sequences.
"""

import sys

import run
from recorder import Recorder
from repeating import AGAIN


class ReplayingRecorder(Recorder):
    """A recorder of two plays of a scenario. It marks the steps of the second by AGAIN."""

    def __init__(self, url, protocol, token):
        super().__init__(url, protocol, token)
        self.opened = []
        self.reused = None  # the contexts that the second play is still to get

    def open(self, model, *args, **kwargs):
        """Return a new InferContext, or in the second play that of the first play."""
        if self.reused is not None:
            return self.reused.pop(0)
        context = super().open(model, *args, **kwargs)
        self.opened.append(context)
        return context

    def note(self, label, value):
        """Record a value, marked in the second play."""
        super().note(label if self.reused is None else AGAIN + label, value)

    def play(self, scenario):
        """Play a scenario twice."""
        scenario(self)
        self.reused = list(self.opened)
        scenario(self)


if __name__ == "__main__":
    run.main(*sys.argv[1:5], names=sys.argv[5:], kind=ReplayingRecorder)

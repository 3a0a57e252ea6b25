"""Run scenarios with every inference made twice, and write the steps of each as a JSON line.

python repeating.py http|grpc URL TOKEN OUTPUT FILE.SCENARIO… generated.SEED…
"""

import sys

import run
from recorder import Recorder

AGAIN = "again: "


class RepeatingRecorder(Recorder):
    """A recorder that makes each inference twice, and marks the second by AGAIN.

    Except for models with a state, which a second request changes: see replaying.py.
    """

    def __init__(self, url, protocol, token):
        super().__init__(url, protocol, token)
        self.stateful = []

    def open(self, model, *args, **kwargs):
        """Return an InferContext on a model, closed when the scenario ends."""
        context = super().open(model, *args, **kwargs)
        if "sequence" in str(model):
            self.stateful.append(context)
        return context

    def run(self, label, context, *args, **kwargs):
        """Record two equal calls of ``context.run``. Return the result of the first."""
        value = super().run(label, context, *args, **kwargs)
        if context not in self.stateful:
            super().run(AGAIN + label, context, *args, **kwargs)
        return value


if __name__ == "__main__":
    run.main(*sys.argv[1:5], names=sys.argv[5:], kind=RepeatingRecorder)

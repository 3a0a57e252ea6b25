"""Run scenarios with every inference made twice, and write the steps of each as a JSON line.

python repeating.py http|grpc URL TOKEN OUTPUT FILE.SCENARIO…
"""

import sys

import run
from recorder import Recorder

AGAIN = "again: "


class RepeatingRecorder(Recorder):
    """A recorder that makes each inference twice, and marks the second by AGAIN."""

    def run(self, label, context, *args, **kwargs):
        """Record two equal calls of ``context.run``. Return the result of the first."""
        value = super().run(label, context, *args, **kwargs)
        super().run(AGAIN + label, context, *args, **kwargs)
        return value


if __name__ == "__main__":
    run.main(*sys.argv[1:5], names=sys.argv[5:], kind=RepeatingRecorder)

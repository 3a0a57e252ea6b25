"""``python -m testbed.watched WHAT COMMAND…``: run a command of a shell script, never silent."""

from __future__ import annotations

import sys

from testbed import MissingPrerequisite
from testbed.progress import run

if __name__ == "__main__":
    try:
        run(sys.argv[2:], sys.argv[1])
    except MissingPrerequisite as problem:
        sys.exit(str(problem))

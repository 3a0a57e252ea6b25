"""Run scenarios in this process and write the steps of each as a JSON line.

    python run.py http|grpc URL TOKEN OUTPUT FILE.SCENARIO… generated.SEED…

``TOKEN`` is part of the names of shared-memory regions. A scenario that hangs ends the process.
"""

import faulthandler
import importlib
import json
import sys
import traceback

import generated
from recorder import Recorder

LIMIT = 120  # seconds for one scenario


def observe(name, url, protocol, token, kind=Recorder):
    """Run a scenario and return its steps. If the scenario fails, add a traceback."""
    file, _, function = name.partition(".")
    see = kind(url, protocol, token)
    try:
        if file == "generated":
            generated.play(see, int(function))
        else:
            see.play(getattr(importlib.import_module("scenarios." + file), function))
    except Exception:
        see.steps.append(["the scenario failed", traceback.format_exc()])
    finally:
        see.close()
    return see.steps


def main(protocol, url, token, output, names, kind=Recorder):
    with open(output, "w") as lines:
        for name in names:
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            steps = observe(name, url, protocol, token, kind)
            lines.write(json.dumps([name, steps]) + "\n")
            lines.flush()
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(*sys.argv[1:5], names=sys.argv[5:])

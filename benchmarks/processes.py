"""What needs a process of its own: peak memory, and the time an import takes."""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.harness import Comparison, Ratio

PAIRS = 15
MEGABYTES = 256

_MEMORY = """
import sys
import numpy as np
def peak():
    # ru_maxrss would include the parent's, from before exec
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
program, url, protocol = sys.argv[1], sys.argv[2], int(sys.argv[3])
values = np.ones({count}, dtype=np.float32)
small = np.ones(4, dtype=np.float32)
if program == "facade":
    from tensorrtserver.api import InferContext
    ctx = InferContext(url, protocol, "identity_fp32")
    def call(array):
        return ctx.run({{"INPUT0": [array]}}, {{"OUTPUT0": ctx.ResultFormat.RAW}}, 1)["OUTPUT0"][0]
else:
    from benchmarks.ports import HandPort
    port = HandPort(url, protocol)
    def call(array):
        return port.infer("identity_fp32", {{"INPUT0": [array]}}, ["OUTPUT0"])()[0][0]
call(small)
before = peak()
result = call(values)
assert np.array_equal(result, values)
print(peak() - before)
"""

_IMPORT = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def _output(program: str, *arguments: str) -> float:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return float(done.stdout)


def memory(url: str, protocol: int, goal: float) -> Comparison:
    """Growth of the peak resident size by one 256 MB tensor sent and received."""
    program = _MEMORY.format(count=MEGABYTES * 2**20 // 4)
    pairs = [
        (
            _output(program, "facade", url, str(int(protocol))),
            _output(program, "hand", url, str(int(protocol))),
        )
        for _ in range(3)
    ]
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    wall = Ratio(statistics.median(ratios), ratios[0], ratios[-1])
    name = f"peak memory growth, {MEGABYTES} MB both ways"
    return Comparison(name, "gRPC" if protocol else "HTTP", "hand", len(pairs), wall, None, goal)


def imports() -> Comparison:
    """``import tensorrtserver.api`` against ``import numpy, google.protobuf``."""
    ours = _IMPORT.format(statement="import tensorrtserver.api")
    theirs = _IMPORT.format(statement="import numpy, google.protobuf")
    _output(ours)  # compiled files are written once
    pairs = [(_output(ours), _output(theirs)) for _ in range(PAIRS)]
    wall = Ratio.of([a for a, _ in pairs], [b for _, b in pairs])
    name = "import tensorrtserver.api ÷ numpy, google.protobuf"
    return Comparison(name, "–", "imports", len(pairs), wall, None, 1.3)

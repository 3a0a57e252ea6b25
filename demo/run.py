"""Run the legacy scripts of demo/legacy on a genuine server, over HTTP and gRPC.

scripts/demo prepares everything and starts this with a Python that has tritonclient-shim
installed. Exit status 0 only when every script ended well and printed what it must.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from programs import KSERVE_PROGRAMS, MLSERVER_PROGRAMS, MODELS, PROGRAMS, Program, complaints

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # testbed lies there; the shim itself is the installed one

from testbed import (  # noqa: E402
    KServeServer,
    MissingPrerequisite,
    MLServer,
    ServerFailed,
    TritonServer,
)
from testbed.process import RunningServer  # noqa: E402

SECONDS = 120  # far more than any script needs

NEXT = """
What to do next

  Your own script on your own server: install the shim in the script's environment,
      pip install {root}
  (without NVIDIA's old wheel: pip uninstall -y tensorrtserver), and start the script as always.

  Your own script on the server used here: keep it running in another terminal,
      cd {root} && {python} -m testbed --server {server}
  and give your script the address that it prints.

  README.md           how it works, supported versions, what is not there yet
  {guide}"""


@dataclass(frozen=True)
class Kind:
    """A kind of server: what it is called, how it is started, and what runs on it."""

    name: str
    start: Callable[[], RunningServer]
    programs: tuple[Program, ...]


KINDS = {
    "triton": Kind("Triton server", lambda: TritonServer.start(models=MODELS), PROGRAMS),
    "mlserver": Kind("MLServer", MLServer.start, MLSERVER_PROGRAMS),
    "kserve": Kind("model server of KServe's", KServeServer.start, KSERVE_PROGRAMS),
}


def main() -> int:
    """Start the server, run everything, report → exit status."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--server", choices=tuple(KINDS), default="triton")
    chosen = parser.parse_args().server
    kind = KINDS[chosen]
    print(f"The scripts are in {ROOT / 'demo' / 'legacy'}. None of them knows of tritonclient.")
    reach_loopback_directly()
    try:
        with kind.start() as server:
            print(f"A genuine {kind.name} answers HTTP on {server.http}, gRPC on {server.grpc}.")
            problems = run_all(server, kind.programs)
    except (MissingPrerequisite, ServerFailed) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return report(problems, kind.programs, chosen)


def reach_loopback_directly() -> None:
    """Except the server from the proxies of the environment, which the scripts would ask too."""
    given = os.environ.get("no_proxy")
    os.environ["no_proxy"] = f"{given},127.0.0.1" if given else "127.0.0.1"


def run_all(server: RunningServer, programs: tuple[Program, ...]) -> list[str]:
    """Run every program on each of its protocols → what is wrong."""
    problems = []
    for program in programs:
        for protocol in program.protocols:
            problems += run(program, protocol, server.url(protocol))
            if "TRITON_SHIM_WARNINGS" not in os.environ:
                os.environ["TRITON_SHIM_WARNINGS"] = "off"
                print("(The notice comes once per process. From here on TRITON_SHIM_WARNINGS=off.)")
    return problems


def run(program: Program, protocol: str, url: str) -> list[str]:
    """Show the command and what it prints → what is wrong with it."""
    arguments = [f"demo/legacy/{program.script}", "-u", url, "-i", protocol, *program.options]
    print(f"\n--- {program.says}\n$ python {' '.join(arguments)}", flush=True)
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return [f"{program.script} over {protocol} has not ended after {SECONDS} s"]
    output = done.stdout.decode("utf-8", "replace")
    print(output, end="", flush=True)
    return complaints(program, protocol, done.returncode, output)


def report(problems: list[str], programs: tuple[Program, ...], server: str) -> int:
    """Say how it went and what to do next → exit status."""
    total = sum(len(program.protocols) for program in programs)
    if problems:
        print("\n".join(["\nNot as it should be:", *problems]), flush=True)
        return 1
    print(f"\nAll {total} runs ended well and printed the right results.")
    guide = "migration_guide.md  leaving the old API, one call at a time"
    print(
        NEXT.format(
            root=ROOT,
            python=sys.executable,
            server=server,
            guide=guide if (ROOT / "migration_guide.md").exists() else "",
        ).rstrip()
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

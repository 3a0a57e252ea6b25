"""Run the legacy scripts of demo/legacy on a genuine server, over HTTP and gRPC.

scripts/demo starts this program with a Python that has tritonclient-shim installed. The exit status
is 0 if every script ended well and printed the expected texts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from programs import KSERVE_PROGRAMS, MLSERVER_PROGRAMS, MODELS, PROGRAMS, Program, complaints

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # for testbed; the shim is imported from its installation

from testbed import KINDS, MissingPrerequisite, ServerFailed  # noqa: E402
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

  README.md           how it works, what it costs, how to get help
  {guide}"""


#: Of each kind of server: its name, its programs, and the arguments of its start.
DEMOS: dict[str, tuple[str, tuple[Program, ...], dict[str, tuple[str, ...]]]] = {
    "triton": ("Triton server", PROGRAMS, {"models": MODELS}),
    "mlserver": ("MLServer", MLSERVER_PROGRAMS, {}),
    "kserve": ("model server of KServe's", KSERVE_PROGRAMS, {}),
}


def main() -> int:
    """Start the server, run every program, and report. Return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--server", choices=tuple(DEMOS), default="triton")
    chosen = parser.parse_args().server
    name, programs, arguments = DEMOS[chosen]
    print(f"The scripts are in {ROOT / 'demo' / 'legacy'}. None of them knows of tritonclient.")
    reach_loopback_directly()
    try:
        with KINDS[chosen].start(**arguments) as server:
            print(f"A genuine {name} answers HTTP on {server.http}, gRPC on {server.grpc}.")
            problems = run_all(server, programs)
    except KeyboardInterrupt:
        print("demo: interrupted, and the server is stopped", file=sys.stderr)
        return 130
    except (MissingPrerequisite, ServerFailed) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return report(problems, programs, chosen)


def reach_loopback_directly() -> None:
    """Exclude the server from the proxies of the environment. The scripts would use them too."""
    hosts = os.environ.get("no_proxy")
    os.environ["no_proxy"] = f"{hosts},127.0.0.1" if hosts else "127.0.0.1"


def run_all(server: RunningServer, programs: tuple[Program, ...]) -> list[str]:
    """Run every program on each protocol. Return the problems.

    Show ten lines of the first program before.
    """
    print(f"\n{excerpt(programs[0].script)}")
    problems = []
    for program in programs:
        for protocol in program.protocols:
            problems += run(program, protocol, server.url(protocol))
    return problems


def excerpt(script: str) -> str:
    """Return ten lines of a script, without blank lines. The first makes the InferContext."""
    text = (ROOT / "demo" / "legacy" / script).read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip()]
    start = next(number for number, line in enumerate(lines) if "infer_ctx = " in line)
    shown = textwrap.indent(textwrap.dedent("\n".join(lines[start : start + 10])), "    | ")
    return f"Ten lines of {script}, which was written for v1 and is not changed:\n{shown}"


def run(program: Program, protocol: str, url: str) -> list[str]:
    """Run a program and return its problems. Show command and result on its first protocol."""
    arguments = [f"demo/legacy/{program.script}", "-u", url, "-i", protocol, *program.options]
    first = protocol == program.protocols[0]
    if first:
        print(f"\n--- {program.says}\n$ python {' '.join(arguments)}", flush=True)
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=own, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return [f"{program.script} over {protocol} has not ended after {SECONDS} s"]
    seconds = time.monotonic() - began
    output, notices = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    problems = complaints(program, protocol, done.returncode, output)
    if problems:
        print(output + notices, end="", flush=True)
    elif first:
        print(program.result(output))
    show_notice(notices)
    verdict = "NOT OK" if problems else "ok"
    print(f"{verdict} {Path(program.script).stem} {protocol} {seconds:.1f} s", flush=True)
    return problems


def show_notice(text: str) -> None:
    """Show the deprecation notice of the first run. Later runs print none."""
    if "TRITON_SHIM_WARNINGS" not in os.environ:
        os.environ["TRITON_SHIM_WARNINGS"] = "off"
        print("And, on stderr, the notice that comes once per process; from here on it is turned")
        print(f"off by TRITON_SHIM_WARNINGS=off:\n{textwrap.indent(text, '    ')}", end="")


def report(problems: list[str], programs: tuple[Program, ...], server: str) -> int:
    """Print the outcome and the next steps. Return the exit status."""
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

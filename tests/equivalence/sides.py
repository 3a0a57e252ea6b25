"""Run scenarios on both sides: the genuine client through a gateway, and the facade."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import uuid
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Dict, Iterable, Mapping, NamedTuple

import tensorrtserver
from testbed import TritonServer
from tests.equivalence.compare import Steps
from tests.gateway.gateway_process import Gateway
from tests.gateway.oracle import OracleEnvironment

PROGRAM = Path(__file__).with_name("program")
PROTOCOLS = ("http", "grpc")
Observed = Dict[str, Steps]  # by scenario


def scenarios(*files: str) -> list[str]:
    """Return the scenarios of the files: functions with the parameter ``see`` only."""
    result = []
    for file in files:
        tree = ast.parse((PROGRAM / "scenarios" / f"{file}.py").read_text("utf-8"))
        for item in tree.body:
            if isinstance(item, ast.FunctionDef) and [arg.arg for arg in item.args.args] == ["see"]:
                result.append(f"{file}.{item.name}")
    return result


def files() -> list[str]:
    """Return the files of scenarios."""
    return sorted(path.stem for path in (PROGRAM / "scenarios").glob("[a-z]*.py"))


def token() -> str:
    """Return a prefix for the names of a run's shared-memory regions."""
    return f"eq{uuid.uuid4().hex[:8]}"


class Side(NamedTuple):
    """An interpreter with its variables, and the server's addresses for its programs."""

    python: str
    variables: Mapping[str, str]
    addresses: Mapping[str, str]  # by protocol

    def run(
        self,
        folder: Path,
        protocol: str,
        names: Iterable[str],
        token: str,
        limit: float = 600,
        program: str = "run.py",
    ) -> Observed:
        """Return the steps of each scenario, and how the process ended if it ended early."""
        names, output = list(names), folder / f"{uuid.uuid4().hex}.jsonl"
        arguments = [protocol, self.addresses[protocol], token, str(output), *names]
        command = [self.python, str(PROGRAM / program), *arguments]
        try:
            ended, text = _end_of(command, self.variables, limit)
        finally:
            for left in Path("/dev/shm").glob(f"{token}_*"):  # a crashed client leaves them
                left.unlink()
        lines = output.read_text("utf-8").splitlines() if output.exists() else []
        result: Observed = dict(json.loads(line) for line in lines)
        missing = [name for name in names if name not in result]
        if missing:
            result[missing[0]] = [["the process ended", ended], ["its last words", text]]
        return result


def _end_of(command: list[str], variables: Mapping[str, str], limit: float) -> tuple[str, str]:
    """Return how a process ends, and its last output. End the processes that it leaves."""
    with TemporaryFile() as output:  # a pipe stays open while any child has it
        process = subprocess.Popen(
            command,
            env=dict(variables),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            return "hangs", ""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")[-2000:]
    if process.returncode < 0:
        return signal.Signals(-process.returncode).name, text
    return f"exit status {process.returncode}", text


def genuine(oracle: OracleEnvironment, gateway: Gateway) -> Side:
    """Return the side of NVIDIA's client, through the gateway."""
    return Side(oracle.python, oracle.variables(), {"http": gateway.http, "grpc": gateway.grpc})


def here() -> tuple[str, dict[str, str]]:
    """Return the interpreter of the tests, and variables that let it import our package."""
    where = str(Path(tensorrtserver.__file__ or "").parents[1])
    return sys.executable, {**os.environ, "PYTHONPATH": where, "TRITON_SHIM_WARNINGS": "off"}


def facade(triton: TritonServer) -> Side:
    """Return the side of the package under test."""
    return Side(*here(), {"http": triton.http, "grpc": triton.grpc})


class Pair(NamedTuple):
    """Both sides of one server."""

    genuine: Side
    ours: Side

    def run(self, folder: Path, protocol: str, names: Iterable[str]) -> dict[str, Any]:
        """Return the steps of the genuine client and of the facade, by scenario."""
        names, common = list(names), token()
        both = [side.run(folder, protocol, names, common) for side in self]
        nothing: Steps = [["the scenario was not run", "the process ended before"]]
        return {name: tuple(item.get(name, nothing) for item in both) for name in names}

"""Start a genuine ``tritonserver`` with the standard model repository, or with another one."""

from __future__ import annotations

import os
import uuid
from functools import partial
from pathlib import Path
from typing import Callable, Sequence

from testbed import environment
from testbed import repository as standard
from testbed.environment import Environment, chosen
from testbed.process import Process, RunningServer, with_free_ports

_STARTED = ("Started GRPCInferenceService at", "Started HTTPService at")


class TritonServer(RunningServer):
    """A running ``tritonserver``; use ``start``."""

    @classmethod
    def start(
        cls,
        models: Sequence[str] | None = None,
        repository: str | os.PathLike[str] | None = None,
        model_control_mode: str = "explicit",
        extra_args: Sequence[str] = (),
        server_id: str | None = None,
        ports: tuple[int, int] | None = None,
    ) -> TritonServer:
        """Start a server and wait until it is ready.

        ``models`` are loaded at start (None: every standard model but ``spare`` and ``broken``,
        or everything in ``repository``). The standard repository always holds all models under
        explicit control; in the other control modes, which load what they find, it holds only
        ``models``. ``extra_args`` are flags of ``tritonserver`` (keep the log's info lines: they
        tell when it is ready), ``server_id`` its ``--id``, ``ports`` those for HTTP and gRPC (None:
        free ones).
        Raises MissingPrerequisite or ServerFailed.
        """
        prepared = environment.prepare()
        options = [f"--model-control-mode={model_control_mode}", *chosen().flags, *extra_args]
        options += [f"--id={server_id}"] if server_id is not None else []
        explicit = model_control_mode == "explicit"

        def attempt(folder: str, http_port: int, grpc_port: int) -> TritonServer:
            place = repository or _standard_repository(folder, models, explicit)
            loaded = _to_load(models, repository is None) if explicit else []
            prefix = f"triton_python_backend_shm_region_{uuid.uuid4().hex}_"
            command = [
                prepared.server,
                *_fixed_options(prepared, http_port, grpc_port, prefix),
                f"--model-repository={os.fspath(place)}",
                *loaded,
                *options,
            ]
            process = Process(command, prepared.variables(), folder, prefix)
            process.wait_until_ready(http_port, _STARTED)
            return cls(process, http_port, grpc_port)

        server = with_free_ports(attempt, ports)
        server._again = partial(
            cls.start, models, repository, model_control_mode, extra_args, server_id
        )
        return server

    _again: Callable[[tuple[int, int]], TritonServer]

    def start_again(self) -> None:
        """Kill it if it is there, and start it at the same ports as the first time."""
        self.kill()
        http, grpc = (int(address.rpartition(":")[2]) for address in (self.http, self.grpc))
        self._process = self._again((http, grpc))._process


def _standard_repository(folder: str, models: Sequence[str] | None, explicit: bool) -> str:
    place = Path(folder, "models")
    place.mkdir()
    served = standard.LOADED_AT_START if models is None else models
    standard.write(place, standard.MODELS if explicit else served)
    return str(place)


def _to_load(models: Sequence[str] | None, is_standard: bool) -> list[str]:
    everything = standard.LOADED_AT_START if is_standard else ("*",)
    return [f"--load-model={name}" for name in (everything if models is None else models)]


def _fixed_options(
    prepared: Environment, http_port: int, grpc_port: int, shm_prefix: str
) -> list[str]:
    return [
        f"--backend-directory={prepared.backends}",
        f"--backend-config=python,shm-region-prefix-name={shm_prefix}",
        "--http-address=127.0.0.1",
        f"--http-port={http_port}",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={grpc_port}",
        "--allow-metrics=false",
        "--exit-timeout-secs=2",
        "--disable-auto-complete-config",  # completing starts every model's process twice
    ]

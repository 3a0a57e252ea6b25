"""Start a genuine ``tritonserver`` with the standard model repository or any repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Sequence

from testbed import environment
from testbed import repository as standard
from testbed.process import Launch, RunningServer

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

        ``models`` are loaded at start. Without ``models``, the server loads LOADED_AT_START, or
        all models of ``repository``. Under explicit control the standard repository contains every
        model. Other control modes load the whole repository, so it contains only ``models``.

        ``extra_args`` are flags of ``tritonserver``. They must keep the info lines of the log,
        which report when the server is ready. ``server_id`` is its ``--id``. ``ports`` are the
        ports for HTTP and gRPC, by default free ports.
        Raise MissingPrerequisite or ServerFailed if the server does not start.
        """
        prepared = environment.prepare()
        flags = environment.chosen().flags
        options = [f"--model-control-mode={model_control_mode}", *flags, *extra_args]
        options += [f"--id={server_id}"] if server_id is not None else []
        explicit = model_control_mode == "explicit"
        if explicit:
            everything = standard.LOADED_AT_START if repository is None else ("*",)
            loaded = everything if models is None else models
            options += [f"--load-model={name}" for name in loaded]

        def launch(folder: str, http_port: int, grpc_port: int) -> Launch:
            place = repository or _standard_repository(folder, models, explicit)
            command = [
                prepared.server,
                f"--backend-directory={prepared.backends}",
                f"--backend-config=python,shm-region-prefix-name={os.path.basename(folder)}_",
                *on_loopback(http_port, grpc_port),
                "--disable-auto-complete-config",  # completing starts every model's process twice
                f"--model-repository={os.fspath(place)}",
                *options,
            ]
            return Launch(command, prepared.variables(), _STARTED)

        return cls(launch, ports)


def _standard_repository(folder: str, models: Sequence[str] | None, explicit: bool) -> str:
    place = Path(folder, "models")
    place.mkdir()
    served = standard.LOADED_AT_START if models is None else models
    standard.write(place, standard.MODELS if explicit else served)
    return str(place)


def on_loopback(http_port: int, grpc_port: int) -> list[str]:
    """Return the flags of a ``tritonserver`` on these ports that ends quickly."""
    return [
        "--http-address=127.0.0.1",
        f"--http-port={http_port}",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={grpc_port}",
        "--allow-metrics=false",
        "--exit-timeout-secs=2",
    ]

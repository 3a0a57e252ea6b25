"""Start servers of the Open Inference Protocol: MLServer, and KServe's model server."""

from __future__ import annotations

import os

from testbed import open_environment
from testbed.open_environment import KSERVE, MLSERVER, MODELS, Recipe
from testbed.process import Launch, RunningServer, free_ports


class MLServer(RunningServer):
    """A running MLServer; use ``start``."""

    @classmethod
    def start(cls) -> MLServer:
        """Serve the models of the table and the trained models. Wait until they are ready.

        Raise MissingPrerequisite or ServerFailed if the server does not start.
        """
        trained = open_environment.trained(MLSERVER)

        def launch(folder: str, http_port: int, grpc_port: int) -> Launch:
            ports = [str(port) for port in (http_port, grpc_port, free_ports()[0])]
            return _launch(
                folder, MLSERVER, "mlserver_app.py", f"{folder}/models", str(trained), *ports
            )

        return cls(launch)


class KServeServer(RunningServer):
    """A running KServe model server; use ``start``."""

    @classmethod
    def start(cls) -> KServeServer:
        """Serve the models of the table. Wait until they are ready.

        Raise MissingPrerequisite or ServerFailed if the server does not start.
        """

        def launch(folder: str, http_port: int, grpc_port: int) -> Launch:
            return _launch(folder, KSERVE, "kserve_app.py", str(http_port), str(grpc_port))

        return cls(launch)


def _launch(folder: str, recipe: Recipe, program: str, *arguments: str) -> Launch:
    prepared = open_environment.prepare(recipe)
    own = {
        "PYTHONPATH": str(MODELS),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TESTBED_SEMAPHORES": f"/{os.path.basename(folder)}",  # read by mlserver_app.py
    }
    kept = {n: v for n, v in prepared.variables().items() if not n.startswith("MLSERVER_")}
    command = [prepared.python, str(MODELS / program), *arguments]
    return Launch(command, {**kept, **own})

"""Start the other servers of the Open Inference Protocol: MLServer, and KServe's model server."""

from __future__ import annotations

import uuid

from testbed import open_environment
from testbed.open_environment import KSERVE, MLSERVER, MODELS, Recipe
from testbed.process import Process, RunningServer, free_ports, with_free_ports

_NO_TURN = 0.0  # they have no Python backend whose folder in /tmp has to be found


class MLServer(RunningServer):
    """A running MLServer; use ``start``."""

    @classmethod
    def start(cls) -> MLServer:
        """Serve the models of the table and the trained ones; wait until they are ready.

        Raises MissingPrerequisite or ServerFailed.
        """
        trained = open_environment.trained(MLSERVER)

        def attempt(folder: str, http_port: int, grpc_port: int) -> MLServer:
            ports = [str(port) for port in (http_port, grpc_port, free_ports()[0])]
            arguments = ["mlserver_app.py", f"{folder}/models", str(trained), *ports]
            return cls(_run(MLSERVER, folder, arguments, http_port), http_port, grpc_port)

        return with_free_ports(attempt)


class KServeServer(RunningServer):
    """A running model server of KServe's; use ``start``."""

    @classmethod
    def start(cls) -> KServeServer:
        """Serve the models of the table; wait until they are ready.

        Raises MissingPrerequisite or ServerFailed.
        """
        open_environment.prepare(KSERVE)

        def attempt(folder: str, http_port: int, grpc_port: int) -> KServeServer:
            arguments = ["kserve_app.py", str(http_port), str(grpc_port)]
            return cls(_run(KSERVE, folder, arguments, http_port), http_port, grpc_port)

        return with_free_ports(attempt)


def _run(recipe: Recipe, folder: str, arguments: list[str], http_port: int) -> Process:
    prepared = open_environment.prepare(recipe)
    semaphores = f"tb{uuid.uuid4().hex}"
    own = {
        "PYTHONPATH": str(MODELS),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TESTBED_SEMAPHORES": f"/{semaphores}",  # read by mlserver_app.py
    }
    kept = {n: v for n, v in prepared.variables().items() if not n.startswith("MLSERVER_")}
    program = [prepared.python, str(MODELS / arguments[0]), *arguments[1:]]
    process = Process(program, {**kept, **own}, folder, f"sem.{semaphores}", _NO_TURN)
    process.wait_until_ready(http_port, ())
    return process

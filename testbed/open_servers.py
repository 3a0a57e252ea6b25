"""Start servers of the Open Inference Protocol: MLServer, and KServe's model server."""

from __future__ import annotations

import os

from testbed.open_environment import KSERVE, MLSERVER, MODELS, Recipe, prepare, trained
from testbed.process import Launch, RunningServer, free_ports


class MLServer(RunningServer):
    """A running MLServer; use ``start``."""

    @classmethod
    def start(cls) -> MLServer:
        """Serve the models of the table and the trained models. Wait until they are ready.

        Raise MissingPrerequisite or ServerFailed if the server does not start.
        """

        def launch(folder: str, *ports: int) -> Launch:
            models = (f"{folder}/models", trained(MLSERVER))
            return _launch(folder, MLSERVER, "mlserver_app.py", *models, *ports, free_ports()[0])

        return cls(launch)


class KServeServer(RunningServer):
    """A running KServe model server; use ``start``."""

    @classmethod
    def start(cls) -> KServeServer:
        """Serve the models of the table. Wait until they are ready.

        Raise MissingPrerequisite or ServerFailed if the server does not start.
        """
        return cls(lambda folder, *ports: _launch(folder, KSERVE, "kserve_app.py", *ports))


def _launch(folder: str, recipe: Recipe, program: str, *arguments: object) -> Launch:
    prepared = prepare(recipe)
    own = {
        "PYTHONPATH": str(MODELS),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TESTBED_SEMAPHORES": f"/{os.path.basename(folder)}",  # read by mlserver_app.py
    }
    kept = {n: v for n, v in prepared.variables().items() if not n.startswith("MLSERVER_")}
    command = [prepared.python, str(MODELS / program), *map(str, arguments)]
    return Launch(command, {**kept, **own})

"""Start functions bound with PyTriton's public ``Triton.bind`` as a second kind of server."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from testbed import environment
from testbed.process import Launch, RunningServer

_APPLICATION = str(Path(__file__).with_name("_pytriton_functions.py"))
_STARTED = ("the functions are being served",)  # the application's own line


class PyTritonServer(RunningServer):
    """A running PyTriton application; use ``start``. ``pid`` is the application's process."""

    @classmethod
    def start(cls) -> PyTritonServer:
        """Serve the functions of ``_pytriton_functions.py``. Wait until they are ready.

        Raise MissingPrerequisite or ServerFailed if the server does not start.
        """
        prepared = environment.prepare(complete=True)

        def launch(folder: str, http_port: int, grpc_port: int) -> Launch:
            command = [prepared.python, _APPLICATION, str(http_port), str(grpc_port)]
            segments = f"tb{uuid.uuid4().hex[:5]}"  # Python allows 14 characters in all
            variables = {
                **prepared.variables(),
                "PYTRITON_HOME": os.path.join(folder, "home"),  # a copy of the server goes there
                "TESTBED_SHM_PREFIX": f"/{segments}",  # read by _shm_prefix.py
            }
            prefixes = f"pytrtion{{pid}}-,{segments}"  # the first is PyTriton's spelling
            return Launch(command, variables, prefixes, _STARTED)

        return cls(launch)

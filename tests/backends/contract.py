"""The contract of every backend.

``test_contract.py`` runs it over a real server for each protocol, ``test_in_process_contract.py``
for the server inside the process.

Fixtures: ``backend`` is an open backend on a server with the standard models, ``dead_backend`` a
backend on a port where nothing listens. ``open_backend`` opens further backends on an Endpoint.
"""

from __future__ import annotations

from tests.backends.contract_async import AsyncContract
from tests.backends.contract_inference import InferenceContract
from tests.backends.contract_refusals import RefusalContract
from tests.backends.contract_regions import RegionContract
from tests.backends.contract_server import ServerContract


class Contract(ServerContract, InferenceContract, RefusalContract, AsyncContract, RegionContract):
    """The complete contract."""

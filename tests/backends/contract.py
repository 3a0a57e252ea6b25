"""What every backend has to do, over a real server; ``test_contract.py`` runs it for each.

Fixtures: ``backend`` is an open backend on a server with the standard models, ``dead_backend``
one on a port where nobody listens, ``open_backend`` opens further ones on an Endpoint.
"""

from __future__ import annotations

from tests.backends.contract_async import AsyncContract
from tests.backends.contract_inference import InferenceContract
from tests.backends.contract_regions import RegionContract
from tests.backends.contract_server import ServerContract


class Contract(ServerContract, InferenceContract, AsyncContract, RegionContract):
    """The whole suite."""

"""Outputs in shared memory, which end with their regions before they are sent.

A program may announce an output larger than its region. v1's server only refused a result that did
not fit (docs/v1-behaviour.md §4.3). Triton refuses the request before it runs. A request may have
dropped its inputs, or belong to a sequence, so it is not sent again: it is right at first.

The connection remembers the sizes of regions, from their registration or from the server's list.
An output that may end behind its region needs the list anew, since other processes register too.
"""

from __future__ import annotations

from typing import Mapping

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import BackendError
from tritonclient_shim.core.model import InferCall, OutputSpec
from tritonclient_shim.session.models import KnownModel


def needs_sizes(call: InferCall, backend: Backend) -> bool:
    """True if an output may end behind its region, as far as the sizes are known."""
    sizes = backend.known_server().region_sizes
    for output in call.outputs:
        shm = output.shm
        if shm is not None and shm.offset + shm.byte_size > sizes.get(shm.region, 0):
            return True
    return False


def within_regions(call: InferCall, model: KnownModel, backend: Backend) -> InferCall:
    """Return the call with outputs that end with their regions. May ask the server.

    Return the call as it is if the server does not list its regions in time.
    """
    if not needs_sizes(call, backend):
        return call
    try:
        regions = model.ask_in_time(backend, "regions", backend.shm_status)
    except (BackendError, RuntimeError, TimeoutError):
        return call
    sizes = {region.name: region.byte_size for region in regions}
    backend.known_server().region_sizes = sizes
    outputs = tuple([_within_region(output, sizes) for output in call.outputs])
    return call._replace(outputs=outputs)


def _within_region(output: OutputSpec, sizes: Mapping[str, int]) -> OutputSpec:
    """Return the output, which ends with its region if it ended behind it."""
    shm = output.shm
    if shm is None or shm.region not in sizes:
        return output
    left = sizes[shm.region] - shm.offset
    if not 0 < left < shm.byte_size:
        return output
    return output._replace(shm=shm._replace(byte_size=left))

"""Helpers of programs of one file without CUDA memory, in place of those of the same names."""

import collections
import time

from tritonclient.utils import InferenceServerException, shared_memory, triton_to_np_dtype

#: A region: its handle, and what the server knows it by.
Region = collections.namedtuple("Region", "handle name key byte_size")


def is_region(value):
    """True for a region of shared memory."""
    return isinstance(value, Region)


def unregister_region(client, region=None):
    """Have the server forget a region, or all.

    Over gRPC, the server uses a region for a moment after its reply, and refuses until then.
    """
    deadline = time.monotonic() + 10
    while True:
        try:
            return client.unregister_system_shared_memory(region.name if region else "")
        except InferenceServerException as error:
            if "unregister" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def contents(region, result, name):
    """Return the output that the server has written to a region."""
    output = result.get_output(name)
    if not isinstance(output, dict):
        output = {"datatype": output.datatype, "shape": output.shape}
    datatype, shape = triton_to_np_dtype(output["datatype"]), list(output["shape"])
    return shared_memory.get_contents_as_numpy(region.handle, datatype, shape)

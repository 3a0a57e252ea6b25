"""The functions for shared memory that a rewritten file may need, as text."""

from __future__ import annotations

REGION = '''
class Region(typing.NamedTuple):
    """A region of shared memory: the handle, and what the server knows it by."""

    handle: typing.Any
    name: str
    key: str
    byte_size: int


def create_region(name, key, byte_size):
    """Create a region of shared memory."""
    handle = shared_memory.create_shared_memory_region(name, key, byte_size)
    return Region(handle, name, key, byte_size)
'''
INPUT = '''
def region_input(tensor, region, shape, datatype):
    """Have the server read an input from a region."""
    size = region.byte_size
    if datatype != "BYTES" and -1 not in shape:
        size = int(np.prod(shape)) * np.dtype(triton_to_np_dtype(datatype)).itemsize
    tensor.set_shared_memory(region.name, size)
    return tensor
'''
OUTPUT = '''
def array_in(region, answer, name):
    """The output that the server has written to a region."""
    output = answer.get_output(name)
    if not isinstance(output, dict):
        output = {"datatype": output.datatype, "shape": output.shape}
    datatype, shape = triton_to_np_dtype(output["datatype"]), list(output["shape"])
    return shared_memory.get_contents_as_numpy(region.handle, datatype, shape)
'''
STATUS = '''
def shared_memory_status(client):
    """The regions that the server knows, as its attribute `shared_memory_region`."""
    regions = client.get_system_shared_memory_status().regions
    return types.SimpleNamespace(
        shared_memory_region=[
            known_region(one.name, one.key, one.offset, one.byte_size)
            for _, one in sorted(regions.items())
        ]
    )
'''
STATUS_HTTP = '''
def shared_memory_status(client):
    """The regions that the server knows, as its attribute `shared_memory_region`."""
    regions = sorted(client.get_system_shared_memory_status(), key=lambda one: one["name"])
    return types.SimpleNamespace(shared_memory_region=[known_region(**one) for one in regions])
'''
STATUS_EITHER = '''
def shared_memory_status(client):
    """The regions that the server knows, as its attribute `shared_memory_region`."""
    options = {"as_json": True} if isinstance(client, grpcclient.InferenceServerClient) else {}
    answer = client.get_system_shared_memory_status(**options)
    regions = answer.get("regions", {}).values() if options else answer
    regions = sorted(regions, key=lambda one: one["name"])
    return types.SimpleNamespace(shared_memory_region=[known_region(**one) for one in regions])
'''
KNOWN_REGION = '''
def known_region(name, key="", offset=0, byte_size=0):
    """A region that the server knows."""
    place = types.SimpleNamespace(shared_memory_key=key, offset=int(offset))
    return types.SimpleNamespace(name=name, byte_size=int(byte_size), system_shared_memory=place)
'''
STRINGS = '''
def serialize_strings(array):
    """Strings as a region of shared memory has them, as an array of bytes."""
    return np.frombuffer(serialize_byte_tensor(np.asarray(array, object)).item(), np.uint8)
'''

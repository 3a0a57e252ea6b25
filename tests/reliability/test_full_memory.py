"""A full ``/dev/shm``: a small one for the test, in a user's namespace."""

from __future__ import annotations

import pytest

from tests.own_interpreter import run_program

MOUNT = 'mount -t tmpfs -o size=4m,nr_inodes={inodes} tmpfs /dev/shm && exec "$@"'
BEGIN = """
import numpy as np
import tensorrtserver.shared_memory as shm
from tritonclient_shim.shm import regions
def refused(function, *arguments):
    try:
        function(*arguments)
    except shm.SharedMemoryException as error:
        return f'{error}; {error.__cause__ or error}'
def made(name, size):
    return shm.create_shared_memory_region(name, '/' + name, size)
def kept():
    assert regions.lookup(first).read(0, 1 << 20) == b'\\x01' * (1 << 20)
first = made('first', 1 << 20)
shm.set_shared_memory_region(first, [np.ones(1 << 20, np.uint8)])
"""
NO_ROOM = """
big = made('big', 8 << 20)  # as with v1, memory is taken when it is used
one = np.ones(1000, np.uint8)
for views in ([np.ones(8 << 20, np.uint8)], [one] * (8 << 10)):  # by way of a mapping, and without
    message = refused(shm.set_shared_memory_region, big, views)
    assert message.endswith('No space left on device; if /dev/shm is full, destroy unused regions '
                            'or enlarge it'), message
    kept()
shm.destroy_shared_memory_region(big)
del big
second = made('second', 2 << 20)
shm.set_shared_memory_region(second, [np.ones(2 << 20, np.uint8)])
kept()
"""
NO_NAME = """
others, message = [], None
while not message:
    assert len(others) < 20
    message = refused(lambda: others.append(made(f'other{len(others)}', 100)))
assert message.startswith('unable to get shared memory descriptor'), message
assert 'No space left on device' in message
kept()
shm.destroy_shared_memory_region(others.pop())
made('later', 100)
"""


def with_memory(program: str, inodes: int) -> tuple[int, str]:
    """Return exit status and stderr of a program with 4 MiB and some objects in ``/dev/shm``."""
    mount = ("unshare", "-Urm", "sh", "-c", MOUNT.format(inodes=inodes), "sh")
    ended = run_program(program, within=mount)
    return ended.status, ended.stderr


@pytest.mark.parametrize(
    ("program", "inodes"), [(NO_ROOM, 100), (NO_NAME, 8)], ids=["no room", "no name"]
)
def test_full(program: str, inodes: int) -> None:
    """A call without room in ``/dev/shm`` raises an error, and the program goes on."""
    status, complaint = with_memory("", inodes)
    if status:
        pytest.skip(f"no /dev/shm of a test's own can be had here: {complaint}")
    assert with_memory(BEGIN + program, inodes) == (0, "")

"""Regions of shared memory after migration, without a server."""

from __future__ import annotations

import uuid
from pathlib import Path

from tests.migrate.sources_migrated import migrated, run, todo, write

_ERRORS = """
import sys
import tensorrtserver.shared_memory as shm
for key, size in ((sys.argv[1], -1), (sys.argv[1], -1), ("/a/b", 8)):
    try:
        shm.create_shared_memory_region("bad", key, size)
    except shm.SharedMemoryException as error:
        print(error)
"""
_LARGER = """
import sys
import numpy as np
import tensorrtserver.shared_memory as shm
handle = shm.create_shared_memory_region("larger", sys.argv[1], 16)
shm.set_shared_memory_region(handle, [np.arange(16, dtype=np.uint8)])
print(open("/dev/shm" + sys.argv[1], "rb").read().hex())
shm.destroy_shared_memory_region(handle)
"""


def test_errors_of_a_region(tmp_path: Path) -> None:
    """A handler of v1's exception catches the errors of a region that cannot be created."""
    script, key = tmp_path / "script.py", f"/{uuid.uuid4().hex}"
    script.write_text(_ERRORS)
    before = run(script, key)
    assert before.status == 0, before.output
    migration = migrated(_ERRORS, unsafe=False)
    assert todo(migration) == []
    write(migration, script)
    Path(f"/dev/shm{key}").unlink()  # v1 left it
    assert run(script, key) == before
    Path(f"/dev/shm{key}").write_bytes(b"")  # as v1 leaves it
    assert run(script, key) == before
    Path(f"/dev/shm{key}").unlink()


def test_region_of_a_smaller_object(tmp_path: Path) -> None:
    """A region has its size, also where an object with its key has been left with less."""
    script, key = tmp_path / "script.py", f"/{uuid.uuid4().hex}"
    left = Path(f"/dev/shm{key}")
    for text in (_LARGER, migrated(_LARGER, unsafe=False).after.decode()):
        left.write_bytes(b"12")
        script.write_text(text)
        ended = run(script, key)
        assert ended.status == 0, ended.output
        assert ended.output == bytes(range(16)).hex() + "\n"
    left.unlink(missing_ok=True)


def test_functions_of_a_program_without_cuda() -> None:
    """A program of one file without CUDA memory gets no functions for it."""
    source = (
        "from tensorrtserver.api import *\nimport tensorrtserver.shared_memory as shm\n"
        "handle = shm.create_shared_memory_region('r', '/r', 4)\n"
        "control = SharedMemoryControlContext('u', ProtocolType.GRPC)\n"
        "control.register(handle)\ncontrol.unregister(handle)\n"
    )
    text = migrated(source, unsafe=False).after.decode()
    assert "def unregister_region(" in text and "cuda" not in text.lower()
    with_cuda = "import tensorrtserver.cuda_shared_memory as cuda\n"
    with_cuda += "other = cuda.create_shared_memory_region('c', 4, 0)\n"
    text = migrated(source + with_cuda, unsafe=False).after.decode()
    assert "device_id" in text

"""Regions of shared memory after migration, without a server."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.migrate.sources_migrated import check_same, migrated, run, todo, write

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


_DESTROYED = """
import sys
import numpy as np
import tensorrtserver.shared_memory as shm
handle = shm.create_shared_memory_region("twice", sys.argv[1], 16)
for _ in range(2):
    try:
        shm.destroy_shared_memory_region(handle)
        print("destroyed")
    except shm.SharedMemoryException:
        print("refused")
"""
_SERIALIZED = """
import numpy as np
from tensorrtserver.api import serialize_string_tensor
for words in (["ab", "cde"], ["ends with NULs\\0\\0"], [""], [["a", 1], [None, "d"]]):
    texts = serialize_string_tensor(np.array(words, dtype=object))
    print(texts.shape, texts.dtype, texts.size * texts.itemsize, texts.nbytes)
    print(texts.item(), texts.tobytes())
"""
_WRITTEN = """
import sys
import numpy as np
import tensorrtserver.shared_memory as shm
from tensorrtserver.api import serialize_string_tensor
handle = shm.create_shared_memory_region("written", sys.argv[1], 32)
texts = serialize_string_tensor(np.array(["ab", "c\\0"], dtype=object))
shm.set_shared_memory_region(handle, [texts, np.array(7, np.int16), np.arange(3, dtype=np.uint8)])
print(open("/dev/shm" + sys.argv[1], "rb").read())
for arrays in (texts, [1], [np.int16(7)]):
    try:
        shm.set_shared_memory_region(handle, arrays)
    except shm.SharedMemoryException:
        print("refused")
shm.destroy_shared_memory_region(handle)
"""
_STRINGS = """
import numpy as np
from tensorrtserver.api import InferenceServerException, serialize_string_tensor
good = np.array(["a", "bc"], object), np.array([b"d"])
bad = np.zeros(3), np.array([], object), np.array(["e"]), ["f"]
for strings in (*good, *bad):
    try:
        print(serialize_string_tensor(strings).tobytes())
    except InferenceServerException as error:
        print("refused:", error.message())
"""


@pytest.mark.parametrize("source", [_DESTROYED, _STRINGS], ids=["destroyed", "strings"])
def test_refusals(source: str, tmp_path: Path) -> None:
    """What v1 refused with an exception that the program handles is refused with it."""
    before = check_same(source, tmp_path, f"/{uuid.uuid4().hex}")
    assert "refused" in before.output


@pytest.mark.parametrize("source", [_SERIALIZED, _WRITTEN], ids=["serialized", "written"])
def test_arrays_without_dimensions(source: str, tmp_path: Path) -> None:
    """Strings are serialized to an array of one text. A region takes arrays without dimensions."""
    check_same(source, tmp_path, f"/{uuid.uuid4().hex}")


def test_arrays_with_dimensions() -> None:
    """Arrays that certainly have dimensions are written by tritonclient's own function."""
    source = (
        "import numpy as np\nimport tensorrtserver.shared_memory as shm\n"
        "handle = shm.create_shared_memory_region('r', '/r', 8)\nrow = np.arange(4)\n"
        "shm.set_shared_memory_region(handle, [row, np.array([1, 2])])\n"
    )
    text = migrated(source, unsafe=False).after.decode()
    assert "shm.set_shared_memory_region(handle.handle, [row, np.array([1, 2])])" in text


def test_strings_that_raise_an_error_of_memory() -> None:
    """The function of a module of shared memory stays where its error may be handled."""
    source = (
        "import tensorrtserver.shared_memory as shm\n"
        "try:\n    shm.serialize_string_tensor(x)\nexcept shm.SharedMemoryException: pass\n"
    )
    assert "call that of tensorrtserver.api" in migrated(source).after.decode()


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

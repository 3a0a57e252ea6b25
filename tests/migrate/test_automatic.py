"""The registry and scan claim about migration what the rules do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.migrate.table import PROGRAMS_FOLDER
from tritonclient_shim.migrate.files import migrate, scan
from tritonclient_shim.migrate.options import MigrateOptions
from tritonclient_shim.migrate.rules import IMPORTS
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.scan import sources

CORPORA = (PROGRAMS_FOLDER.with_name("expected_uses.txt"),
           *(Path(__file__).parents[1] / "scan" / "scan_corpus").glob("*.txt"))  # fmt: skip
#: Uses that the corpora lack.
RARE = """
from tensorrtserver.api import *
import tensorrtserver.cuda_shared_memory as cuda
InferResponseHeader, InferSharedMemory, ServerStatus, SharedMemoryStatus, ModelRepositoryIndex
cuda.CudaSharedMemoryException
flags.async
c, s = InferContext(u, 1, "m"), SharedMemoryControlContext(u, 1)
s.get_shared_memory_status(), c.run(i, o, priority=1, timeout_us=5)
c.get_last_request_id(), c.get_last_request_model_name(), c.get_last_request_model_version()
"""


def test_each_id_is_told_by_a_tool() -> None:
    """Each id is in a corpus, is reported by scan for ``RARE``, or is noticed at run time."""
    corpora = "".join(path.read_text("utf-8") for path in CORPORA)
    rare = {row.entry.id for row in scan(sources.parsed("rare.py", RARE.encode()))}
    noticed = {id for id, entry in ENTRIES.items() if entry.counted}
    assert not {id for id in ENTRIES if id not in corpora} - rare - noticed


def test_uses_told_as_automatic_are_gone_afterwards() -> None:
    """After ``migrate --unsafe``, scan reports exactly the uses that it reported as manual."""
    for path in sorted(PROGRAMS_FOLDER.rglob("*")):
        if path.suffix not in (".py", ".ipynb"):
            continue
        data = path.read_bytes()
        uses = scan(sources.parsed(str(path), data))
        by_hand = Counter(row.entry.id for row in uses if not row.rewritable)
        after = sources.parsed(str(path), migrate(str(path), data, MigrateOptions("", True)).after)
        left = Counter(row.entry.id for row in scan(after))
        for id in IMPORTS:  # an import stays if one of its names stays; a file reports it once
            by_hand[id], left[id] = bool(by_hand[id]), bool(left[id])
        assert +by_hand == +left, path

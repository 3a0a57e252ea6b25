"""The status of shared memory, migrated."""

from __future__ import annotations

from tests.migrate.sources_migrated import STAR, body, migrated, todo

MADE = 'c = SharedMemoryControlContext("u", ProtocolType.GRPC)\n'
STATUS = "s = c.get_shared_memory_status()\n"
READ = 'print(len(s.shared_memory_region) if hasattr(s, "shared_memory_region") else s)\n'


def test_asked_whether_it_has_regions() -> None:
    """A program that asks whether a status has regions is told that it has."""
    client = 'c = grpcclient.InferenceServerClient("u")\n'
    assert body(MADE + STATUS + READ) == f"{client}s = shared_memory_status(c)\nc.close()\n{READ}"
    assert todo(migrated(STAR + MADE + STATUS + READ)) == []


def test_whole_status_stays() -> None:
    """A status that is used as a whole, also behind another question, stays v1's."""
    for use in ("print(s)\n", 'print(1 if hasattr(s, "x") else s)\n', "print(1 if ok else s)\n"):
        assert "3:TS045" in todo(migrated(STAR + MADE + STATUS + use)), use

"""With ``--unsafe``, what is only printed becomes what tritonclient returns."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, body, migrated, run, todo, write

_STATUS = 'c = ServerStatusContext("u", 1, "simple")\n'
_MEMORY = 'c = SharedMemoryControlContext("u", 1)\n'
_TRY = "try:\n    ServerHealthContext('u', 1).is_live()\n"
_ERROR = f"{_TRY}except InferenceServerException as e:\n    "
#: A program that prints what no server reports as v1 did. It ends well on both protocols.
PRINTING = """import sys, logging
url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
logging.basicConfig(stream=sys.stdout, level=logging.INFO)
status = ServerStatusContext(url, protocol, "simple").get_server_status()
print("status:\\n{}".format(status))
logging.info("all: %s", ServerStatusContext(url, protocol).get_server_status())
stats = ServerStatusContext(url, protocol, "simple").get_server_status()
versions = stats.model_status["simple"].version_status
print(versions[1].ready_state, versions[1].infer_stats)
memory = SharedMemoryControlContext(url, protocol)
print(memory.get_shared_memory_status())
try:
    InferContext(url, protocol, "missing")
except InferenceServerException as error:
    print(error.message() != "", "id " + str(error.server_id()), error.request_id())
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"{_STATUS}print(c.get_server_status())", 'print(c.get_inference_statistics("simple"))'),
        (
            f'{_STATUS}s = c.get_server_status()\nlog.info("%s" % s)\nprint(str(s))',
            's = c.get_inference_statistics("simple")\nlog.info("%s" % s)\nprint(str(s))',
        ),
        ("print(ServerStatusContext('u', 1).get_server_status())", ".get_inference_statistics())"),
        (
            f"{_MEMORY}print(c.get_shared_memory_status())",
            "print(c.get_system_shared_memory_status())",
        ),
        (
            f"{_MEMORY}s = c.get_shared_memory_status()\nprint('regions', s)",
            "s = c.get_system_shared_memory_status()\nprint('regions', s)",
        ),
        (f"{_ERROR}print(e.server_id(), e.request_id())", "print(None, None)"),
        (f"{_ERROR}logger.error('%s: %s', e.request_id(), e)", "logger.error('%s: %s', None, e)"),
    ],
)
def test_printed_alone(source: str, expected: str) -> None:
    """What is only printed or logged takes one line of tritonclient. It needs --unsafe."""
    assert todo(migrated(f"{STAR}{source}\n")) == []
    assert body(f"{source}\n").rstrip("\n").endswith(expected)
    safe = migrated(f"{STAR}{source}\n", unsafe=False)
    assert todo(safe)
    assert [outcome.rows for _, outcome in safe.uses if outcome.rows] == []


@pytest.mark.parametrize(
    "source",
    [
        f"{_ERROR}x = e.request_id()",
        f"{_ERROR}print(e.request_id() + 1)",
        f"{_ERROR}print(e.request_id(), get(e).server_id())",
        f"{_ERROR}x = str(e.server_id())\n    print(x)",
        f"{_MEMORY}print(len(str(c.get_shared_memory_status())))",
        f"{_STATUS}x = c.get_server_status().model_status['simple'].version_status[1].infer_stats",
        f"{_STATUS}s = c.get_server_status()\nfor k in s.model_status['a'].infer_stats: print(k)",
    ],
)
def test_not_printed_alone(source: str) -> None:
    """What a program may calculate with or compare stays."""
    ids = {use.partition(":")[2] for use in todo(migrated(f"{STAR}{source}\n"))}
    assert ids & {"TS016", "TS017", "TS026", "TS045"}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_program_that_prints(protocol: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program that prints such values ends well, without v1, on a real server."""
    script = tmp_path / "script.py"
    script.write_text(STAR + PRINTING)
    url = triton.url(protocol)
    before = run(script, url, protocol)
    assert before.status == 0, before.output
    migration = migrated(STAR + PRINTING)
    assert todo(migration) == []
    write(migration, script)
    assert "tensorrtserver" not in script.read_text()
    after = run(script, url, protocol)
    assert after.status == 0, after.output
    assert "model_stats" in after.output
    assert "True id None None\n" in after.output

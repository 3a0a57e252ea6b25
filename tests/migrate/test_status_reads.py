"""A status is rewritten without --unsafe where the file reads only what is as v1's."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, Mapping, Sequence

import pytest
from tritonclient.utils import InferenceServerException

from testbed import TritonServer
from tests.migrate.sources_migrated import (
    STAR,
    check_same,
    migrated,
    run_with_helpers,
    todo,
)
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.helpers import only_states, status

_GET = "ServerStatusContext(sys.argv[1], ProtocolType.GRPC{}).get_server_status()"
_STATUS = f"import sys\n{STAR}s = {_GET.format('')}\n"
#: Reads of a status that cannot show ``uptime_ns``, nor that the status is no message.
KNOWN = {
    "server": "print(s.version, s.ready_state, s.id)",
    "model": "print('simple' in s.model_status, len(s.model_status))",
    "names": "print(sorted(s.model_status), sorted(s.model_status.keys()))",
    "versions": "for v in s.model_status['simple'].version_status: print(v)",
    "items": (
        "for name, model in sorted(s.model_status.items()):\n"
        "    for version, state in sorted(model.version_status.items()):\n"
        "        print(name, version, state.ready_state, state.ready_state_reason.message)"
    ),
    "values": "print(sorted(m.config.name for m in s.model_status.values()))",
    "missing": (
        "v = s.model_status['none'].version_status[3]\n"
        "print(v.ready_state, v.ready_state_reason.message, v.model_execution_count)\n"
        "print('none' in s.model_status, s.model_status['none'].config.max_batch_size)"
    ),
    "configurations": (
        "for name in sorted(s.model_status):\n"
        "    config = s.model_status[name].config\n"
        "    print(config.name, config.platform, config.max_batch_size)\n"
        "    print([tensor.name for tensor in list(config.input)])"
    ),
    "tensors": (
        "c = s.model_status['simple'].config\nprint(len(c.input), c.input[0].name)\n"
        "print([(t.name, t.data_type, list(t.dims)) for t in c.output])"
    ),
    "get": (
        "m = s.model_status.get('none')\nn = s.model_status.get('simple')\nprint(m is None)\n"
        "if n is not None: print(n.config.name)"
    ),
    "function": (
        "def show(name, model):\n    states = model.version_status\n"
        "    print(name, states[1].ready_state, model.config.max_batch_size)\n"
        "show('simple', s.model_status['simple'])"
    ),
    "unloaded": (
        "control = ModelControlContext(sys.argv[1], 1)\n"
        "control.load('spare')\ncontrol.unload('spare')\n"
        f"t = {_GET.format('')}\nspare = t.model_status['spare']\n"
        "print(spare.config.name, spare.config.max_batch_size, 'spare' in t.model_status)"
    ),
    "names of variables": (
        "model_status = s.model_status\nversion_status = model_status['simple'].version_status\n"
        "for state_of_version in version_status:\n"
        "    print(state_of_version, version_status[state_of_version].ready_state)"
    ),
    "names of variables beside configurations": (
        "version_status = s.model_status['simple'].version_status\n"
        "config = s.model_status['simple'].config\n"
        "print(config.name, version_status[1].ready_state)"
    ),
    "states": (
        "control = ModelControlContext(sys.argv[1], 1)\n"
        "control.load('spare')\ncontrol.unload('spare')\n"
        f"t = {_GET.format('')}\n"
        "for name in sorted(t.model_status):\n"
        "    for version, state in sorted(t.model_status[name].version_status.items()):\n"
        "        print(name, version, state.ready_state, state.ready_state_reason.message)\n"
        "none = t.model_status['none'].version_status[3]\n"
        "print(t.ready_state, none.ready_state, none.ready_state_reason.message)"
    ),
    "one model": (
        f"one = {_GET.format(', {!r}')}\nprint(list(one.model_status))\ntry:\n"
        f"    print({_GET.format(', {!r}')}.version)\n"
        "except InferenceServerException as error:\n    print(error.message())"
    ).format("simple", "none"),
}
#: Reads of a status that may show what differs.
UNKNOWN = {
    "uptime": "print(s.uptime_ns)",
    "printed": "print(s)",
    "text": "print('%s' % s)",
    "f-string": "print(f'{s}')",
    "a printed part": "print(s.model_status)",
    "a printed version": "for v in s.model_status['m'].version_status.values(): print(v)",
    "a printed configuration": "m = s.model_status['m']\nprint(m.config, m.version_status)",
    "a loop that shows": "for n, m in s.model_status.items(): print(m)",
    "unknown code": "show(s)",
    "unknown code for a part": "show(s.model_status)",
    "unknown code for an element": "for m in s.model_status.values(): show(m)",
    "counters": "print(s.health_stats.success.count)",
    "HasField": "print(s.HasField('model_status'), s.model_status)",
    "a list": "seen = []\nseen.append(s)\nprint(seen[0].version)",
    "an attribute": "import x\nx.status = s\nprint(s.version)",
    "getattr": "print(getattr(s, 'uptime_ns'), s.version)",
    "a function's parameter": "def f(x): print(x.uptime_ns)\nf(s)",
    "a decorated function": "@wrap\ndef f(x): print(x.version)\nf(s)",
    "a returned status": "def f(): return s\nprint(f().version)",
    "a second name": "t = s\nprint(t.uptime_ns)",
    "a field that is set": "s.version = '1'\nprint(s.version)",
    "an attribute of a class": "class A:\n    t = s\nprint(A.t.uptime_ns)",
    "nonlocal": (
        "def f():\n    t = None\n    def g():\n        nonlocal t\n        t = s\n"
        "    g()\n    print(t.uptime_ns)\nf()"
    ),
    "compared parts": "print(max(s.model_status.values()).config.name)",
    "compared statuses": f"print(s == {_GET.format('')}, s.version)",
}


def _rows(source: str) -> set[str]:
    """Return the names of the rows of a migration with --unsafe."""
    return {row.name for _, outcome in migrated(source).uses for row in outcome.rows}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_reads(name: str) -> None:
    """A status stays without --unsafe if the program may notice that it is none of v1."""
    assert not {"STATUS", "PRINTED_STATUS"}.isdisjoint(_rows(_STATUS + UNKNOWN[name]))


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("name", KNOWN)
def test_known_reads(name: str, protocol: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program that reads only what is as v1's is rewritten, and prints what it did before."""
    source = _STATUS + KNOWN[name] + "\n"
    if protocol == "http":
        source = source.replace("GRPC", "HTTP").replace("argv[1], 1", "argv[1], 0")
    check_same(source, tmp_path, getattr(triton, protocol))


@pytest.mark.parametrize(
    ("read", "is_enough"),
    [
        ("s.model_status['m'].version_status[1].ready_state", True),
        ("[v.ready_state_reason for v in s.model_status['m'].version_status.values()][:0]", False),
        ("[m.version_status[1].ready_state for m in s.model_status.values()]", True),
        ("s.ready_state, s.version, 'm' in s.model_status", True),
        ("s.model_status['m'].version_status[1].model_execution_count", False),
        ("s.version, s.model_status['m'].config.name", False),
        ("s.model_status", False),
    ],
)
def test_states_alone(read: str, is_enough: bool) -> None:
    """A program that reads no more than states gets functions that ask for no configurations."""
    text = migrated(f"{_STATUS}print({read})\n").after.decode()
    assert "def get_server_status(" in text
    assert ("def fetched_config(" not in text) is is_enough


#: What a server lists → the arguments of its client below.
LISTED: dict[str, Mapping[str, Any]] = {
    "versions": {"index": [("m", "2", "UNAVAILABLE", "unloaded"), ("m", "10", "READY", "")]},
    "never loaded": {"index": [("m", "1", "", ""), ("n", "", "", "")]},
    "no versions": {"index": [("m", "", "UNAVAILABLE", "it failed"), ("n", "", "READY", "")]},
    "a name as version": {"index": [("m", "beta", "READY", "")]},
    "an unknown state": {"index": [("m", "1", "SLEEPING", "")]},
    "deleted files": {"index": [("m", "1", "READY", "")], "loaded": [("gone", "3"), ("m", "1")]},
    "not live": {"index": [("m", "1", "READY", "")], "live": False},
}


class _Client:
    """A client over HTTP whose server lists some models."""

    def __init__(
        self,
        index: Sequence[tuple[str, str, str, str]],
        loaded: Sequence[tuple[str, str]] = (),
        live: bool = True,
    ) -> None:
        keys = ("name", "version", "state", "reason")
        self._index = [{k: v for k, v in zip(keys, row) if v} for row in index]
        self._loaded = [{"name": name, "version": version} for name, version in loaded]
        self._live = live

    def get_server_metadata(self) -> dict[str, str]:
        return {"name": "server", "version": "2.51.0"}

    def is_server_live(self) -> bool:
        return self._live

    def get_model_repository_index(self) -> list[dict[str, str]]:
        return self._index

    def get_inference_statistics(self, model_name: str) -> dict[str, list[dict[str, str]]]:
        return {"model_stats": self._loaded}

    def get_model_config(self, model_name: str) -> dict[str, str]:
        return {"name": model_name}


def _states(module: ModuleType, client: _Client, model: str) -> object:
    """Return the states that a function of the helpers finds, or the text of its error."""
    try:
        found = module.get_server_status(client, model)
    except InferenceServerException as error:
        return str(error)
    models = {
        name: {
            version: (state.ready_state, state.ready_state_reason.message)
            for version, state in status.version_status.items()
        }
        for name, status in found.model_status.items()
    }
    missing = found.model_status["none"].version_status[1].ready_state
    return found.id, found.version, found.ready_state, models, missing


@pytest.mark.parametrize("model", ["", "m", "gone", "other"])
@pytest.mark.parametrize("name", LISTED)
def test_states_alone_are_those_of_the_whole_status(name: str, model: str) -> None:
    """Both functions find the same states, whatever a server lists."""
    client = _Client(**LISTED[name])
    assert _states(only_states, client, model) == _states(status, client, model)


def test_status_of_another_file(tmp_path: Path) -> None:
    """A status that another file may read has the row."""
    (tmp_path / "lib.py").write_text(f"{_STATUS}print(s.version)\n")
    (tmp_path / "script.py").write_text("import lib\nprint(lib.s.uptime_ns)\n")
    assert main(["migrate", "--write", str(tmp_path)]) == 1
    assert "get_server_status()" in (tmp_path / "lib.py").read_text()


_REGIONS = f"""import sys
import uuid
{STAR}import tensorrtserver.shared_memory as shm
control = SharedMemoryControlContext(sys.argv[1], ProtocolType.GRPC)
names = "b", "a"
handles = [shm.create_shared_memory_region(n, f"/{{n}}{{uuid.uuid4().hex}}", 64) for n in names]
for handle in handles:
    control.register(handle)
status = control.get_shared_memory_status()
for region in status.shared_memory_region:
    print(region.name, region.byte_size, region.system_shared_memory.offset)
    print(len(region.system_shared_memory.shared_memory_key), region.cuda_shared_memory.device_id)
    print(region.HasField("cuda_shared_memory"), region.WhichOneof("shared_memory_types"))
for handle in handles:
    control.unregister(handle)
    shm.destroy_shared_memory_region(handle)
print(len(control.get_shared_memory_status().shared_memory_region))
"""
_BOTH_KINDS = """
class Client:
    def get_system_shared_memory_status(self):
        return [{"name": "b", "key": "/b", "offset": 8, "byte_size": 16}]

    def get_cuda_shared_memory_status(self):
        return [{"name": "a", "device_id": 1, "byte_size": 4}]

for region in region_status(Client()).shared_memory_region:
    print(region.name, region.WhichOneof("shared_memory_types"), region.byte_size)
    print(region.cuda_shared_memory.device_id, region.system_shared_memory.offset)
"""


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_regions(protocol: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program that reads the fields of regions is rewritten, and prints what it did before."""
    check_same(_REGIONS.replace("GRPC", protocol.upper()), tmp_path, getattr(triton, protocol))


def test_regions_of_both_kinds(tmp_path: Path) -> None:
    """The status of shared memory has the regions of CUDA memory, too, sorted by name."""
    ended = run_with_helpers(tmp_path, "region_status", _BOTH_KINDS)
    expected = "a cuda_shared_memory 4\n1 0\nb system_shared_memory 16\n0 8\n"
    assert (ended.status, ended.output) == (0, expected)


@pytest.mark.parametrize(
    "use", ["print(s.shared_memory_region)", "show(s.shared_memory_region[0])"]
)
def test_unknown_reads_of_regions(use: str) -> None:
    """A status of shared memory stays if the program may show it, or hand it on."""
    source = f"{STAR}s = SharedMemoryControlContext('u', 1).get_shared_memory_status()\n{use}\n"
    assert "2:TS045" in todo(migrated(source, unsafe=False))
    assert _rows(source) == {"REGION_STATUS"}

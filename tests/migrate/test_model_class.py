"""The class InferModel of migrated files: it has the methods that the program calls."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, migrated, run, todo, write

_CLASS = """\
class Worker:
    def __init__(self, model):
        self.ctx = InferContext('u', 1, model)
    def ask(self, i, o):
        return self.ctx.run(i, o)
"""
_PLAIN = ["__init__", "__enter__", "__exit__", "run", "close"]
#: More code → the methods.
_USES = {
    "": ["__init__", "run"],
    "    def stop(self):\n        self.ctx.close()\n": ["__init__", "run", "close"],
    "    def start(self, i, o):\n        self.ctx.async_run(print, i, o)\n": ["__init__", "run"],
    "    def stop(self):\n        with self.ctx:\n            pass\n": _PLAIN,
    "    def stop(self):\n        with closing(self.ctx):\n            pass\n": [
        *("__init__", "run", "close")
    ],
    "    def stop(self):\n        stack.enter_context(self.ctx)\n": _PLAIN,
    "    def log(self):\n        with open('log') as file:\n            file.write('')\n": [
        *("__init__", "run")
    ],
    "with ServerStatusContext('u', 1) as status:\n    status.get_server_status()\n": [
        *("__init__", "run")
    ],
    "    def __exit__(self, *raised):\n        self.ctx.__exit__(*raised)\n": [
        *("__init__", "__exit__", "run", "close")
    ],
    "class Own:\n    def get_stat(self):\n        return 1\nprint(Own().get_stat())\n": [
        *("__init__", "run")
    ],
    "    def last(self):\n        return self.ctx.get_last_request_id()\n": [
        *("__init__", "run", "get_last_request_id")
    ],
    "    def options(self, i, o):\n        self.ctx.run(i, o, 1, flags=3)\n": ["__init__", "run"],
    "own(Worker('m').ctx)\n": _PLAIN,
    "own(Worker('m').ctx, timeout)\n": [*_PLAIN[:4], "correlation_id", "close"],
}


def _model(text: str) -> ast.ClassDef:
    """Return the class InferModel of a file."""
    classes = [part for part in ast.parse(text).body if isinstance(part, ast.ClassDef)]
    return next(part for part in classes if part.name == "InferModel")


@pytest.mark.parametrize("more", _USES)
def test_methods_of_the_class(more: str) -> None:
    """The class has the methods that the file calls; all plain ones if other code gets objects."""
    source = f"from contextlib import closing\n{STAR}{_CLASS}{more}"
    migration = migrated(source)
    assert todo(migration) == []
    methods = [x.name for x in _model(migration.after.decode()).body if hasattr(x, "name")]
    assert methods == _USES[more]


def test_class_of_a_plain_program() -> None:
    """The class of a program that only sends requests has at most 15 lines, without comments."""
    text = migrated(STAR + _CLASS).after.decode()
    model = _model(text)
    assert (model.end_lineno or 0) - model.lineno < 15
    assert "RecordingClient" not in text


def test_second_migration() -> None:
    """A file that has the class already keeps it."""
    once = migrated(STAR + _CLASS, unsafe=False).after
    assert migrated(once.decode(), unsafe=False).after == once


_HEALTH = "def ask(protocol):\n    return ServerHealthContext('u', protocol).is_live()\n"


@pytest.mark.parametrize(
    ("uses", "protocol"),
    [
        ("ask(ProtocolType.GRPC)\nask(ProtocolType.from_str(name))\n", "protocol"),
        ("ask(ProtocolType.GRPC)\nask(1)\n", "protocol_of(protocol)"),
        ("ask(ProtocolType.GRPC)\nask(name)\n", "protocol_of(protocol)"),
        ("p = ProtocolType.GRPC\nask(p)\nprint(p)\nask(q)\n", "protocol_of(protocol)"),
    ],
)
def test_protocols_that_may_be_numbers(uses: str, protocol: str) -> None:
    """A client gets the name of its protocol, also where the program may have v1's number."""
    text = migrated(STAR + _HEALTH + uses).after.decode()
    assert f"return connect({protocol}, 'u').is_server_live()\n" in text


def test_address_of_a_client_for_threads() -> None:
    """The helper gets a literal address as it is. It reads the scheme."""
    source = f"import threading\n{STAR}h = ServerHealthContext('https://u', 0)\nh.is_live()\n"
    assert "h = http_client('https://u')\n" in migrated(source).after.decode()


_START = f"import sys\n{STAR}p = ProtocolType.from_str(sys.argv[2])\n"
_ROW = "row = np.arange(16, dtype=np.int32)\nrows = {'INPUT0': [row], 'INPUT1': [row]}\n"
_OUTPUTS = "{'OUTPUT0': InferContext.ResultFormat.RAW}"
PROGRAMS = {
    "closed": f"""\
class Model:
    def __init__(self, name):
        self.ctx = InferContext(sys.argv[1], p, name)

    def add(self, rows):
        return self.ctx.run(rows, {_OUTPUTS})["OUTPUT0"][0].sum()

    def stop(self):
        self.ctx.close()
        self.ctx.close()

model = Model("simple")
print(model.add(rows))
model.stop()
""",
    "with": f"""\
def make(name):
    return InferContext(sys.argv[1], p, name)

with make("simple") as ctx:
    print(ctx.run(rows, {_OUTPUTS}, batch_size=1)["OUTPUT0"][0].sum())
""",
    "regions": """\
import tensorrtserver.shared_memory as shm

class Model:
    def __init__(self, name):
        self.ctx = InferContext(sys.argv[1], p, name)
        self.control = SharedMemoryControlContext(sys.argv[1], p)
        self.region = shm.create_shared_memory_region("migrated", "/migrated_model", 64)
        shm.set_shared_memory_region(self.region, [row])
        self.control.register(self.region)

    def add(self):
        outputs = {"OUTPUT0": InferContext.ResultFormat.RAW}
        return self.ctx.run({"INPUT0": self.region, "INPUT1": [row]}, outputs, 1)

    def stop(self):
        self.control.unregister(self.region)
        shm.destroy_shared_memory_region(self.region)
        self.ctx.close()

model = Model("simple")
print(model.add()["OUTPUT0"][0].sum())
model.stop()
""",
    "open": f"""\
class Model(InferContext):
    def is_open(self):
        return self._ctx is not None

model = Model(sys.argv[1], p, "simple")
print(model.run(rows, {_OUTPUTS})["OUTPUT0"][0].sum(), model.is_open())
model.close()
print(model.is_open())
""",
    "reports": f"""\
def report(ctx):
    print(ctx.get_last_request_model_name(), ctx.get_last_request_model_version())

model = InferContext(sys.argv[1], p, "simple")
report(model)
model.run(rows, {_OUTPUTS})
report(model)
print(model.get_stat()["completed_request_count"])
""",
    "threads": f"""\
from concurrent.futures import ThreadPoolExecutor

models = {{name: InferContext(sys.argv[1], p, name) for name in ["simple"]}}

def add(name):
    return models[name].run(rows, {_OUTPUTS})["OUTPUT0"][0].sum()

print(list(ThreadPoolExecutor(2).map(add, ["simple", "simple"])))
""",
}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_objects_on_a_server(
    name: str, protocol: str, triton: TritonServer, tmp_path: Path
) -> None:
    """A program with objects that know their model prints what it printed before."""
    script = tmp_path / "script.py"
    script.write_text(_START + _ROW + PROGRAMS[name])
    url = triton.url(protocol)
    before = run(script, url, protocol)
    assert before.status == 0, before.output
    for to in ("", protocol):
        migration = migrated(script.read_text(), to)
        assert todo(migration) == []
        assert "class InferModel" in migration.after.decode()
        other = tmp_path / f"migrated_{to}.py"
        write(migration, other)
        assert run(other, url, protocol) == before

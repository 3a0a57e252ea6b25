"""Clients that objects keep: made alike they become one, and the report says who closes them."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import STAR, body
from tests.migrate.test_clients import told

START = """\
class Service:
    def __init__(self, url, name):
        self.name = name
        self.health = ServerHealthContext(url, ProtocolType.GRPC)
        self.infer = InferContext(url, ProtocolType.GRPC, self.name)
"""
ASK = """\
    def ask(self, a, b):
        if self.health.is_ready():
            return self.infer.run(a, b)
"""
CLOSE = """\
    def close(self):
        self.health.close()
        self.infer.close()
"""
USE = "s = Service(u, 'm')\ns.ask(a, b)\n"
CLIENT = "grpcclient.InferenceServerClient(url)"


def test_one_client_for_the_attributes_of_an_object() -> None:
    """Contexts that one method makes alike become one client, which is closed once."""
    assert body(START + ASK + CLOSE + USE) == (
        "class Service:\n    def __init__(self, url, name):\n        self.name = name\n"
        f"        self.health = {CLIENT}\n        self.infer = self.health\n"
        "    def ask(self, a, b):\n        if self.health.is_server_ready():\n"
        "            return run_model(self.infer, self.name, a, b)\n"
        f"    def close(self):\n        self.health.close()\n{USE}"
    )
    assert told(STAR + START + ASK + CLOSE + USE) == {
        5: "grpc client",
        6: "the client of line 5",
    }


def test_attributes_that_are_none_at_first() -> None:
    """What other functions bind the attributes to, before or after, changes nothing of this."""
    source = START.replace("__init__", "connect")
    source += ASK + "    def __init__(self):\n        self.health = self.infer = None\n"
    assert "self.infer = self.health\n" in body(source + USE)


def test_record_of_a_shared_client() -> None:
    """A context that keeps its model's name shares the client, and has no options without any."""
    source = (START + ASK + USE).replace("self.name)", "name)")
    assert "self.infer = Model(self.health, name)\n" in body(source)
    assert "run_model(self.infer.client, self.infer.name, a, b)" in body(source)


def test_model_that_a_class_names() -> None:
    """A constant of the class is the model's name at each request, and needs no record."""
    source = (START + ASK + USE).replace("self.name)", "self.MODEL)")
    named = source.replace("Service:\n", "Service:\n    MODEL = 'm'\n", 1)
    assert "run_model(self.infer, self.MODEL, a, b)" in body(named)
    assert "run_model(self.infer.client, self.infer.name, a, b)" in body(source)


@pytest.mark.parametrize(
    "source",
    [
        START.replace("GRPC", "HTTP", 1) + ASK,
        START.replace("        self.infer", "        self.health = None\n        self.infer") + ASK,
        START + ASK + "    def end(self):\n        c = self.health\n        c.close()\n",
        START + ASK + "    def end(self):\n        with self.health:\n            pass\n",
        START + ASK + "    def end(self):\n        atexit.register(self.health.close)\n",
        START + ASK + "    def half(self):\n        self.health.close()\n",
        START + ASK + "    def half(self, x, y):\n"
        "        self.health.close()\n        self.infer.run(x, y)\n"
        "        self.infer.close()\n",
        START.replace("        self.infer", "        url = other\n        self.infer") + ASK,
        START.replace("GRPC", "HTTP") + ASK + "    def up(self):\n        self.health.is_live()\n"
        "    def watch(self):\n        Thread(target=self.up).start()\n",
        START.replace("GRPC", "HTTP") + ASK.replace("run(", "async_run(cb, "),
        START.replace("ServerHealthContext(url, ProtocolType.GRPC)",
                      "InferContext(url, ProtocolType.GRPC, 'm')").replace("is_ready", "get_stat")
        + ASK.replace("is_ready", "get_stat").replace("run(", "async_run(cb, "),
    ],
    ids=["protocol", "bound again", "closed by another name", "managed", "close handed on"]
    + ["one closed", "closed apart", "url bound", "threads", "clients for threads"]
    + ["numbers of each"],
)  # fmt: skip
def test_attributes_that_keep_a_client_each(source: str) -> None:
    """Where one client cannot be shown to do for another, each attribute has its own."""
    made = body(source + USE)
    assert made.count("InferenceServerClient(url") + made.count("connect(httpclient") >= 2
    assert "self.infer = self.health" not in made


@pytest.mark.parametrize(
    "closing",
    [
        CLOSE,
        "    def __del__(self):\n        self.health.close()\n        self.infer.close()\n",
        "    def use(self):\n        with self.health, self.infer:\n            self.ask(a, b)\n",
        "    def use(self):\n        with closing(self.health), closing(self.infer):\n"
        "            self.ask(a, b)\n",
        "    def last(self):\n        atexit.register(self.health.close)\n"
        "        self.addCleanup(self.infer.close)\n",
    ],
    ids=["method", "destructor", "with", "closing", "handed on"],
)
def test_report_of_clients_that_the_program_closes(closing: str) -> None:
    """Of a client in an attribute that the program closes, the report does not say it is open."""
    says = told(STAR + START + ASK + closing + USE).values()
    assert says
    assert not any("nothing closes it" in what for what in says)


def test_report_of_clients_in_a_container() -> None:
    """The same of clients in a list, and of one on a stack of contexts."""
    source = "all = [InferContext(u, 1, n) for n in x]\nfor one in all:\n    one.close()\n"
    assert told(STAR + source) == {2: "grpc client"}
    made = "s.enter_context(InferContext(u, 1, 'm'))"
    source = f"with ExitStack() as s:\n    c = {made}\n    c.run(a, b)\n"
    assert told(STAR + source) == {3: "grpc client"}

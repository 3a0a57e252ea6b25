"""What contexts for requests become: clients, or objects that know their model."""

from __future__ import annotations

from pathlib import Path

from tests.migrate.sources_migrated import STAR, body, migrated, run_with_helpers, todo

_NOT_SEEN = "def make(n):\n    return InferContext('u', 1, n, correlation_id=k)\n"


def test_model_that_requests_do_not_see() -> None:
    """A context whose requests do not see its model becomes an object, also without --unsafe."""
    source = f"{_NOT_SEEN}c = make('m')\nr = c.run(i, o, 1, flags=f)\n"
    made = "InferModel(grpcclient.InferenceServerClient('u'), n, sequence_id=int(k))"
    assert body(source) == source.replace("InferContext('u', 1, n, correlation_id=k)", made)
    assert todo(migrated(STAR + source, unsafe=False)) == []
    assert body(f"{source}logger.info('%s', c)\n") == body(source) + "logger.info('%s', c)\n"


def test_model_in_an_attribute() -> None:
    """An attribute is read where the context is made: another function may have another value."""
    source = (
        "class Worker:\n"
        "    def __init__(self, options):\n"
        "        self.ctx = InferContext('u', 1, NAME)\n"
        "    def ask(self):\n"
        "        return self.ctx.run(i, o)\n"
    )
    for name in ("options.model", "self.model", "FLAGS.model"):
        made = f"self.ctx = InferModel(grpcclient.InferenceServerClient('u'), {name})"
        assert made in body(source.replace("NAME", name))


_CLOSED = """\
class Worker:
    def __init__(self, model):
        self.ctx = InferContext('u', 1, model)
    def ask(self):
        return self.ctx.run(i, o)
    def stop(self):
        self.ctx.close()
        self.ctx = None
"""


def test_more_than_requests_of_an_unseen_model() -> None:
    """An object is closed and asked by the names that its context had, also without --unsafe."""
    made = "InferModel(grpcclient.InferenceServerClient('u'), model)"
    assert body(_CLOSED) == _CLOSED.replace("InferContext('u', 1, model)", made)
    assert made in body(_CLOSED, unsafe=False)
    asked = _CLOSED.replace("run(i, o)", "run(i, o), self.ctx.get_last_request_id()")
    assert body(asked) == asked.replace("InferContext('u', 1, model)", made)


def test_text_of_a_status(tmp_path: Path) -> None:
    """A part of a status has the text of v1's message, with its escapes."""
    source = (
        "from tensorrtserver.api import server_status_pb2 as pb\n"
        """reason = "can't load \\"é\\"\\n\\1"\n"""
        "message = pb.ModelVersionStatus(ready_state=2)\n"
        "message.ready_state_reason.message = reason\n"
        "status = Status(ready_state=2, ready_state_reason=Status(message=reason))\n"
        "print(str(status) == str(message), repr(status) == repr(message))\n"
    )
    ended = run_with_helpers(tmp_path, "Status", source)
    assert ended.output == "True True\n", ended.output


def test_contexts_that_are_asked() -> None:
    """A context that is asked for its last request becomes an object. Others do not."""
    source = "c = InferContext('u', 1, 'm')\nc.run(i, o)\n"
    asked = "d = InferContext('u', 1, 'm')\nd.run(i, o)\nprint(d.get_last_request_id())\n"
    client = "grpcclient.InferenceServerClient('u')"
    made = asked.replace("InferContext('u', 1, 'm')", f"InferModel({client}, 'm')")
    assert body(source + asked) == f"c = {client}\ninfer(c, 'm', i, o)\n{made}"
    entered = "with InferContext('u', 1, 'm') as c:\n    c.get_stat()\n"
    assert body(entered) == f"with InferModel({client}, 'm') as c:\n    c.get_stat()\n"
    of_class = "c = InferContext('u', 1, 'm')\nInferContext.get_stat(c)\n"
    assert "3:TS057" in todo(migrated(STAR + of_class))


def test_closed_by_another_function() -> None:
    """A global context that a function makes and closes becomes an object."""
    start = "def start(m):\n    global ctx\n    ctx = InferContext('u', 1, m)\n"
    assert "ctx = InferModel(" in body(f"{start}    ctx.close()\ndef ask():\n    ctx.run(i, o)\n")


def test_attribute_with_other_values() -> None:
    """A context in an attribute that may have another value becomes an object with --unsafe."""
    source = (
        "class Worker:\n"
        "    def __init__(self, ctx):\n"
        "        self.ctx = ctx\n"
        "    def connect(self):\n"
        "        self.ctx = InferContext('u', 1, 'm')\n"
        "    def ask(self, i, o):\n"
        "        return self.ctx.run(i, o)\n"
    )
    assert "self.ctx = InferModel(grpcclient" in body(source)
    assert "6:TS050" in todo(migrated(STAR + source, unsafe=False))

"""What contexts for requests become: clients, a ``partial``, or objects that know their model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.sources_migrated import STAR, body, migrated, run_with_helpers, todo

_NOT_SEEN = "def make(n):\n    return InferContext('u', 1, n, correlation_id=k)\n"


def test_model_that_requests_do_not_see() -> None:
    """A context whose requests do not see its model becomes a partial, also without --unsafe."""
    source = f"{_NOT_SEEN}c = make('m')\nr = c.run(i, o, 1, flags=f)\n"
    assert body(source) == (
        "def make(n):\n"
        "    return partial(infer, grpcclient.InferenceServerClient('u'), n, sequence_id=int(k))\n"
        "c = make('m')\n"
        "r = c(i, o, sequence_start=bool(f & FLAG_SEQUENCE_START), "
        "sequence_end=bool(f & FLAG_SEQUENCE_END))\n"
    )
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
        made = f"partial(infer, grpcclient.InferenceServerClient('u'), {name})"
        assert made in body(source.replace("NAME", name))


def test_more_than_requests_of_an_unseen_model() -> None:
    """A context that is closed or asked elsewhere becomes an object, also without --unsafe."""
    ask = "print(c.get_last_request_id())\n"
    source = f"{_NOT_SEEN}c = make('m')\nc.run(i, o)\n{ask}c.close()\n"
    client = "AskedClient(grpcclient.InferenceServerClient('u'))"
    made = f"InferModel({client}, n, sequence_id=int(k))"
    assert body(source) == source.replace("InferContext('u', 1, n, correlation_id=k)", made)
    exactly = body(source.replace(ask, ""), unsafe=False)
    assert "InferModel(grpcclient.InferenceServerClient('u'), n, seq" in exactly


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


def test_partial_that_is_closed() -> None:
    """The client has a variable where the context's variable is made and closed."""
    made = """\
class Worker:
    def __init__(self, model):
        self.ctx_client = grpcclient.InferenceServerClient('u')
        self.ctx = partial(infer, self.ctx_client, model)
    def ask(self):
        return self.ctx(i, o)
    def stop(self):
        self.ctx_client.close()
        self.ctx = None
"""
    assert body(_CLOSED) == made
    tried = "try:\n    Worker('m').ask()\nexcept InferenceServerException:\n    pass\n"
    asked = "self.ctx_client.get_model_config(model)\n        self.ctx = partial("
    assert asked in body(_CLOSED + tried)
    run = "def ask(c):\n    c.run(i, o)\n"
    local = "def main(m):\n    ctx = InferContext('u', 1, m)\n    ask(ctx)\n    ctx.close()\n"
    assert body(run + local).endswith("    ask(ctx)\n    ctx_client.close()\n")


def test_attribute_before_the_constructor(tmp_path: Path) -> None:
    """An attribute that an InferModel lacks is an AttributeError, also before it has a client."""
    source = (
        "class Model(InferModel):\n    def __init__(self):\n        pass\n"
        "model = Model()\nprint(hasattr(model, 'size'), hasattr(model, 'client'))\n"
    )
    ended = run_with_helpers(tmp_path, "InferModel", source)
    assert ended.output == "False False\n", ended.output


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
    """A context that is asked for its last request gets a client that reports. Others do not."""
    ask = "        return self.ctx.run(i, o), self.ctx.get_last_request_id()\n"
    source = _CLOSED.replace("        return self.ctx.run(i, o)\n", ask)
    text = body(source)
    assert "self.ctx_client = AskedClient(grpcclient.InferenceServerClient('u'))\n" in text
    assert "return self.ctx(i, o), self.ctx_client.get_last_request_id()\n" in text
    other = body("c = InferContext('u', 1, 'm')\nc.run(i, o)\n" + source)
    assert other.startswith("c = grpcclient.InferenceServerClient('u')\n")
    entered = "with InferContext('u', 1, 'm') as c:\n    c.get_stat()\n"
    assert body(entered).startswith("with InferModel(AskedClient(grpcclient.")
    of_class = "c = InferContext('u', 1, 'm')\nInferContext.get_stat(c)\n"
    assert "3:TS057" in todo(migrated(STAR + of_class))


@pytest.mark.parametrize(
    "change",
    [
        ("self.ctx.close()", "other = self.ctx\n        other.close()"),
        ("self.ctx = None", "self.old = self.ctx\n        self.ctx = self.old"),
        ("i, o)", "i, self.ctx_client)"),
        ("self.ctx = InferContext", "self.ctx = ctx = InferContext"),
        ("        self.ctx = InferContext", "        if model: self.ctx = InferContext"),
    ],
)
def test_partial_that_others_close(change: tuple[str, str]) -> None:
    """A context becomes an object if more than one variable has it, or the name is taken."""
    text = body(_CLOSED.replace(*change))
    assert "InferModel(grpcclient" in text and "_client = " not in text


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

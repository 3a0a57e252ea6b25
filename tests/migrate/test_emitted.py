"""The functions that a migrated file gets are no longer than the file needs."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR, migrated

RAW = "InferContext.ResultFormat.RAW"
CLASS = "(InferContext.ResultFormat.CLASS, 2)"
#: Requests in a file without CLASS → whether their outputs may ask for it all the same.
OUTPUTS = {
    f"c.run(i, {{'O': {RAW}}})\n": False,
    f"c.run(i, {{'O': {RAW}}})\nf({{'P': {CLASS}}})\n": True,
    f"wanted = {{name: {RAW} for name in names}}\nc.run(i, wanted)\n": False,
    f"wanted = {{}}\nwanted['O'] = {RAW}\nc.run(i, wanted)\n": False,
    "wanted = {}\nwanted['O'] = read()\nc.run(i, wanted)\n": True,
    f"c.run(i, dict.fromkeys(names, {RAW}))\n": False,
    f"kind = {RAW}\nc.run(i, {{'O': kind}})\n": False,
    f"def f(self):\n    self.o = {{'O': {RAW}}}\n    c.run(i, self.o)\n": False,
    "c.run(i, settings.outputs)\n": True,
    "def f(outputs):\n    c.run(i, outputs)\n": True,
    f"def f(outputs=None):\n    c.run(i, outputs or {{'O': {RAW}}})\n": True,
    "for wanted in every:\n    c.run(i, wanted)\n": True,
    f"both = {{'inputs': i, 'outputs': {{'O': {RAW}}}}}\nc.run(**both)\n": False,
}
#: Programs → whether anybody catches the errors of their requests.
CATCHING = {
    "c.run(i, o)\n": False,
    "def f():\n    c.run(i, o)\nif __name__ == '__main__':\n    f()\n": False,
    "def f():\n    c.run(i, o)\n": True,
    "try:\n    c.run(i, o)\nexcept Exception as error:\n    print(error)\n": True,
    "c.run(i, o)\nassert not isinstance(e, InferenceServerException)\n": True,
}


def text(source: str, to: str = "grpc") -> str:
    """A source on a context ``c``, migrated."""
    context = CONTEXT.replace("ctx", "c")
    return migrated(f"{STAR}{context}{source}", to).after.decode()


@pytest.mark.parametrize("source", OUTPUTS)
def test_classes_are_decoded_where_they_may_be_asked_for(source: str) -> None:
    """Without CLASS, and with all outputs in sight, no function decodes classes."""
    made = text(source)
    assert "def run_model(" in made
    assert ("def classes_of(" in made) is OUTPUTS[source]
    assert ("class_count=" in made) is OUTPUTS[source]


@pytest.mark.parametrize("source", CATCHING)
def test_errors_are_v1s_where_they_may_be_caught(source: str) -> None:
    """Where nobody catches an error, Python's own says what is wrong with an input."""
    made = text(source)
    assert "def infer_input(" in made
    assert ("raise InferenceServerException(" in made) is CATCHING[source]
    assert ("import InferenceServerException" in made) is CATCHING[source]


@pytest.mark.parametrize(("to", "looked"), [("grpc", False), ("http", True), ("", False)])
def test_empty_arrays_get_their_type_over_http(to: str, looked: bool) -> None:
    """Over gRPC they have it; where the protocol is chosen, the class of the answer tells."""
    source = f"{STAR}p = ProtocolType.from_str(t)\nInferContext('u', p, 'm').run(i, o)\n"
    assert ("if not array.size:" in migrated(source, to).after.decode()) is looked
    chosen = "if not array.size and isinstance(told, dict):"
    assert (chosen in migrated(source, to).after.decode()) is (not to)

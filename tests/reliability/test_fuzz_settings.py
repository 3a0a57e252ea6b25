"""Settings with any values, from Python and as text."""

from __future__ import annotations

from functools import partial
from typing import Any, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tritonclient_shim
from tensorrtserver.api import InferContext, InferenceServerException
from tests.backends.answering_servers import SCORES, GrpcAnswers, HttpAnswers
from tests.reliability import odd_values as odd
from tests.reliability.fuzzing import fuzzed
from tests.reliability.identified_calls import within
from tritonclient_shim import settings
from tritonclient_shim.settings import FIELDS, variable

PATIENCE = 60.0
RAW = InferContext.ResultFormat.RAW

#: Sample values of each setting. Every setting also gets the samples of all other settings.
LIKE = [
    *("on", "off", "auto", "none", "1", "0", "yes", "0.5", "1e-9", "3", "1e400", "nan", "gzip"),
    *("a=b", "*=*", "a=*", "*:8000=x:*", "A: b", "a:b\nc:d", "{}", "[]", '{"a": "b"}', '{"a": 1}'),
    *("http://127.0.0.1:1", "http://u:p@127.0.0.1:1", "http://", "https://x:1", "round_robin"),
    *("grpc.x=1", "grpc.max_receive_message_length=99999999999", "grpc.keepalive_time_ms=x"),
    *("json:loads", "os:sep", "nothing:at_all", "a.b.c:d", __file__, "/nowhere", "~", "\0"),
    *("[" * 100_000, '{"a":' * 50_000, '{"m": {"inputs": {"IN": {"datatype": "FP32"}}}}'),
    *('{"m": {"outputs": {"OUT": {"labels": "/nowhere"}}}}', '{"m": {"max_batch_size": 1e9}}'),
    *('{"m": {"outputs": {"OUT": {"labels": ["a", "a"], "dims": [-1]}}}}', "{" + "1" * 9000),
]
_pair = st.tuples(odd.mostly(odd.texts), odd.mostly(odd.texts))
#: Declarations of models, which the setting ``models`` takes.
_members = ["inputs", "outputs", "IN", "datatype", "dims", "labels", "max_batch_size"]
_declaration = st.recursive(
    odd.leaves | st.sampled_from(["FP32", "TYPE_STRING"]) | st.lists(odd.numbers, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from(_members), inner, max_size=2),
    max_leaves=4,
)
values = st.one_of(
    st.sampled_from(LIKE),
    odd.anything,
    st.lists(_pair, max_size=3),
    st.dictionaries(odd.texts, odd.leaves, max_size=3),
    st.dictionaries(st.sampled_from(["m", "x"]), _declaration, max_size=2),
)
#: Settings that lead to other servers or look names up: not used for connections.
ELSEWHERE = {"rewrite_addresses", "tls"}


@pytest.fixture
def nothing_set() -> Iterator[None]:
    """Reset all settings afterwards."""
    yield
    tritonclient_shim.configure(**dict.fromkeys(FIELDS))


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[str]]:
    """Return the addresses of servers over HTTP and gRPC."""
    with HttpAnswers() as http, GrpcAnswers() as grpc:
        yield [http.address, grpc.address]


def use(addresses: list[str], protocol: int) -> None:
    """Run a request with these settings, or raise the error that refuses them."""
    with InferContext(addresses[protocol], protocol, "m") as context:
        result = context.run({"IN": [SCORES]}, {"OUT": RAW})["OUT"]
        np.testing.assert_array_equal(result[0], SCORES)


def changed(changes: dict[str, Any], before: Any) -> bool:
    """Return True if the settings are accepted. If not, check the text and that nothing changed."""
    try:
        tritonclient_shim.configure(**changes)
    except (settings.SettingsError, TypeError) as error:
        assert isinstance(error, settings.SettingsError) or not changes.keys() <= FIELDS.keys()
        assert any(item in str(error) for item in ("; expected ", " or remove ", "knows no"))
        assert settings.current() == before
        return False
    return True


@pytest.mark.usefixtures("nothing_set")
@fuzzed("changes of settings")
@given(data=st.data())
def test_configure(data: Any, addresses: list[str]) -> None:
    """``configure()`` accepts or refuses any values. Contexts work with the accepted values."""
    names = st.sampled_from([*FIELDS, *FIELDS, "timeout"])
    changes = data.draw(st.dictionaries(names, values, min_size=1, max_size=2))
    if changed(changes, settings.current()):
        settings.described()
        if not ELSEWHERE.intersection(changes):
            for protocol in (0, 1):
                try:
                    within(PATIENCE, partial(use, addresses, protocol))
                except InferenceServerException as error:
                    assert error.message()
    tritonclient_shim.configure(**dict.fromkeys(FIELDS))
    for protocol in (0, 1):
        use(addresses, protocol)


def _is_variable(text: str) -> bool:
    """True if a system takes the text as the value of a variable."""
    return "\0" not in text and "\ud800" not in text and len(text) <= 100_000


@pytest.mark.usefixtures("nothing_set")
@fuzzed("changes of settings")
@given(
    name=st.sampled_from(list(FIELDS)),
    text=(st.sampled_from(LIKE) | odd.texts).filter(_is_variable),
)
def test_variables(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environment variables with any text are accepted or refused with a text."""
    with monkeypatch.context() as environment:
        environment.setenv(variable(name), text)
        try:
            settings.current()
            settings.described()
        except settings.SettingsError as error:
            assert variable(name) in str(error) or "is given without" in str(error)
    assert settings.current() == settings.DEFAULTS

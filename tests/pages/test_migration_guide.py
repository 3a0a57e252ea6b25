"""Each pair of migration_guide.md runs on the real server and gives equal results."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext, InferenceServerException, ServerHealthContext
from testbed import TritonServer
from testbed.environment import NEWEST, NUMPY
from testbed.made_once import (
    VirtualEnvironment,
    folder_name,
    made_once,
    pip_install,
    virtual_environment,
)
from testbed.pythons import for_server
from tests.pages.guide_blocks import GUIDE, ROOT, Pair, anchors, at, plain, read
from tritonclient_shim import notice
from tritonclient_shim.registry import ENTRIES

PRELUDES, PAIRS, SHOWN = read()
MODELS = (
    *("simple", "simple_string", "classify", "multi_version", "sequence_sum", "queue_policy"),
    "identity_fp64",
)
COLUMNS = [
    pytest.param(pair, column, id=f"{pair.name}-{column}")
    for pair in PAIRS
    for column in pair.blocks
    if column not in ("v1", "pytriton")
]
WITH_PYTRITON = [pair for pair in PAIRS if "pytriton" in pair.blocks]


@pytest.fixture(scope="module")
def server() -> Iterator[TritonServer]:
    """Yield a server of its own: the pairs load, unload and count."""
    with TritonServer.start(models=MODELS) as started:
        _count_three(started.http)
        yield started


def _count_three(url: str) -> None:
    """Send three requests for the pair about statistics. Wait until the server has counted them."""
    from tritonclient.http import InferenceServerClient

    with InferContext(url, 0, "identity_fp64") as context:
        for _ in range(3):
            context.run({"INPUT0": [np.zeros(1)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
    client = InferenceServerClient(url)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        statistics = client.get_inference_statistics("identity_fp64")["model_stats"][0]
        if statistics["execution_count"] == 3:
            break
    client.close()


@pytest.fixture(scope="module")
def before(server: TritonServer) -> dict[str, Any]:
    """Return the result of each pair's v1 block, run once."""
    return {pair.name: run(pair, "v1", server) for pair in PAIRS}


def run(pair: Pair, column: str, server: TritonServer) -> Any:
    """Execute a block after its column's prelude, and return its ``result``."""
    prelude = PRELUDES.get(column.replace("_aio", ""), PRELUDES["v1"])
    namespace: dict[str, Any] = {}
    exec(prelude + at(pair.blocks[column], server.http, server.grpc), namespace)
    _until_ready(server)
    return plain(namespace["result"])


def _until_ready(server: TritonServer) -> None:
    """Wait until Triton is ready. It is not ready while it unloads a model, also after the call."""
    context, deadline = ServerHealthContext(server.http, 0), time.monotonic() + 30
    while not context.is_ready() and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.mark.parametrize(("pair", "column"), COLUMNS)
def test_now_gives_what_before_gave(
    before: dict[str, Any], server: TritonServer, pair: Pair, column: str
) -> None:
    """tritonclient's block gives v1's result on one server."""
    assert run(pair, column, server) == before[pair.name]


def _with_dependencies(folder: Path) -> None:
    virtual_environment(for_server().path, folder)
    pip_install(folder, "PyTriton's client", NEWEST.package, NUMPY)


@pytest.fixture(scope="module")
def with_pytriton(server: TritonServer) -> dict[str, Any]:
    """Return the results of PyTriton's blocks, from an interpreter that has PyTriton."""
    folder = made_once(folder_name("pytriton", NEWEST.package, NUMPY), _with_dependencies)
    prepared = VirtualEnvironment(folder)
    blocks = {
        pair.name: PRELUDES["pytriton"] + at(pair.blocks["pytriton"], server.http, server.grpc)
        for pair in WITH_PYTRITON
    }
    code = (
        f"import json, sys\nsys.path.append({str(Path(__file__).parents[2])!r})\n"
        "from tests.pages.guide_blocks import plain\nfound = {}\n"
        "for name, block in json.load(sys.stdin).items():\n"
        "    space = {}\n    exec(block, space)\n    found[name] = plain(space['result'])\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [prepared.python, "-W", "ignore", "-c", code],
        input=json.dumps(blocks),
        capture_output=True,
        env=prepared.variables(),
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("pair", WITH_PYTRITON, ids=lambda pair: pair.name)
def test_pytriton_gives_what_before_gave(
    before: dict[str, Any], with_pytriton: dict[str, Any], pair: Pair
) -> None:
    """PyTriton's block gives v1's result on one server."""
    assert with_pytriton[pair.name] == before[pair.name]


def test_results_say_something(before: dict[str, Any]) -> None:
    """Each pair's result is true or not empty, so no pair is equal for want of a result."""
    assert not [name for name, result in before.items() if not result]
    assert before["Statistics 1"] == [3, 3]


def test_new_blocks_know_nothing_of_the_old_api() -> None:
    """No block on the third rung uses a legacy name."""
    code = [pair.blocks[column] for pair in PAIRS for column in pair.blocks
            if column not in ("v1", "mixed")]  # fmt: skip
    assert not [block for block in code if "tensorrtserver" in block or "InferContext" in block]


def test_every_pair_has_both_protocols_but_for_reasons() -> None:
    """Each operation has a block for gRPC and HTTP, unless it is gRPC's own or needs no call."""
    without = {pair.name for pair in PAIRS if "http" not in pair.blocks}
    grpcs_own = {"Streams 1", "Streams 2", *(f"Raw gRPC stub {number}" for number in range(1, 6))}
    assert without == {"Three rungs 1", "System shared memory 3", "asyncio 1", *grpcs_own}
    assert [pair.name for pair in SHOWN] == ["CUDA shared memory 1"]


def test_links_within_the_guide_lead_somewhere() -> None:
    """Every ``](#anchor)`` of the guide, and every anchor of the registry, is a heading."""
    linked = set(re.findall(r"\]\(#([^)]+)\)", GUIDE.read_text("utf-8")))
    assert {*linked, *(entry.anchor for entry in ENTRIES.values())} <= anchors()


def texts_of_new_clients() -> Iterator[str]:
    """Yield messages that users read, from tritonclient, NumPy and Python themselves."""
    import tritonclient.http as http
    from tritonclient.utils import InferenceServerException as NewException

    tensor = http.InferInput("INPUT0", [1, 16], "INT64")
    text = http.InferInput("INPUT0", [1], "BYTES")
    for attempt in (
        lambda: http.InferenceServerClient("http://localhost:8000"),
        lambda: tensor.set_data_from_numpy(np.zeros((1, 16))),
        lambda: tensor.set_data_from_numpy(np.zeros(16, np.int64)),
        lambda: text.set_data_from_numpy(np.array(["text"])),
        lambda: http.InferenceServerClient("127.0.0.1:1").is_server_live(),
        lambda: np.object,  # type: ignore[attr-defined]
        lambda: compile("FLAGS.async", "script.py", "exec"),
    ):
        kinds = (NewException, AttributeError, ConnectionRefusedError, SyntaxError)
        with pytest.raises(kinds) as caught:
            attempt()
        yield f"{type(caught.value).__name__}: {getattr(caught.value, 'msg', caught.value)}"


def texts_of_this_package(server: TritonServer) -> Iterator[str]:
    """Yield messages of this package after the usual mistakes."""
    raw = {"OUTPUT0": InferContext.ResultFormat.RAW}
    wide = {"INPUT0": [np.arange(16)], "INPUT1": [np.arange(16)]}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        for url, protocol, model, limit in (
            (server.http, 1, "simple", None),
            (server.grpc, 0, "simple", None),
            (server.grpc, 1, "simpel", None),
            (server.grpc, 1, "simple", None),
            (place, 1, "simple", 1),
            (place, 0, "simple", 1),
        ):
            tritonclient_shim.configure(network_timeout=limit)
            with pytest.raises(InferenceServerException) as caught:
                InferContext(url, protocol, model).run(wide, raw)
            yield str(caught.value)
        tritonclient_shim.configure(network_timeout=None)
        options = ("gateway", "--triton-grpc", server.grpc, "--http", place)
        done = subprocess.run(
            [sys.executable, "-m", "tritonclient_shim", *options, "--grpc", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        yield done.stderr


def test_faq_is_titled_by_what_people_read(server: TritonServer) -> None:
    """Messages of this package, the new clients, NumPy and Python begin as a title of the FAQ."""
    guide = GUIDE.read_text("utf-8")
    titles = re.findall(r"^### (.+)$", guide[guide.index("## FAQ") :], re.MULTILINE)
    parts = [part for title in titles for part in re.findall(r"`+(.+?)`+", title)]
    for text in (*texts_of_new_clients(), *texts_of_this_package(server)):
        assert any(_begins(text, part) for part in parts), text


def _begins(text: str, part: str) -> bool:
    """True if the text contains the title, up to where texts vary: a comma or ``…``."""
    return re.split("[,…]", part)[0].rstrip() in text


def test_tables_are_current() -> None:
    """The guide's table of all symbols is the output of scripts/guide."""
    command = [sys.executable, str(ROOT / "scripts" / "guide"), "--check"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_pairs_of_v1_use_what_they_are_about(
    server: TritonServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The v1 blocks use every symbol that has a successor to show."""
    from tritonclient_shim import usage
    from tritonclient_shim.usage import Recorder

    recorder = Recorder()
    usage.start(recorder)
    notice.forget()
    try:
        for pair in PAIRS:
            run(pair, "v1", server)
    finally:
        usage.stop()
        notice.forget()
    seen = {use.id for use in recorder.counts()}
    counted = {id for id, entry in ENTRIES.items() if entry.counted}
    assert counted - seen == NOT_IN_A_PAIR


#: Counted symbols without a pair of their own: described in the text of their section.
NOT_IN_A_PAIR = frozenset(
    {
        *("TS042", "TS044", "TS046", "TS054", "TS056", "TS057", "TS058", "TS059"),
        *("TS077", "TS078", "TS079", "TS080"),
        *("TS084", "TS086", "TS087", "TS088", "TS089"),
    }
)

"""A new user's script of 2019 runs unchanged on a TLS-only Triton, and leaves v1 step by step.

Each step follows the report of the step before.
"""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from testbed import TritonServer
from tests.certificates import Authority
from tests.cli.cli_scripts import python, shim
from tests.relays import Relay
from tritonclient_shim.registry import ENTRIES

OLD = """\
from tensorrtserver.api import *

ctx = InferContext("localhost:8000", ProtocolType.from_str("http"), "simple_string")
texts = np.array([str(number) for number in range(16)], dtype=np.object)
result = ctx.run({"INPUT0": [texts], "INPUT1": [texts]},
                 {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
for text in result["OUTPUT0"][0]:
    sys.stdout.write(text.decode("utf-8") + " ")
"""
PRINTED = "".join(f"{2 * number} " for number in range(16))

IMPORTS = (
    ("from tensorrtserver.api import *\n",
     "import sys\nimport numpy as np\nfrom tensorrtserver.api import InferContext, ProtocolType\n"),
    ("np.object", "object"),
)  # fmt: skip
MIXED = (
    ("import numpy as np\n",
     "import numpy as np\nimport tritonclient.http as httpclient\n"
     "from tritonclient_shim import unwrap\n"),
    ('ProtocolType.from_str("http")', "0"),
    (", ProtocolType", ""),
    ("""result = ctx.run({"INPUT0": [texts], "INPUT1": [texts]},
                 {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
for text in result["OUTPUT0"][0]:
""",
     """client = unwrap(ctx)
inputs = [httpclient.InferInput(name, [1, 16], "BYTES") for name in ("INPUT0", "INPUT1")]
for tensor in inputs:
    tensor.set_data_from_numpy(texts.reshape(1, 16))
result = client.infer("simple_string", inputs)
for text in result.as_numpy("OUTPUT0")[0]:
"""),
)  # fmt: skip
BARE = (
    ("import sys\n", "import os\nimport sys\n"),
    ("from tritonclient_shim import unwrap\n", ""),
    ("from tensorrtserver.api import InferContext\n", ""),
    ('ctx = InferContext("localhost:8000", 0, "simple_string")\n', ""),
    ("client = unwrap(ctx)\n",
     'client = httpclient.InferenceServerClient(\n'
     '    os.environ["SERVER"], ssl=True, ssl_options={"ca_certs": os.environ["ROOTS"]})\n'),
)  # fmt: skip


class Place(NamedTuple):
    """A folder for the script, and the variables with the server's address."""

    folder: Path
    variables: dict[str, str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Yield folder and variables for a Triton with HTTP only over TLS, on its own port."""
    folder = tmp_path_factory.mktemp("way_out")
    authority = Authority(folder)
    identity = authority.issue("127.0.0.1", "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*identity)
    with TritonServer.start(["simple_string"]) as server, Relay(server.http, context) as http:
        variables = {
            "TRITON_SHIM_REWRITE_ADDRESSES": f"localhost:8000={http.address}",
            "TRITON_SHIM_TLS": "on",
            "TRITON_SHIM_ROOT_CERTIFICATES": authority.roots,
            "SERVER": http.address,
            "ROOTS": authority.roots,
        }
        yield Place(folder, variables)


def changed(text: str, *steps: tuple[tuple[str, str], ...]) -> str:
    """Return the script after some steps."""
    for old, new in (pair for step in steps for pair in step):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def ids_of(path: Path) -> set[str]:
    """Return the ids in a JSON report."""
    return {use["id"] for use in json.loads(path.read_text("utf-8"))["uses"]}


def scanned(place: Place, text: str) -> tuple[int, set[str]]:
    """Return exit status and ids of ``scan``."""
    (place.folder / "script.py").write_text(text)
    done = shim(place.folder, "scan", "--format", "json", "script.py")
    return done.returncode, {use["id"] for use in json.loads(done.stdout)["uses"]}


def test_it_does_not_run_by_itself(place: Place) -> None:
    """On today's NumPy, and without the settings, the script ends with an error."""
    (place.folder / "script.py").write_text(OLD)
    assert python(place.folder, "script.py").returncode == 1


def test_it_runs_unchanged_under_the_runner(place: Place) -> None:
    """With the runner and variables, the unchanged script prints the right results over TLS."""
    (place.folder / "script.py").write_text(OLD)
    done = shim(place.folder, "run", "script.py", **place.variables)
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr
    assert all(id in done.stderr for id in ("TS011", "TS050", "TS051", "TS062"))


def reported(place: Place, text: str) -> Any:
    """Run with plain Python and a report. Return the finished process and the reported ids."""
    (place.folder / "script.py").write_text(text)
    variables = {**place.variables, "TRITON_SHIM_REPORT": "usage.json"}
    done = python(place.folder, "script.py", **variables)
    return done, ids_of(place.folder / "usage.json")


def test_each_step_says_what_is_next(place: Place) -> None:
    """A step removes ids that the list before it had. Each id has a section in the guide."""
    everything = {"TS001", "TS002", "TS201", "TS011", "TS050", "TS051", "TS062"}
    assert scanned(place, OLD) == (1, everything)

    done, ids = reported(place, changed(OLD, IMPORTS))
    assert (done.stdout, ids) == (PRINTED, {"TS011", "TS050", "TS051", "TS062"}), done.stderr
    assert scanned(place, changed(OLD, IMPORTS)) == (1, {*ids, "TS009"})

    done, ids = reported(place, changed(OLD, IMPORTS, MIXED))
    assert (done.stdout, ids) == (PRINTED, {"TS050"}), done.stderr
    assert all(ENTRIES[id].anchor for id in everything)


def test_the_last_step_has_nothing_left(place: Place) -> None:
    """After the last step, scan reports no use, and no module of ours is loaded."""
    final = changed(OLD, IMPORTS, MIXED, BARE)
    assert scanned(place, final) == (0, set())
    (place.folder / "script.py").write_text(
        f"{final}\nassert not [name for name in sys.modules if name.startswith("
        "('tensorrtserver', 'tritonclient_shim'))]\n"
    )
    done = python(place.folder, "script.py", TRITON_SHIM_WARNINGS="error", **place.variables)
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr

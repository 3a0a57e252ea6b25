"""Deprecation notices as a script's author sees them: the headline, and every mode."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from deprecation import DeprecatedWarning

from tests.cli.cli_scripts import python
from tritonclient_shim.notice.categories import TensorRTServerDeprecationWarning

CATEGORY = ": TensorRTServerDeprecationWarning: "


SCRIPT = """\
from tensorrtserver.api import *
def make():
    return ServerHealthContext("localhost:1", 0)
make()
make()
ServerStatusContext("localhost:1", 1)
print("done")
"""


def run(folder: Path, text: str, *options: str, **variables: str) -> Any:
    """Run ``script.py`` in an interpreter without our environment variables."""
    (folder / "script.py").write_text(text)
    return python(folder, *options, "script.py", **variables)


def noticed(stderr: str) -> list[tuple[str, str]]:
    """Return (file:line, id) of each notice."""
    lines = [line for line in stderr.splitlines() if CATEGORY in line]
    places = [os.path.basename(line.partition(CATEGORY)[0]) for line in lines]
    return [(place, line.rpartition("[")[2][:5]) for place, line in zip(places, lines)]


def test_category() -> None:
    """The notice has its own category, derived from the deprecation package's."""
    assert issubclass(TensorRTServerDeprecationWarning, DeprecatedWarning)
    assert issubclass(TensorRTServerDeprecationWarning, DeprecationWarning)


@pytest.mark.smoke
def test_once_at_the_users_line(tmp_path: Path) -> None:
    """A process prints one headline, at the user's line, under default filters."""
    done = run(tmp_path, SCRIPT)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count(CATEGORY) == 1
    place, _, rest = done.stderr.partition(CATEGORY)
    assert place.endswith("script.py:3")
    assert rest.startswith("Your program works. ")
    assert len(rest.splitlines()[0]) <= 200
    assert 'return ServerHealthContext("localhost:1", 0)' in done.stderr


def test_in_a_module_of_the_users(tmp_path: Path) -> None:
    """The notice is visible by default outside the main program too, at its own line."""
    (tmp_path / "helper.py").write_text(SCRIPT.replace("make()\nmake()", "\n\nmake()\n"))
    done = run(tmp_path, "import helper\n")
    assert "helper.py:3" + CATEGORY in done.stderr
    assert done.stderr.count(CATEGORY) == 1


def test_import_alone_is_silent(tmp_path: Path) -> None:
    """Importing prints no notice, also if warnings are errors."""
    text = "from tensorrtserver.api import *\nimport tensorrtserver.shared_memory\n"
    done = run(tmp_path, text, "-W", "error:tensorrtserver")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "how",
    [
        (("-W", "ignore::DeprecationWarning"), {}),
        (("-W", "ignore"), {}),
        ((), {"PYTHONWARNINGS": "ignore::DeprecationWarning"}),
        ((), {"TRITON_SHIM_WARNINGS": "off"}),
    ],
)
@pytest.mark.smoke
def test_silenced(tmp_path: Path, how: Any) -> None:
    """-W, PYTHONWARNINGS and our variable silence the notice."""
    options, variables = how
    done = run(tmp_path, SCRIPT, *options, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_escalated(tmp_path: Path) -> None:
    """With -W error every use raises."""
    twice = "try:\n    make()\nexcept DeprecationWarning:\n    make()"
    text = SCRIPT.replace("make()\nmake()", twice)
    done = run(tmp_path, text, "-W", "error::DeprecationWarning")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("During handling of the above exception") == 1


@pytest.mark.parametrize("action", ["ignore", "error"])
def test_filtered_in_the_script(tmp_path: Path, action: str) -> None:
    """A script's own filter for the category is obeyed."""
    text = (
        "import warnings\n"
        "from tritonclient_shim.notice.categories import TensorRTServerDeprecationWarning as W\n"
        f"warnings.simplefilter({action!r}, W)\n" + SCRIPT
    )
    done = run(tmp_path, text)
    assert (done.returncode, done.stdout) == ((0, "done\n") if action == "ignore" else (1, ""))
    assert (done.stderr == "") is (action == "ignore")


def test_all_notices_each_symbol_at_each_line(tmp_path: Path) -> None:
    """Mode ``all`` reports every line once, with successor, id and anchor."""
    text = (
        "from tensorrtserver.api import *\n"
        "for _ in range(3):\n"
        "    context = ServerHealthContext('localhost:1', 0)\n"
        "    ProtocolType.from_str('http')\n"
        "ProtocolType.from_str('http')\n"
    )
    done = run(tmp_path, text, TRITON_SHIM_WARNINGS="all")
    assert noticed(done.stderr) == [
        ("script.py:3", "TS020"),
        ("script.py:4", "TS011"),
        ("script.py:5", "TS011"),
    ]
    assert "tensorrtserver.api.ServerHealthContext is deprecated as of 1.15. Use " in done.stderr
    assert "tritonclient.grpc.InferenceServerClient(url) (gRPC) or " in done.stderr
    assert "[TS020] `tritonclient-shim guide health`" in done.stderr


def test_all_notices_usage_patterns(tmp_path: Path) -> None:
    """In mode ``all`` arguments that a v2 client takes differently have their own ids."""
    text = (
        "from tensorrtserver.api import *\n"
        "ServerHealthContext('http://localhost:1', 0, True, ['X-A: 1'])\n"
        "ServerHealthContext('localhost:1', 0, http_headers=[])\n"
    )
    done = run(tmp_path, text, TRITON_SHIM_WARNINGS="all")
    assert [id for place, id in noticed(done.stderr) if place.endswith(":2")] == [
        *("TS020", "TS101", "TS102", "TS103")
    ]
    assert [id for place, id in noticed(done.stderr) if place.endswith(":3")] == ["TS020"]
    assert "tensorrtserver.api.*Context(verbose=) is deprecated" in done.stderr


WRONG_DATATYPE = """\
import numpy as np
from tensorrtserver.api import *
from tritonclient_shim import testing

@testing.model(inputs=[("I", "INT32", [2])], outputs=[("O", "INT32", [2])], max_batch_size=8)
def echo(inputs):
    return {"O": inputs["I"]}

OUTPUTS = {"O": InferContext.ResultFormat.RAW}
with testing.server(echo=echo) as server:
    context = InferContext(server.grpc, ProtocolType.GRPC, "echo")
    for _ in range(3):
        context.run({"I": [np.ones(2, np.float32)]}, OUTPUTS)
    context.run({"I": [np.ones(2, np.int32)]}, OUTPUTS)
    request = context.async_run({"I": [np.ones(2, ">i4")]}, OUTPUTS)
    context.get_async_run_results(request, True)
"""


def test_arrays_of_another_datatype(tmp_path: Path) -> None:
    """In mode ``all``, arrays whose bytes an input misreads are reported once at each line."""
    done = run(tmp_path, WRONG_DATATYPE, TRITON_SHIM_WARNINGS="all")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "is INT32" in line]
    places = [os.path.basename(line.partition(CATEGORY)[0]) for line in lines]
    assert places == ["script.py:13", "script.py:15"]
    assert lines[0].endswith(
        "Input 'I' is INT32 and its array is float32: the server takes the bytes as they are. "
        "Convert the array: astype('int32'). tritonclient raises an error. "
        "`tritonclient-shim guide inference`"
    )
    assert "'I' is INT32 and its array is >i4" in lines[1]
    assert "is INT32" not in run(tmp_path, WRONG_DATATYPE).stderr


PLACES = {
    "subclass": (
        "from tensorrtserver.api import *\n"
        "class Mine(ServerHealthContext):\n"
        "    def __init__(self):\n"
        "        super().__init__('localhost:1', 0)\n"
        "Mine()\n",
        [4],
    ),
    "with": (
        "import tensorrtserver.api as api\n"
        "with api.ServerHealthContext('localhost:1', 0) as context:\n"
        "    context.get_last_request_id()\n",
        [2, 3],
    ),
    "executor": (
        "from tensorrtserver.api import *\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def make(url):\n"
        "    return ServerHealthContext(url, 0)\n"
        "with ThreadPoolExecutor(1) as pool:\n"
        "    pool.submit(make, 'localhost:1').result()\n",
        [4],
    ),
    "standard library between": (
        "from tensorrtserver.api import *\n"
        "from contextlib import closing\n"
        "import re\n"
        "re.sub('x', lambda match: ProtocolType.from_str('http').name, 'x')\n"
        "from functools import reduce\n"
        "with closing(ServerHealthContext('localhost:1', 0)) as context:\n"
        "    reduce(lambda a, b: context.get_last_request_id(), [1, 2])\n",
        [4, 6, 7],
    ),
    "star import of a star import": (
        "open('common.py', 'w').write('from tensorrtserver.api import *')\n"
        "import sys; sys.path.insert(0, '')\n"
        "from common import *\n"
        "ServerHealthContext('localhost:1', 0)\n",
        [4],
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_place_is_the_users(tmp_path: Path, name: str) -> None:
    """A notice has the user's file and line, through classes, ``with``, threads and callbacks."""
    text, lines = PLACES[name]
    done = run(tmp_path, text, TRITON_SHIM_WARNINGS="all")
    assert [place for place, _ in noticed(done.stderr)] == [f"script.py:{line}" for line in lines]


def test_a_method_that_a_thread_runs_directly(tmp_path: Path) -> None:
    """A use without any line of the user's is noticed too."""
    text = (
        "from tensorrtserver.api import *\n"
        "thread = threading.Thread(target=ProtocolType.from_str, args=('http',))\n"
        "thread.start()\nthread.join()\n"
    )
    done = run(tmp_path, text, TRITON_SHIM_WARNINGS="all")
    assert [id for _, id in noticed(done.stderr)] == ["TS011"]


def test_error_names_the_use(tmp_path: Path) -> None:
    """In mode ``error`` each use raises its own notice, not only the first."""
    text = (
        "from tensorrtserver.api import *\n"
        "for make in (lambda: ServerHealthContext('x', 0), lambda: ProtocolType.from_str('x')):\n"
        "    try:\n"
        "        make()\n"
        "    except DeprecationWarning as notice:\n"
        "        print(str(notice).split('[')[1][:5])\n"
    )
    done = run(tmp_path, text, TRITON_SHIM_WARNINGS="error")
    assert (done.stdout, done.stderr) == ("TS020\nTS011\n", "")


@pytest.mark.parametrize("mode", ["headline", "all"])
def test_options_of_the_user_win(tmp_path: Path, mode: str) -> None:
    """-W decides in every mode: it silences, and ``always`` repeats every use."""
    text = (
        "from tensorrtserver.api import *\nfor _ in range(3):\n    ProtocolType.from_str('http')\n"
    )
    silent = run(tmp_path, text, "-W", "ignore::DeprecationWarning", TRITON_SHIM_WARNINGS=mode)
    assert silent.stderr == ""
    loud = run(tmp_path, text, "-W", "always::DeprecationWarning", TRITON_SHIM_WARNINGS=mode)
    assert len(noticed(loud.stderr)) == {"headline": 1, "all": 3}[mode]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("WARNINGS", "loud", "'loud'; expected one of: headline"),
        ("REPORT", "x.html", "'x.html'; no report is written as .html; expected .txt, .json or no"),
        ("TLS", "maybe", "'maybe'; expected one of: auto"),
    ],
)
def test_an_unusable_variable(tmp_path: Path, variable: str, value: str, message: str) -> None:
    """An unusable variable raises SettingsError, and at most three of our frames are shown."""
    text = "from tensorrtserver.api import *\nServerHealthContext('localhost:1', 0)\n"
    done = run(tmp_path, text, **{f"TRITON_SHIM_{variable}": value})
    assert done.returncode == 1
    assert f"SettingsError: TRITON_SHIM_{variable} is {message}" in done.stderr
    assert done.stderr.count('  File "') <= 1 + 3

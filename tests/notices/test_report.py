"""The usage report of a process: ids, places and counts, in every format."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_scripts import python, shim
from tritonclient_shim.registry import ENTRIES

SCRIPT = """\
from tensorrtserver.api import *
for _ in range(3):
    context = ServerHealthContext("http://localhost:1", 0)
ProtocolType.from_str("http")
"""
EXPECTED = [("TS020", 3, 3), ("TS101", 3, 3), ("TS011", 4, 1)]


def report(folder: Path, text: str, *options: str, name: str = "usage.json") -> Any:
    """Run a script with a report. Return the finished process and the report's text."""
    (folder / "script.py").write_text(text)
    done = python(folder, *options, "script.py", TRITON_SHIM_REPORT=name)
    return done, (folder / name).read_text("utf-8")


def uses(text: str) -> list[tuple[str, int, int]]:
    """Return (id, line, count) of each use in a JSON report."""
    return [(use["id"], use["line"], use["count"]) for use in json.loads(text)["uses"]]


def test_json_tells_everything(tmp_path: Path) -> None:
    """Each use has symbol, place, count, successors and guide. `automatic` is unknown."""
    _, text = report(tmp_path, SCRIPT)
    assert uses(text) == EXPECTED
    first = json.loads(text)["uses"][0]
    entry = ENTRIES["TS020"]
    assert first["file"] == "script.py"
    assert (first["symbol"], first["automatic"]) == (entry.symbol, None)
    assert first["successors"] == {
        "grpc": entry.grpc,
        "http": entry.http,
        "pytriton": entry.pytriton,
    }
    assert first["guide"] == "tritonclient-shim guide health"


#: A background job of a shell ignores SIGINT, and so do its children by default.
INTERRUPT = (
    "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "os.kill(os.getpid(), signal.SIGINT)\n"
)


@pytest.mark.parametrize(
    ("end", "status"),
    [("raise RuntimeError('x')\n", 1), ("sys.exit(7)\n", 7), ("", 0), (INTERRUPT, -signal.SIGINT)],
    ids=["exception", "exit", "end", "Ctrl-C"],
)
def test_written_however_the_program_ends(tmp_path: Path, end: str, status: int) -> None:
    """After an exception, sys.exit or Ctrl-C, the report is written. The exit status is kept."""
    done, text = report(tmp_path, SCRIPT + end)
    assert done.returncode == status
    assert uses(text) == EXPECTED


def test_written_where_the_program_started(tmp_path: Path) -> None:
    """A relative path starts in the working directory of the first use."""
    done, text = report(tmp_path, SCRIPT + "os.chdir('/')\n")
    assert (done.returncode, uses(text)[0][1:]) == (0, (3, 3))


def test_threads_and_callbacks_are_counted(tmp_path: Path) -> None:
    """Uses of all threads are counted at their lines."""
    text = (
        "from tensorrtserver.api import *\n"
        "def work():\n"
        "    for _ in range(500):\n"
        "        ProtocolType.from_str('http')\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
    )
    assert uses(report(tmp_path, text)[1]) == [("TS011", 4, 2000)]


#: How a program starts another process that uses the old API, and what that process runs.
CHILD = "from tensorrtserver.api import *\nfor _ in range(5): ProtocolType.from_str('grpc')\n"
PROCESS = (
    "import multiprocessing, child\n"
    "if __name__ == '__main__':\n"
    "    process = multiprocessing.get_context('{}').Process(target=child.work)\n"
    "    process.start()\n"
    "    process.join()\n"
)
#: A child of spawn runs the main script again, under another name.
OWN_USE = "if __name__ == '__main__': ProtocolType.from_str('http')\n"
STARTS = {
    "fork": ("child = os.fork()\nif child: os.waitpid(child, 0)\nelse: import child\n"),
    "subprocess": "import subprocess\nsubprocess.run([sys.executable, 'child.py'])\n",
    "multiprocessing-fork": PROCESS.format("fork"),
    "multiprocessing-spawn": PROCESS.format("spawn"),
    "multiprocessing-forkserver": PROCESS.format("forkserver"),
}


@pytest.mark.parametrize("name", ["usage.json", "usage.txt"])
@pytest.mark.parametrize("own", [OWN_USE, ""], ids=["user", "launcher"])
@pytest.mark.parametrize("start", list(STARTS))
def test_processes_add_to_one_report(tmp_path: Path, start: str, own: str, name: str) -> None:
    """The uses of all processes are in one report, however a process starts and which is first."""
    body = CHILD
    if start.startswith("multiprocessing"):
        body = "from tensorrtserver.api import *\ndef work():\n"
        body += "    for _ in range(5): ProtocolType.from_str('grpc')\n"
    (tmp_path / "child.py").write_text(body)
    script = "import os, sys\nfrom tensorrtserver.api import *\n" + own + STARTS[start]
    (tmp_path / "script.py").write_text(script)
    done = python(tmp_path, "script.py", TRITON_SHIM_REPORT=name)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    (path,) = tmp_path.glob("usage*")
    content = path.read_text("utf-8")
    if name.endswith("txt"):
        assert re.findall(r" (once|\d+ times)$", content, re.M).count("5 times") == 1
        assert content.count("  once\n") == bool(own)
    else:
        assert sorted(use[2] for use in uses(content)) == ([1, 5] if own else [5])


def test_a_killed_process_has_reported_each_place(tmp_path: Path) -> None:
    """Places are in the report also of a process that ends by os._exit or a signal."""
    for end in ("os._exit(0)", "os.kill(os.getpid(), 9)"):
        _, text = report(tmp_path, SCRIPT + end + "\n", name="usage.json")
        assert [use[:2] for use in uses(text)] == [use[:2] for use in EXPECTED]


def test_processes_at_one_time(tmp_path: Path) -> None:
    """Ten processes that write at one time lose no use."""
    (tmp_path / "child.py").write_text(CHILD)
    script = (
        "import subprocess, sys\n"
        "children = [subprocess.Popen([sys.executable, 'child.py']) for _ in range(10)]\n"
        "sys.exit(sum(child.wait() for child in children))\n"
    )
    assert uses(report(tmp_path, script)[1]) == [("TS011", 2, 50)]


def test_a_file_that_is_no_report_is_kept(tmp_path: Path) -> None:
    """A file of somebody else's is not overwritten. stderr names it and what to do."""
    for name, content in (("usage.json", "{}"), ("usage.txt", "my notes")):
        (tmp_path / name).write_text(content)
        done, text = report(tmp_path, SCRIPT, name=name)
        assert text == content
        assert "something else than a usage report of this version" in done.stderr
        assert "delete it, or name another file" in done.stderr


def test_no_use_is_not_claimed(tmp_path: Path) -> None:
    """A process without uses writes no report: another process may have some."""
    (tmp_path / "script.py").write_text("print('nothing')\n")
    shim(tmp_path, "run", "script.py", TRITON_SHIM_REPORT="usage.txt")
    assert not (tmp_path / "usage.txt").exists()


def test_pid_in_the_path(tmp_path: Path) -> None:
    """With ``{pid}`` in the path, each process writes its own file."""
    (tmp_path / "script.py").write_text(SCRIPT)
    for _ in range(2):
        python(tmp_path, "script.py", TRITON_SHIM_REPORT="usage-{pid}.json")
    assert len(list(tmp_path.glob("usage-*.json"))) == 2


def test_off_by_default(tmp_path: Path) -> None:
    """Without the variable, no report is written, and its module is not imported."""
    (tmp_path / "script.py").write_text(
        SCRIPT + "print('tritonclient_shim.usage.report' in sys.modules)\n"
    )
    assert python(tmp_path, "script.py").stdout == "False\n"
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["script.py"]


def test_text_groups_by_symbol(tmp_path: Path) -> None:
    """Plain text groups successors and places by symbol. One notice is printed."""
    done, text = report(tmp_path, SCRIPT, name="usage.txt")
    assert done.stderr.count("TensorRTServerDeprecationWarning: ") == 1
    assert "TS011  tensorrtserver.api.ProtocolType.from_str  (1 call at 1 place)\n" in text
    assert "       instead: import tritonclient.grpc (gRPC) or " in text
    assert "       script.py:3  3 times\n" in text
    assert "       script.py:4  once\n" in text


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    """If the report cannot be written, stderr says so. The exit status stays."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = python(tmp_path, "script.py", TRITON_SHIM_REPORT="/nowhere/usage.txt")
    assert done.returncode == 0
    assert done.stderr.count("the usage report is lost: ") == 1

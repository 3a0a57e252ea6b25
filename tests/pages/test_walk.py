"""Ten tasks of a newcomer with a script of 2019, done only with commands of the pages.

Each test is a task. All share an environment and a folder. A test types only commands of a page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from testbed import TritonServer
from tests.installation import distributions
from tests.installation.environments import Environment
from tests.pages.blocks import environment, text

OLD = """\
import argparse
from functools import partial
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url', default='localhost:8001')
FLAGS = parser.parse_args()
protocol = ProtocolType.from_str('grpc')
context = ServerHealthContext(FLAGS.url, protocol)
result = (context.is_live(), context.is_ready())
print('health', *result)
ctx = InferContext(FLAGS.url, protocol, 'simple')
rows = [np.arange(16, dtype=np.int32)], [np.ones(16, dtype=np.int32)]
inputs = dict(zip(('INPUT0', 'INPUT1'), rows))
result = ctx.run(inputs, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)
print('sum', result['OUTPUT0'][0].sum())
done = threading.Event()
ctx.async_run(lambda ctx, id: done.set(), inputs, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)
print('done', done.wait(30))
"""
PRINTED = "health True True\nsum 136\ndone True\n"


class Walk(NamedTuple):
    """The newcomer's environment, the server, and the checkout."""

    place: Environment
    server: TritonServer
    checkout: Path

    @property
    def folder(self) -> Path:
        """Return the folder of the script."""
        return self.place.folder / "work"

    def type(self, page: str, command: str, status: int = 0) -> str:
        """Run a command of a page with this machine's addresses and paths. Return its output."""
        assert re.search(rf"(?:^|[ `$]){re.escape(command)}(?:$|[ `\n])", text(page), re.MULTILINE)
        instead = {
            "localhost:8001": self.server.grpc,
            "triton.example:8001": self.server.grpc,
            "HOST:PORT": self.server.grpc,
            "path/to/this/checkout": str(self.checkout),
            "./tritonclient-shim": str(self.checkout),
        }
        for word, here in instead.items():
            command = command.replace(word, here)
        done = self.place.run("sh", "-c", command)
        assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
        return f"{done.stdout}{done.stderr}"

    def write(self, script: str = OLD) -> str:
        """Write the script with the server's address, and return it."""
        script = script.replace("localhost:8001", self.server.grpc)
        (self.folder / "script.py").write_text(script, "utf-8")
        return script


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """Yield a Triton, and an environment after the commands of README's first screen."""
    folder = tmp_path_factory.mktemp("walk")
    checkout = distributions.checkout(folder / "checkout")
    with TritonServer.start(models=("simple",)) as server:
        walk = Walk(environment(folder / "environment"), server, checkout)
        walk.type("README.md", "pip uninstall -y tensorrtserver")
        walk.type("README.md", "pip install ./tritonclient-shim")
        yield walk


def test_1_install(walk: Walk) -> None:
    """After the first screen of README the doctor reports no error."""
    assert walk.type("docs/install.md", "tritonclient-shim doctor").startswith(
        "Nothing is wrong.\n"
    )


def test_2_run(walk: Walk) -> None:
    """The unchanged script runs, and prints one notice."""
    walk.write()
    printed = walk.type("README.md", "python script.py")
    assert PRINTED in printed and printed.count("TensorRTServerDeprecationWarning: ") == 1


def test_3_report(walk: Walk) -> None:
    """The variable of the guide's table writes a report."""
    walk.write()
    walk.type("migration_guide.md", "TRITON_SHIM_REPORT=usage.txt python script.py")
    report = (walk.folder / "usage.txt").read_text("utf-8")
    assert "TS051  tensorrtserver.api.InferContext.run  (1 call at 1 place)" in report


def test_4_scan(walk: Walk) -> None:
    """The scan lists the uses, and its last line names a command that works."""
    walk.write()
    printed = walk.type("docs/quickstart.md", "tritonclient-shim scan script.py", status=1)
    assert "script.py:15:10: TS051" in printed
    (command,) = re.findall(r"Next: `(.*?)`", printed)
    assert walk.place.succeed("sh", "-c", command).startswith("## ")


def test_5_fix_one_use(walk: Walk) -> None:
    """The guide's code for gRPC replaces the old code."""
    old = walk.write()
    section = walk.place.succeed("sh", "-c", "tritonclient-shim guide health")
    code = re.split(r"\n  \S.*\n", section)[2]  # behind the heading of tritonclient, gRPC
    code = re.sub("^    ", "", code, flags=re.MULTILINE).partition("\n\n")[0]
    (lines,) = re.findall(r"^context = .*\n.*\n", old, re.MULTILINE)
    new = old.replace(lines, f"import tritonclient.grpc as grpcclient\n{code}\n")
    walk.write(new)
    assert PRINTED in walk.type("README.md", "python script.py")
    printed = walk.type("docs/quickstart.md", "tritonclient-shim scan script.py", status=1)
    assert "TS021" not in printed and "TS051" in printed


def test_6_migrate(walk: Walk) -> None:
    """``migrate`` prints a diff, and says how to write it. The new script's output is equal."""
    walk.write()
    command = "tritonclient-shim migrate --to grpc script.py"
    assert "--write writes the changes" in walk.type("docs/migrate.md", command, status=1)
    walk.place.succeed("sh", "-c", f"{command} --write")
    assert walk.type("README.md", "python script.py") == PRINTED
    printed = walk.type("docs/quickstart.md", "tritonclient-shim scan script.py")
    assert printed.startswith("No use to report.")


def test_7_baseline(walk: Walk) -> None:
    """A baseline hides known uses. A new use is reported."""
    script = walk.write()
    (walk.folder / "src").mkdir()
    shutil.move(str(walk.folder / "script.py"), str(walk.folder / "src" / "script.py"))
    walk.type("docs/scan.md", "tritonclient-shim scan --write-baseline known.json src")
    known = "tritonclient-shim scan --baseline known.json src"
    walk.type("docs/scan.md", known)
    (walk.folder / "src" / "script.py").write_text(f"{script}ctx.get_last_request_id()\n", "utf-8")
    assert "1 place uses 1 legacy symbol" in walk.type("docs/scan.md", known, status=1)


def test_8_gateway(walk: Walk) -> None:
    """The page's commands start a gateway. Its first line names an address that replies."""
    install, start, *_ = re.findall(r"^\$ (.*)$", text("docs/gateway.md"), re.MULTILINE)
    walk.type("docs/gateway.md", install)
    start = start.replace("triton.example:8001", walk.server.grpc)
    ports = "--http 127.0.0.1:0 --grpc 127.0.0.1:0"  # v1's own may be taken here
    gateway: Any = subprocess.Popen(
        ["sh", "-c", f"exec {start} {ports}"],
        env={**os.environ, **walk.place.variables},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = gateway.stdout.readline()
        assert f"Triton answers at {walk.server.grpc}" in line
        (address,) = re.findall(r"http (\S+),", line)
        with urllib.request.urlopen(f"http://{address}/api/health/ready", timeout=30) as reply:
            assert reply.status == 200
    finally:
        gateway.terminate()
        gateway.wait(30)


def test_9_doctor(walk: Walk) -> None:
    """The doctor first reports the error, with a command that repairs it."""
    (walk.folder / "tensorrtserver.py").write_text("")
    command = "tritonclient-shim doctor"
    title, error, remedy, *_ = walk.type("docs/install.md", command, status=1).splitlines()
    assert title == "What is wrong" and "tensorrtserver.py is imported as" in error
    walk.place.succeed("sh", "-c", remedy.strip())
    assert walk.type("docs/install.md", command).startswith("Nothing is wrong.\n")
    address = "--url localhost:8001 --protocol grpc".replace("localhost:8001", walk.server.http)
    wrong = walk.place.run("sh", "-c", f"{command} {address}").stdout
    assert "is a server's HTTP port, and was to be asked over gRPC: give the script" in wrong


def test_10_find_an_error(walk: Walk) -> None:
    """``guide`` explains an error, for the whole text and for the quoted part."""
    walk.write(OLD.replace("localhost:8001", "localhost:1"))
    done = walk.place.run("sh", "-c", "python script.py")
    (error,) = re.findall(r"Exception: (.*)", done.stderr)
    quoted = walk.type("docs/faq.md", "tritonclient-shim guide 'Connect Failed'")
    assert "Nobody listens there." in quoted
    assert walk.place.succeed("tritonclient-shim", "guide", error) == quoted

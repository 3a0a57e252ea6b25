"""``tritonclient-shim run``: its report in a pipe and in files, and scripts that cannot connect."""

from __future__ import annotations

import shlex
import socket
from pathlib import Path

import pytest

from tests.cli.cli_scripts import shim
from tests.server.odd_servers import foreign_server
from tritonclient_shim.cli.run import connection_advice
from tritonclient_shim.core.errors import TransportError

TWICE = """\
from tensorrtserver.api import *
ProtocolType.from_str("grpc")
ProtocolType.from_str("http")
"""


def test_the_report_fits_a_pipe(tmp_path: Path) -> None:
    """A pipe gets plain lines: a line for each place, and a line for each symbol."""
    folder = "a_project_of_2019/with_folders/in_folders/and_yet_another_one"
    (tmp_path / folder).mkdir(parents=True)
    script = f"{folder}/a_script_with_a_long_name_of_its_own.py"
    (tmp_path / script).write_text(TWICE)
    lines = shim(tmp_path, "run", script, TRITON_SHIM_WARNINGS="off").stderr.splitlines()
    assert f"       {script}:2  once" in lines
    assert f"       {script}:3  once" in lines
    assert [line for line in lines if "ProtocolType.from_str" in line] == [
        "TS011  tensorrtserver.api.ProtocolType.from_str  (2 calls at 2 places)"
    ]
    assert not [line for line in lines if "│" in line]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nowhere/usage.txt", "there is no folder 'nowhere'"),
        ("usage.pdf", "no report is written as .pdf; expected .txt, .json or no ending"),
    ],
)
def test_a_report_that_cannot_be_written(tmp_path: Path, path: str, says: str) -> None:
    """A report that cannot be written is an error before the script runs."""
    (tmp_path / "old.py").write_text("print('it runs')\n")
    done = shim(tmp_path, "run", "old.py", TRITON_SHIM_REPORT=path)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "TRITON_SHIM_REPORT" in done.stderr
    assert "Traceback" not in done.stderr


CONNECTING = """\
import sys
from tensorrtserver.api import *
try:
    InferContext("127.0.0.1:{port}", ProtocolType.from_str("{protocol}"), "simple")
except InferenceServerException as error:
    {handler}
"""


@pytest.mark.parametrize("handler", ["raise", "sys.exit(str(error))"])
@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_script_that_cannot_connect_hears_of_doctor(
    tmp_path: Path, protocol: str, handler: str
) -> None:
    """The script ends as without the runner. The last line names a command that works."""
    with socket.socket() as taken:  # bound and not listening
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        text = CONNECTING.format(port=address[10:], protocol=protocol, handler=handler)
        (tmp_path / "script.py").write_text(text)
        done = shim(tmp_path, "run", "script.py")
        assert done.returncode == 1
        assert f"{protocol.upper()} client failed: " in done.stderr
        last = done.stderr.splitlines()[-1]
        advised = f"tritonclient-shim doctor --url HOST:PORT --protocol {protocol}"
        assert f"`{advised}`" in last
        command = shlex.split(advised.replace("HOST:PORT", address))
        assert f"{protocol.upper()} client failed: " in shim(tmp_path, *command[1:]).stdout


def test_who_is_no_triton_leads_to_doctor_as_well(tmp_path: Path) -> None:
    """A server that is no Triton gets the advice of ``doctor`` too."""
    with foreign_server() as foreign:
        port = foreign.url.rpartition(":")[2]
        text = CONNECTING.format(port=port, protocol="http", handler="raise")
        (tmp_path / "script.py").write_text(text)
        done = shim(tmp_path, "run", "script.py")
    assert "did not return status" in done.stderr
    assert "doctor --url HOST:PORT --protocol http" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(("status", "protocol"), [("StatusCode.UNAVAILABLE", "grpc"), ("", "http")])
def test_the_advice_does_not_depend_on_a_messages_words(status: str, protocol: str) -> None:
    """The error's status names the protocol of a failed connection. Its text does not matter."""
    advice = connection_advice(TransportError("any text", status))
    assert f"--protocol {protocol}`" in advice


@pytest.mark.parametrize("end", ["raise KeyError('x')", "sys.exit(3)", "pass"])
def test_other_ends_say_nothing_of_doctor(tmp_path: Path, end: str) -> None:
    """Other errors, and scripts that survive a failed connection, get no advice."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        text = CONNECTING.format(port=port, protocol="http", handler="pass")
        (tmp_path / "script.py").write_text(f"{text}{end}\n")
        done = shim(tmp_path, "run", "script.py")
    assert "doctor" not in done.stderr

"""What ``--to`` decides: only what the program chooses, and the report says for which client."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, migrated, run, todo
from tritonclient_shim.cli import main

_WAYS = {
    "function": "def is_ready(protocol):\n"
    "    return ServerHealthContext(sys.argv[1], protocol).is_ready()\n"
    "print(is_ready(ProtocolType.HTTP))\n",
    "default": "def is_ready(protocol=ProtocolType.HTTP):\n"
    "    return ServerHealthContext(sys.argv[1], protocol).is_ready()\n"
    "print(is_ready())\n",
    "text": "def is_ready(protocol):\n"
    "    return ServerHealthContext(sys.argv[1], protocol).is_ready()\n"
    "print(is_ready(ProtocolType.from_str('http')))\n",
    "object": "class Health:\n"
    "    def __init__(self, protocol):\n"
    "        self.protocol = protocol\n"
    "    def is_ready(self):\n"
    "        return ServerHealthContext(sys.argv[1], self.protocol).is_ready()\n"
    "print(Health(ProtocolType.HTTP).is_ready())\n",
    "variable": "protocol = ProtocolType.HTTP\n"
    "print(ServerHealthContext(sys.argv[1], protocol).is_ready())\n",
}


@pytest.mark.parametrize("way", _WAYS)
def test_written_protocol_stays(way: str, triton: TritonServer, tmp_path: Path) -> None:
    """A protocol that is written in the source stays, however it comes to its client."""
    script = tmp_path / "script.py"
    script.write_text(f"import sys\n{STAR}{_WAYS[way]}")
    before = run(script, triton.http)
    assert before.output == "True\n"
    assert main(["migrate", "--write", "--to", "grpc", str(script)]) == 0
    assert run(script, triton.http) == before


@pytest.mark.parametrize(("to", "label"), [("grpc", "gRPC"), ("http", "HTTP")])
def test_report_of_a_new_protocol(
    to: str, label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where ``--to`` decides, the report says so for each client, with its place."""
    script = tmp_path / "script.py"
    script.write_text(
        f"{STAR}ServerHealthContext('a:8000', ProtocolType.from_str(text)).is_live()\n"
        "ServerHealthContext('a:8000', ProtocolType.HTTP).is_live()\n"
        "ServerHealthContext('a:8001', ProtocolType.GRPC).is_live()\n"
    )
    main(["migrate", "--check", "--to", to, str(script)])
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if "check the address" in line]
    note = f"{to} client; it speaks {label} now: check the address"
    assert [line.partition("script.py:")[2] for line in told] == [f"2:1: TS020 rewritten: {note}"]


_OPTION = f"""import argparse
{STAR}parser = argparse.ArgumentParser()
parser.add_argument("--grpc", dest="protocol", action="store_const",
                    const=ProtocolType.GRPC, default=ProtocolType.HTTP)
args = parser.parse_args()
ServerHealthContext("u", args.protocol).is_live()
"""


def test_reason_of_a_protocol_that_an_option_chooses() -> None:
    """The reason names the option of the file that chooses the protocol, and what to do."""
    reasons = [outcome.what for _, outcome in migrated(_OPTION, unsafe=False).uses]
    expected = (
        "the option --grpc chooses the protocol, unseen at its use; write `ProtocolType.GRPC if … "
        "else ProtocolType.HTTP` there; --to grpc, --to http or --unsafe rewrites it"
    )
    assert expected in reasons
    written = _OPTION.replace(
        "args.protocol)", "ProtocolType.GRPC if args.x else ProtocolType.HTTP)"
    )
    option = 'dest="protocol", action="store_const",\n' + " " * 20
    option += "const=ProtocolType.GRPC, default=ProtocolType.HTTP"
    assert todo(migrated(written.replace(option, 'action="store_true"'), unsafe=False)) == []

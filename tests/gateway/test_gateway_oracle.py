"""The environment of the genuine client (tests/gateway/oracle.py)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.interpreters import Interpreter
from testbed.prerequisites import Facts, gather
from tests.gateway import oracle as genuine
from tests.gateway.oracle import NoOracle, OracleEnvironment

pytest_plugins = ["tests.gateway.gateway_fixtures"]


def machine(*versions: str) -> Facts:
    """A machine that has usable interpreters of these versions."""
    found = tuple(Interpreter(f"/usr/bin/python{one}", one, None) for one in versions)
    return replace(gather(), system="Linux", machine="x86_64", interpreters=found)


@pytest.mark.parametrize(
    ("present", "chosen"),
    [(("3.13", "3.11", "3.8"), "3.8"), (("3.12", "3.11"), "3.11"), (("3.7", "3.11"), "3.7")],
)
def test_choice(present: tuple[str, ...], chosen: str) -> None:
    """The interpreter of the client's time, or Debian 12's."""
    assert genuine.choose(machine(*present)).version == chosen


def test_no_interpreter() -> None:
    """Without one, the reason names what is needed and what was found."""
    with pytest.raises(NoOracle, match=r"needs Python 3\.8, 3\.7, 3\.11.*found: 3\.12, 3\.13"):
        genuine.choose(machine("3.12", "3.13"))


def test_ours_is_not_in_it(oracle: OracleEnvironment, tmp_path: object) -> None:
    """It has NVIDIA's client and nothing of this project."""
    script = f"{tmp_path}/look.py"
    with open(script, "w", encoding="utf-8") as file:
        file.write(
            "import importlib.util as u, tensorrtserver.api as a, pkg_resources as p\n"
            "print(p.get_distribution('tensorrtserver').version, a.__file__)\n"
            "print(u.find_spec('tritonclient_shim'), u.find_spec('tritonclient'))\n"
        )
    done = oracle.run(script)
    first, second = done.stdout.splitlines()
    assert first.startswith("1.11.0 ") and "site-packages" in first
    assert second == "None None"

"""For a missing, broken or too old dependency, the doctor prints commands that repair it."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from tests.installation import distributions
from tests.installation.environments import Environment, commands, top_level

pytestmark = pytest.mark.release  # an environment for each test

NEEDED = {
    "packaging": "packaging",
    "deprecation": "deprecation",
    "future": "future",
    "numpy": "numpy",
    "protobuf": "google",
    "grpcio": "grpc",
    "tritonclient": "tritonclient",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with wheels of our dependencies."""
    folder = tmp_path_factory.mktemp("index")
    for name in NEEDED:
        distributions.repacked(name, folder)
    return folder


def environment_without(folder: Path, wheel: Path, index: Path, *without: str) -> Environment:
    """Return an environment with our wheel, without some packages. The index has them for pip."""
    environment = Environment(folder / "environment", without)
    environment.variables = {"PIP_FIND_LINKS": str(index), "PIP_NO_INDEX": "1"}
    environment.install(str(wheel))
    return environment


def fake(environment: Environment, name: str, version: str, code: str) -> None:
    """Install a distribution of that version whose module runs the code."""
    module = environment.site / NEEDED[name] / "__init__.py"
    module.parent.mkdir()
    module.write_text(code, "utf-8")
    information = environment.site / f"{name}-{version}.dist-info"
    information.mkdir()
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (information / "METADATA").write_text(head, "utf-8")
    record = f"{NEEDED[name]}/__init__.py,,\n{information.name}/METADATA,,\n"
    (information / "RECORD").write_text(f"{record}{information.name}/RECORD,,\n", "utf-8")


def heal(environment: Environment, text: str) -> None:
    """Run the printed commands, and check that the doctor reports no error."""
    for command in commands(text):
        environment.succeed("sh", "-c", command)
    healed = environment.doctor()
    assert (healed.returncode, healed.stderr) == (0, ""), healed.stdout


def test_all_missing(tmp_path: Path, wheel: Path, index: Path) -> None:
    """In an environment without dependencies, all missing packages are reported at once."""
    environment = environment_without(tmp_path, wheel, index, *NEEDED)
    result = environment.doctor()
    assert (result.returncode, result.stderr) == (1, "")
    text = result.stdout
    assert [name for name in NEEDED if f"{name} is not installed" in text] == list(NEEDED)
    heal(environment, text)


FAILS = "is installed, but importing it fails ("


@pytest.mark.parametrize(
    ("name", "version", "code", "says"),
    [
        ("numpy", "", "raise RuntimeError('for another machine')", "RuntimeError: for another"),
        ("grpcio", "", "raise RuntimeError('for another machine')", "RuntimeError: for another"),
        ("packaging", "", "def broken(:", "SyntaxError: "),
        ("numpy", "1.2", "", "is too old: >="),
        ("tritonclient", "1.2", "", "is too old: >="),
    ],
)
def test_unusable(
    tmp_path: Path, wheel: Path, index: Path, name: str, version: str, code: str, says: str
) -> None:
    """A broken or too old package is reported with the reason and the command that replaces it."""
    environment = environment_without(tmp_path, wheel, index, name)
    present = version or metadata.version(name)
    fake(environment, name, present, code)
    result = environment.doctor()
    assert (result.returncode, result.stderr) == (1, "")
    assert f"{name} {present} {FAILS if code else says}" in result.stdout
    assert says in result.stdout
    heal(environment, result.stdout)


def test_the_extras_of_tritonclient(tmp_path: Path, wheel: Path, index: Path) -> None:
    """tritonclient without its extra [http] is reported with the command that adds it."""
    for name in ("geventhttpclient", "aiohttp"):
        distributions.repacked(name, index)
    environment = environment_without(tmp_path, wheel, index, "geventhttpclient")
    text = environment.doctor().stdout
    assert "importing it fails" in text
    assert not top_level("geventhttpclient") & {file.name for file in environment.site.iterdir()}
    heal(environment, text)


def test_a_server_is_not_asked_without_them(tmp_path: Path, wheel: Path, index: Path) -> None:
    """With a missing package, --url is reported as skipped."""
    environment = environment_without(tmp_path, wheel, index, "numpy")
    words = ("-m", "tritonclient_shim", "doctor", "--url", "127.0.0.1:1")
    result = environment.run(environment.python, *words)
    assert (result.returncode, result.stderr) == (1, "")
    assert "not asked, because of what is wrong" in result.stdout

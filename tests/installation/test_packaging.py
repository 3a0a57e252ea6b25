"""The distribution's contents, and its use beside NVIDIA's distribution of one folder."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tensorrtserver
from tests.installation import distributions
from tests.installation.environments import ROOT, Environment
from tritonclient_shim import __version__
from tritonclient_shim.cli import _installation as installation

# The files, besides its modules, that identify NVIDIA's wheel (docs/v1-behaviour.md §1.1).
NVIDIA = {
    "tensorrtserver/__init__.py": "",
    "tensorrtserver/api/__init__.py": "NVIDIA = True\n",
    "tensorrtserver/api/librequest.so": "not a library",
    "tensorrtserver-1.11.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: tensorrtserver\nVersion: 1.11.0\n"
    ),
    "tensorrtserver-1.11.0.dist-info/WHEEL": (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    ),
}


@pytest.fixture(scope="module")
def nvidia_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel with the names of NVIDIA's."""
    path = tmp_path_factory.mktemp("nvidia") / "tensorrtserver-1.11.0-py3-none-any.whl"
    record = "tensorrtserver-1.11.0.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in NVIDIA.items():
            archive.writestr(name, text)
        archive.writestr(record, "".join(f"{name},,\n" for name in (*NVIDIA, record)))
    return path


@pytest.mark.skipif("TOX_ENV_NAME" not in os.environ, reason="only tox installs the wheel")
@pytest.mark.smoke
def test_the_suite_runs_on_the_installed_package() -> None:
    """Under tox both packages come from the environment, not from the checkout."""

    for module in (tensorrtserver, installation):
        assert str(module.__file__).startswith(sys.prefix)


def test_wheel_holds_both_packages_and_nothing_else(wheel: Path) -> None:
    """The wheel has modules, type markers, .proto texts and the guide, and no tests or demo."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for package in ("tensorrtserver", "tritonclient_shim")
        for pattern in ("*.py", "*.pyi", "*.proto", "py.typed", "*.md")
        for path in (ROOT / package).rglob(pattern)
    }
    wanted.add("tensorrtserver.py")  # imported if the package has lost its files
    assert {"tensorrtserver/py.typed", "tritonclient_shim/py.typed"} <= inside
    assert inside == wanted


def test_building_leaves_nothing(tmp_path: Path) -> None:
    """``pip wheel`` writes the wheel, and no file into the checkout."""
    source = distributions.checkout(tmp_path / "source")
    before = sorted(source.rglob("*"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(tmp_path / "dist"), str(source)], check=True)
    assert sorted(source.rglob("*")) == before
    assert len(list((tmp_path / "dist").glob("*.whl"))) == 1


def test_metadata_asks_for_what_scripts_need(wheel: Path) -> None:
    """The wheel has name, version, Python, and as requirements tritonclient and `future`."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [item for item in archive.namelist() if item.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    assert (metadata["Name"], metadata["Version"]) == ("tritonclient-shim", __version__)
    assert metadata["Requires-Python"] == ">=3.8"
    required = [item for item in metadata.get_all("Requires-Dist") or [] if "extra" not in item]
    assert sorted(item.replace(" ", "").replace("(", "").replace(")", "") for item in required) == [
        "deprecation",
        "future",
        'gevent<=25.9.1;python_version=="3.9"',
        "numpy",
        "packaging",
        "protobuf>=3.20.2",
        'python-rapidjson<=1.20;python_version<"3.9"',
        "tritonclient[all]>=2.40",
    ]


@pytest.mark.release
def test_no_requirement_is_compiled(tmp_path: Path, wheel: Path) -> None:
    """On the running Python, pip takes every requirement that has compiled parts as a wheel."""
    report = tmp_path / "report.json"
    options = ("--quiet", "--dry-run", "--ignore-installed", "--report", str(report))
    command = [sys.executable, "-m", "pip", "install", *options, str(wheel)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    urls = [item["download_info"]["url"] for item in json.loads(report.read_text())["install"]]
    sources = [url for url in urls if not url.endswith(".whl")]
    assert len(urls) > 10 and sources == []


@pytest.mark.smoke
def test_ours_over_nvidias_refuses_to_import(
    tmp_path: Path, wheel: Path, nvidia_wheel: Path
) -> None:
    """Installed over NVIDIA's, the import fails with what is there and how to repair it."""
    environment = Environment(tmp_path / "environment")
    for path in (nvidia_wheel, wheel):
        environment.install("--no-index", str(path))
    done = environment.star_names()
    assert done.returncode == 1
    message = done.stderr.strip().split("ImportError: ")[-1]
    assert "tensorrtserver-1.11.0.dist-info" in message
    assert str(environment.site) in message
    assert "\n    rm -r " in message or "-m pip uninstall -y tensorrtserver" in message


def test_ours_alone_imports_and_has_no_error(tmp_path: Path, wheel: Path) -> None:
    """A clean installation imports, and the doctor finds no problem with it."""
    environment = Environment(tmp_path / "environment")
    environment.install("--no-index", str(wheel))
    code = "import tensorrtserver; from tritonclient_shim.cli._installation import errors"
    assert environment.succeed(environment.python, "-c", f"{code}; print([*errors()])") == "[]\n"


@pytest.mark.parametrize(
    ("name", "nvidias"),
    [
        ("tensorrtserver/api/libcrequest.so", True),
        ("tritonclient_shim-0.1.0.dist-info/METADATA", False),
        ("tensorrtserver_extras-1.0.dist-info/METADATA", False),
    ],
)
def test_files_of_nvidia(tmp_path: Path, name: str, nvidias: bool) -> None:
    """NVIDIA's libraries reveal its wheel without its metadata; similar names do not."""
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert installation.nvidia_files(str(tmp_path)) == [name] * nvidias

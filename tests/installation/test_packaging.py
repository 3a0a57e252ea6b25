"""The distribution's contents, and its use beside NVIDIA's distribution of one folder."""

from __future__ import annotations

import email
import glob
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tensorrtserver
from tritonclient_shim import __version__
from tritonclient_shim.cli import _installation as installation

ROOT = Path(__file__).resolve().parents[2]
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


def pip(*arguments: str) -> None:
    """Run pip, and show its output if it fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel under test: tox's, or a wheel of a copy of the checkout."""
    folder = os.environ.get("SHIM_WHEEL_DIR")
    if not folder:
        folder = str(tmp_path_factory.mktemp("wheel"))
        source = tmp_path_factory.mktemp("source")
        for name in ("tensorrtserver", "tritonclient_shim"):
            shutil.copytree(ROOT / name, source / name)
        for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "tensorrtserver.py"):
            shutil.copy(ROOT / name, source)
        pip("wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(source))
    (result,) = glob.glob(os.path.join(folder, "tritonclient_shim-*.whl"))
    return Path(result)


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


class Site:
    """A folder for pip's installations that, like site-packages, has files overwritten."""

    def __init__(self, prefix: Path) -> None:
        self._prefix = prefix

    def install(self, wheel: Path) -> None:
        pip("install", "--quiet", "--no-deps", "--no-index", "--ignore-installed",
            "--no-warn-script-location", "--prefix", str(self._prefix), str(wheel))  # fmt: skip

    @property
    def path(self) -> str:
        (result,) = glob.glob(str(self._prefix / "**" / "tensorrtserver"), recursive=True)
        return os.path.dirname(result)

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run code with this folder first on the import path."""
        code = f"import sys; sys.path.insert(0, {self.path!r})\n{code}"
        command = [sys.executable, "-I", "-c", code]
        return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return an empty Site."""
    return Site(tmp_path / "prefix")


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
        "numpy",
        "packaging",
        "protobuf>=3.20.2",
        "tritonclient[all]>=2.40",
    ]


@pytest.mark.smoke
def test_ours_over_nvidias_refuses_to_import(site: Site, wheel: Path, nvidia_wheel: Path) -> None:
    """Installed over NVIDIA's, the import fails with what is there and how to repair it."""
    site.install(nvidia_wheel)
    site.install(wheel)
    done = site.python("import tensorrtserver.api")
    assert done.returncode == 1
    message = done.stderr.strip().split("ImportError: ")[-1]
    assert "tensorrtserver-1.11.0.dist-info" in message
    assert site.path in message
    assert "\n    rm -r " in message or "-m pip uninstall -y tensorrtserver" in message


def test_ours_alone_imports_and_has_no_error(site: Site, wheel: Path) -> None:
    """A clean installation imports, and the doctor reports no problem with it."""
    site.install(wheel)
    done = site.python(
        "import tensorrtserver\n"
        "from tritonclient_shim.cli._installation import errors; print(list(errors()))"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_nvidias_elsewhere_on_the_path_is_no_mixture(tmp_path: Path) -> None:
    """A checkout before NVIDIA's wheel in another folder imports; neither has both."""
    for name in NVIDIA:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(NVIDIA[name])
    assert "tensorrtserver-1.11.0.dist-info" in installation.nvidia_files(str(tmp_path))
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(tmp_path)!r}]\n"
        "import tensorrtserver; print(tensorrtserver.__path__[0])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (str(ROOT / "tensorrtserver"), "")


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

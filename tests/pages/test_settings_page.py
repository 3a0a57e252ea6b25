"""docs/settings.md: its examples run unchanged."""

from __future__ import annotations

import re
from pathlib import Path

from testbed import TritonServer
from tests.cli.cli_scripts import python
from tests.pages.blocks import text

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", text("docs/settings.md"), re.M | re.S)
PYTHON = [code for kind, code in BLOCKS if kind == "python"]

_IRIS = """
from tritonclient_shim import configure

((_, iris),) = configure(models="models.json").models
print(iris.name, iris.max_batch_size, iris.outputs[1].labels)
"""


def test_every_block_is_tried_below() -> None:
    """A new example of the page needs a test."""
    assert [kind for kind, _ in BLOCKS] == ["python", "json", "python"]


def test_configure(tmp_path: Path) -> None:
    """The first call of the page returns the settings, if its file exists."""
    authorities = tmp_path / "triton-ca.pem"
    authorities.touch()
    code = PYTHON[0].replace("/etc/ssl/triton-ca.pem", str(authorities))
    (call,) = re.findall(r"tritonclient_shim\.configure\(.*\)", code)
    done = python(tmp_path, "-c", code.replace(call, f"print({call})"))
    assert done.returncode == 0, done.stderr
    assert "tls='on'" in done.stdout and str(authorities) in done.stdout


def test_models(tmp_path: Path) -> None:
    """The file of the page describes a model. A file beside it has the labels."""
    (document,) = [code for kind, code in BLOCKS if kind == "json"]
    (tmp_path / "models.json").write_text(document, "utf-8")
    (tmp_path / "iris.txt").write_text("setosa\nversicolor\nvirginica\n", "utf-8")
    done = python(tmp_path, "-c", _IRIS)
    assert done.stdout == "iris 64 ('setosa', 'versicolor', 'virginica')\n", done.stderr


def test_unwrap(tmp_path: Path) -> None:
    """The client behind a context has functions that the old API lacks."""
    with TritonServer.start(models=("simple",)) as server:
        code = PYTHON[1].replace("localhost:8001", server.grpc)
        done = python(tmp_path, "-c", code)
    assert (done.returncode, done.stdout) == (0, "['1']\n"), done.stderr

"""A context that another file of the program may have is left, or becomes an object for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import run
from tritonclient_shim.cli import main

_START = """import sys
import numpy as np
from tensorrtserver.api import *

row = np.arange(16, dtype=np.int32)
request = {"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW}
"""
_CONTEXT = 'InferContext(sys.argv[1], ProtocolType.GRPC, "simple")'
_ASK = "def ask(request):\n    print({}.run(*request)['OUTPUT0'][0].sum())\n"
#: How a file gives a context to the module ``other``, and what this module does with it.
GIVEN = {
    "attribute": (f"other.ctx = {_CONTEXT}\n", "ctx"),
    "annotated": (f"other.ctx: object = {_CONTEXT}\n", "ctx"),
    "setattr": (f"setattr(other, 'ctx', {_CONTEXT})\n", "ctx"),
    "target": (f"for other.ctx in [{_CONTEXT}]:\n    pass\n", "ctx"),
    "with": (f"with {_CONTEXT} as other.ctx:\n    other.ask(request)\n", "ctx"),
    "item": (f"other.ctx['x'] = {_CONTEXT}\n", "ctx['x']"),
    "imported": (f"from other import ctx\nctx['x'] = {_CONTEXT}\n", "ctx['x']"),
    "list": (f"other.ctx = [{_CONTEXT}]\n", "ctx[0]"),
    "item of list": (f"other.ctx['x'] = [{_CONTEXT}]\n", "ctx['x'][0]"),
    "lambda": (f"other.ctx = lambda: {_CONTEXT}\n", "ctx()"),
}
#: How a file makes a context, and what the other module reads.
READ = {
    "loop": (f"for ctx in [{_CONTEXT}]:\n    pass\n", "file.ctx"),
    "list": (f"contexts = []\ncontexts.append({_CONTEXT})\n", "file.contexts[0]"),
    "sum": (f"contexts = []\ncontexts += [{_CONTEXT}]\n", "file.contexts[0]"),
    "class": (f"class Model:\n    ctx = {_CONTEXT}\n", "file.Model.ctx"),
    "list of class": (f"class Model:\n    ctx = [{_CONTEXT}]\n", "file.Model.ctx[0]"),
    "lambda": (f"make = lambda: {_CONTEXT}\n", "file.make()"),
    "generator": (f"def make():\n    yield 1, {_CONTEXT}\n", "next(file.make())[1]"),
}


def _same(folder: Path, script: str, url: str, *options: str) -> None:
    """Migrate a program of two files. It prints before and after equal output."""
    texts = [path.read_text() for path in sorted(folder.glob("*.py"))]
    before = run(folder / script, url)
    assert before.status == 0, before.output
    main(["migrate", "--write", *options, str(folder)])
    if [path.read_text() for path in sorted(folder.glob("*.py"))] != texts:
        assert run(folder / script, url) == before


@pytest.mark.parametrize("options", [(), ("--unsafe",)], ids=["safe", "unsafe"])
@pytest.mark.parametrize("way", GIVEN)
def test_given(way: str, options: tuple[str, ...], triton: TritonServer, tmp_path: Path) -> None:
    """A context that a file puts into another module answers the requests of this module."""
    code, read = GIVEN[way]
    end = "" if way == "with" else "other.ask(request)\n"
    (tmp_path / "file.py").write_text(f"{_START}import other\n{code}{end}")
    (tmp_path / "other.py").write_text(f"ctx = {{}}\n{_ASK.format(read)}")
    _same(tmp_path, "file.py", triton.grpc, *options)


@pytest.mark.parametrize("options", [(), ("--unsafe",)], ids=["safe", "unsafe"])
@pytest.mark.parametrize("way", READ)
def test_read(way: str, options: tuple[str, ...], triton: TritonServer, tmp_path: Path) -> None:
    """A context that another module reads answers the requests of this module."""
    code, read = READ[way]
    (tmp_path / "file.py").write_text(_START + code)
    (tmp_path / "other.py").write_text(f"import file\n{_ASK.format(read)}ask(file.request)\n")
    _same(tmp_path, "other.py", triton.grpc, *options)

"""Names that are written into a module leave it by star imports: they hide no name elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migrate.sources_migrated import run
from tritonclient_shim.cli import main

_MODEL = """import threading

import numpy as np
from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType


def score(url, value):
    try:
        ctx = InferContext(url, ProtocolType.HTTP, "simple")
        return ctx.run({"INPUT0": [np.array([value])]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
    except InferenceServerException:
        return None
"""
_TOOLS = "io = infer = RAW = http_client = 'tools'\n"
_SHOW = "print(io, infer, http_client)\n"
#: What hides no name → the files of a program.
PROGRAMS = {
    "imports of the importer": {
        "tools.py": _TOOLS,
        "script.py": f"from tools import io, infer, http_client\nfrom model import *\n{_SHOW}",
    },
    "another star import of the importer": {
        "tools.py": _TOOLS,
        "script.py": f"from tools import *\nfrom model import *\n{_SHOW}",
    },
    "a star import behind another one": {
        "tools.py": "from inner import *\n",
        "inner.py": _TOOLS,
        "middle.py": "from model import *\n",
        "script.py": f"from tools import *\nfrom middle import *\n{_SHOW}",
    },
    "names that the importer gives to others": {
        "tools.py": _TOOLS,
        "middle.py": "from tools import *\nfrom model import *\n",
        "script.py": "import middle\nprint(middle.io, middle.infer, middle.http_client)\n",
    },
    "a variable of a function with the name": {
        "tools.py": _TOOLS,
        "script.py": "from tools import *\nfrom model import *\ndef show(io=1):\n    infer = io\n"
        f"show()\n{_SHOW}",
    },
    "another import of the name": {
        "script.py": "from os import path as io\nfrom time import time\nfrom model import *\n"
        "print(io.sep, time() > 0)\n",
    },
    "a star import of an unknown module": {
        "script.py": "import sys, types\nmade = sys.modules['made'] = types.ModuleType('made')\n"
        "made.io = made.infer = made.http_client = 'made'\n"
        f"from made import *\nfrom model import *\n{_SHOW}",
    },
    "names of a star import of the migrated file": {
        "names.py": _TOOLS,
        "model.py": _MODEL.replace("import numpy", "from names import *\nimport numpy"),
        "script.py": "import model\nprint(model.io, model.infer, model.http_client)\n",
    },
}


def _write(files: dict[str, str], folder: Path) -> None:
    """Write a module with a context, and the files beside it."""
    for name, text in {"model.py": _MODEL, **files}.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("program", PROGRAMS)
def test_names_of_other_files(program: str, tmp_path: Path) -> None:
    """A file that star-imports a migrated one keeps the names that it had."""
    _write(PROGRAMS[program], tmp_path)
    before = run(tmp_path / "script.py")
    assert before.status == 0, before.output
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    assert "tensorrtserver" not in (tmp_path / "model.py").read_text()
    assert run(tmp_path / "script.py") == before


def test_import_of_both_files(tmp_path: Path) -> None:
    """A name that an importer binds by the import that is written keeps its name."""
    _write({"script.py": "import io\nimport time\nfrom model import *\nprint(io)\n"}, tmp_path)
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    text = (tmp_path / "model.py").read_text()
    assert "import io\n" in text
    assert "io_" not in text


def test_names_without_a_star_import(tmp_path: Path) -> None:
    """Names of an importer without a star import change no name."""
    script = "from model import score\nfrom shutil import *\nio = infer = 1\nprint(io, infer)\n"
    _write({"script.py": script}, tmp_path)
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    assert "infer_" not in (tmp_path / "model.py").read_text()


def test_exception_of_both_files(tmp_path: Path) -> None:
    """v1's exception and what its star import binds keep their names in both files."""
    star = "from tensorrtserver.api import *\n"
    common = f"{star}{_MODEL.partition('ProtocolType')[2]}"
    script = (
        "from common import *\n"
        "try:\n    print(np.ones(2))\nexcept InferenceServerException:\n    pass\n"
    )
    _write({"common.py": common, "script.py": script}, tmp_path)
    before = run(tmp_path / "script.py")
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    text = (tmp_path / "common.py").read_text()
    assert " as np_" not in text
    assert "InferenceServerException_" not in text
    assert run(tmp_path / "script.py") == before

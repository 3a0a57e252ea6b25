"""Imports by a call, and NumPy from a star import of the program's own."""

from __future__ import annotations

import pytest

from tests.scan.scan_runs import STAR, Scanner

USES = 'c = api.InferContext("u", api.ProtocolType.GRPC, "m")\nc.run(i, o)\n'
CALLS = {
    "import_module": 'import importlib\napi = importlib.import_module("tensorrtserver.api")\n',
    "function": (
        'from importlib import import_module\napi = import_module("tensorrtserver.api")\n'
    ),
    "relative": (
        "from importlib import import_module\n"
        'api = import_module(".api", package="tensorrtserver")\n'
    ),
    "__import__": '\napi = __import__("tensorrtserver.api").api\n',
    "names": '\napi = __import__("tensorrtserver.api", fromlist=["InferContext"])\n',
}


@pytest.mark.parametrize("name", CALLS)
def test_import_by_a_call(scan: Scanner, name: str) -> None:
    """An import by a call is a use, and so is what the program takes from the module."""
    scan.write("a.py", CALLS[name] + USES)
    places = scan.places("a.py")
    assert places == ["a.py:2:TS009", "a.py:3:TS050", "a.py:3:TS010", "a.py:4:TS051"]


@pytest.mark.parametrize("name", CALLS)
def test_migrate_leaves_the_file(scan: Scanner, name: str) -> None:
    """`migrate` leaves a file that imports v1 by a call, with the reason."""
    path = scan.write("a.py", CALLS[name] + USES)
    done = scan.captured("migrate", "--write", "--unsafe", "a.py")
    assert done.status == 1
    assert "line 2 imports by a call; import v1 by a statement" in done.out
    assert path.read_text("utf-8") == CALLS[name] + USES


@pytest.mark.parametrize(
    "call", ['import_module("other.api")', "import_module(name)", "import_module()", "f(1)"]
)
def test_other_calls(scan: Scanner, call: str) -> None:
    """Imports of other modules, and of modules that are not known, are no uses."""
    scan.write("a.py", f"from importlib import import_module\n# tensorrtserver\n{call}\n")
    assert scan.places("a.py") == []


@pytest.mark.parametrize("own", ["import numpy as np\n", "import os, numpy as np\n"])
def test_numpy_of_the_program(scan: Scanner, own: str) -> None:
    """Removed names of NumPy are found where ``np`` comes from a star import of the program."""
    scan.write("common.py", own)
    scan.write("more.py", "from common import *\n")
    for module in ("common", "more"):
        scan.write("a.py", f"from {module} import *\nfrom tensorrtserver.api import *\nnp.bool\n")
        assert "a.py:3:TS201" in scan.places("a.py")
        scan.write("a.py", f"import tensorrtserver\nfrom {module} import *\nnp.bool, np.int8\n")
        assert scan.places("a.py") == ["a.py:1:TS009", "a.py:3:TS201"]


def test_other_np_of_the_program(scan: Scanner) -> None:
    """Another ``np`` of the program has no removed names."""
    scan.write("common.py", "import my as np\n")
    scan.write("a.py", f"from common import *\n{STAR.replace('*', 'InferContext')}np.bool\n")
    assert "a.py:3:TS201" not in scan.places("a.py")

"""New imports reuse the names that a file has, and stand where isort puts them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.migrate.sources_migrated import STAR, migrated
from tritonclient_shim.cli import main

_STATE = 'print(ServerHealthContext("u", ProtocolType.GRPC).is_live())\n'
_TRY = "try:\n    ask()\nexcept InferenceServerException:\n    pass\n"
_CONTEXT = 'InferContext("u", ProtocolType.GRPC, "simple")'
_REGION = (
    "handle = sm.create_shared_memory_region('n', '/k', 8)\n"
    "control = SharedMemoryControlContext('u', ProtocolType.GRPC)\n"
    "sm.set_shared_memory_region(handle, [row])\n"
    "control.register(handle)\ncontrol.unregister(handle)\n"
    "sm.destroy_shared_memory_region(handle)\n"
)


def test_module_whose_function_is_called_add() -> None:
    """A module is imported once, also where the file calls its function ``add``."""
    source = (
        f"import numpy as np\n{STAR}rows = [np.add(a, b)]\n"
        f"{_CONTEXT}.run({{'IN': rows}}, {{'OUT': InferContext.ResultFormat.RAW}}, 1)\n"
    )
    text = migrated(source).after.decode()
    assert "np_." not in text
    assert text.count("import numpy") == 1


def test_module_under_another_name() -> None:
    """A module that the file imports under another name is not imported twice."""
    source = f"{STAR}from tensorrtserver import shared_memory as sm\n{_REGION}"
    text = migrated(source, unsafe=True).after.decode()
    assert "tensorrtserver" not in text
    assert re.findall("shared_memory(?: as .*)?(?=\n)", text) == ["shared_memory as sm"]
    assert " shared_memory." not in text


def test_functions_that_call_a_module_by_another_name() -> None:
    """A function that is written for a module under another name is known in the next run."""
    source = f"{STAR}from tensorrtserver import shared_memory as sm\n{_REGION}"
    once = migrated(source).after.decode()
    more = f"from tensorrtserver import shared_memory as sm2\n{_REGION.replace('sm.', 'sm2.')}"
    again = migrated(f"{STAR}{once}{more}").after.decode()
    assert "raise sm.SharedMemoryException" in once
    assert again.count("def create_region") == 1


def test_name_of_a_module_that_a_function_has() -> None:
    """A name that a written function has for something else is not the name of a module there."""
    source = f"{STAR}from tensorrtserver import shared_memory as handle\n{_REGION}"
    text = migrated(source.replace("sm.", "handle.")).after.decode()
    assert "raise shared_memory.SharedMemoryException" in text


def test_import_that_goes_above_functions() -> None:
    """Functions in place of an import have two empty lines above."""
    source = (
        "import os\n\nfrom tensorrtserver.api import ProtocolType\n\n\n"
        "def protocol():\n    return ProtocolType.from_str(os.environ['P'])\n"
    )
    text = migrated(source).after.decode()
    assert text.startswith("import os\n\n\ndef protocol_name(")


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        (
            "",
            "import numpy as np\nfrom registry import ask\n"
            "from tritonclient.utils import InferenceServerException\n\ntry:",
        ),
        (
            "\n",
            "import numpy as np\nfrom tritonclient.utils import InferenceServerException\n\n"
            "from registry import ask\n\ntry:",
        ),
    ],
    ids=["among others", "below an empty line"],
)
def test_section_of_the_program(apart: str, expected: str, tmp_path: Path) -> None:
    """A module of the program keeps its section: that of others, or its own below an empty line."""
    (tmp_path / "registry.py").write_text("ask = print\n")
    jobs = tmp_path / "jobs.py"
    jobs.write_text(
        "import numpy as np\nfrom tensorrtserver.api import InferenceServerException\n"
        f"{apart}from registry import ask\n\n{_TRY}"
    )
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    assert jobs.read_text().startswith(expected)


def test_imports_beside_a_star_import_that_stays() -> None:
    """Only what v1's star import would bind anew is imported below it."""
    source = (
        f"import os\n\nimport numpy as np\n{STAR}\n"
        "ctx = ServerHealthContext('u', ProtocolType.GRPC)\nprint(ctx.is_live())\nctx = None\n"
        f"{_STATE}other = InferContext('u', PROTOCOL, 'm')\n"
        f"print(other.get_ready_async_request())\n{_TRY}"
    )
    text = migrated(source).after.decode()
    assert text.startswith(
        "import os\n\nimport numpy as np\nimport tritonclient.grpc as grpcclient\n"
        f"{STAR}from tritonclient.utils import InferenceServerException\n"
    )


def test_imports_beside_a_star_import_of_the_program(tmp_path: Path) -> None:
    """What a star import of the program cannot bind anew is imported in the order of isort."""
    (tmp_path / "common.py").write_text(
        f"{STAR}CLASS = InferContext.ResultFormat.CLASS\ndef ask(): return {_CONTEXT}\n"
    )
    (tmp_path / "main.py").write_text(f"from common import *\n\nprint(np.ones(2))\n{_TRY}")
    main(["migrate", "--write", str(tmp_path)])
    assert (tmp_path / "main.py").read_text() == (
        "import numpy as np\nfrom common import *\n"
        "from tritonclient.utils import InferenceServerException\n\n"
        f"print(np.ones(2))\n{_TRY}"
    )


def _reasons(source: str) -> dict[str, str]:
    """Return the reasons of the uses that stay, by ``line:id``."""
    uses = migrated(source).uses
    return {f"{row.line}:{row.entry.id}": outcome.what for row, outcome in uses if outcome.todo}


def test_import_that_a_test_reads() -> None:
    """The reason of an import names the line that tests its name, and what to do."""
    source = (
        "try:\n    import tensorrtserver.api as api\nexcept ImportError:\n    api = None\n\n"
        "def ask(u):\n    if api is None:\n        raise RuntimeError\n"
        "    print(api.ServerHealthContext(u, api.ProtocolType.GRPC).is_live())\n"
    )
    reason = "stays because line 7 tests `api`; remove the test, then run migrate again"
    assert _reasons(source) == {"2:TS009": reason}


def test_import_that_a_statement_reads() -> None:
    """The reason of an import names the line that reads its name."""
    source = f"import tensorrtserver.api as api\n{STAR}{_STATE}show(api)\n"
    reason = "stays because line 4 reads `api`; remove that, then run migrate again"
    assert _reasons(source) == {"1:TS009": reason}


def test_import_that_another_file_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reason of a star import names the file that has names of v1 from it."""
    (tmp_path / "model.py").write_text(f"{STAR}row = np.ones(2)\n")
    (tmp_path / "main.py").write_text(
        f"from model import *\nctx = {_CONTEXT}\nprint(ctx.get_ready_async_request())\n"
    )
    main(["migrate", str(tmp_path)])
    reason = "stays because main.py has `InferContext` from this file; rewrite it first"
    assert f"model.py:1:1: TS001 to do: {reason}\n" in capsys.readouterr().out


def test_protocol_that_goes_with_its_variable(tmp_path: Path) -> None:
    """v1's protocol by a literal name goes with the variable that nothing reads any more."""
    source = (
        f"{STAR}\ndef ask(u):\n    protocol = ProtocolType.from_str('HTTP')\n"
        "    return ServerHealthContext(u, protocol).is_live()\n"
    )
    (tmp_path / "main.py").write_text("import ask\n")
    (tmp_path / "ask.py").write_text(source)
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    assert "from_str" not in (tmp_path / "ask.py").read_text()
    (tmp_path / "ask.py").write_text(source.replace("'HTTP'", "'other'"))
    main(["migrate", "--write", "--to", "http", str(tmp_path)])
    assert "from_str" in (tmp_path / "ask.py").read_text()


def test_empty_line_above_imports_that_are_replaced() -> None:
    """An import that goes leaves the empty line above it to what follows it."""
    source = (
        "import os\n\nfrom tensorrtserver.api import ProtocolType, ServerHealthContext\n"
        "import tensorrtserver.api.server_status_pb2 as pb\n\n"
        'print(ServerHealthContext("u", ProtocolType.GRPC).is_live(), pb.MODEL_READY)\n'
    )
    text = migrated(source).after.decode()
    assert text.startswith("import os\n\nimport tritonclient.grpc as grpcclient\n\nMODEL_READY")
    unused = "import os\n\nfrom tensorrtserver.api import *\nimport sys\n\nprint(sys.path)\n"
    assert migrated(unused).after.decode() == "import os\n\nimport sys\n\nprint(sys.path)\n"

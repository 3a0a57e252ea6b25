"""What crosses the files of a program changes in all of them, or in none."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import run
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import migrate
from tritonclient_shim.migrate.options import MigrateOptions, State
from tritonclient_shim.migrate.program import Program

_API = "from tensorrtserver.api import *\n"
_CONTEXT = 'InferContext(sys.argv[1], ProtocolType.GRPC, "simple")'
_CLIENT = f"""import sys
from tensorrtserver.api import InferContext, ProtocolType

RAW = InferContext.ResultFormat.RAW

class Client:
    def __init__(self):
        self.ctx = self.connect()

    def connect(self):
        return {_CONTEXT}

    def ask(self, inputs, outputs):
        return self.ctx.run(inputs, outputs)
"""
_ROW = "row = np.arange(16, dtype=np.int32)\ninputs = {'INPUT0': [row], 'INPUT1': [row]}\n"
_SHOW = "{}['OUTPUT0'][0].sum()"
_MODULE = f"import sys\n{_API}RAW = InferContext.ResultFormat.RAW\nctx = {_CONTEXT}\n"
_RUN = f"print({_SHOW.format('ctx.run(inputs, outputs)')})\n"
_HANDLE = "{'INPUT0': handle, 'INPUT1': [row]}, {'OUTPUT0': RAW}"
_OUTPUTS = "outputs = {'OUTPUT0': RAW}\n"
_FORMAT = "RAW = InferContext.ResultFormat.RAW\n"
_FAKE = """
class Fake:
    def __init__(self, *arguments):
        pass

    def run(self, inputs, outputs):
        return {"OUTPUT0": [inputs["INPUT0"][0] * 3]}
"""
_NAMES = "ProtocolType, ServerHealthContext"
_IS_LIVE = "ServerHealthContext(sys.argv[1], 1).is_live()"
_NUMPY = f"import sys\nimport numpy as np\n{_ROW}"
_LIB = "import sys\nsys.path.append(sys.path[0] + '/lib')\n"
_ASK = f"def ask():\n    {_RUN}"
#: What a program is → its files.
PROGRAMS = {
    "an attribute in a variable of that name": {
        "client.py": _CLIENT,
        "script.py": f"{_NUMPY}from client import *\n{_OUTPUTS}ctx = Client().ctx\n{_RUN}",
    },
    "a variable of a module in a variable of that name": {
        "client.py": f"{_MODULE}def ask(): ctx.run({{}}, {{}})\n",
        "script.py": f"{_NUMPY}import client\nRAW = client.RAW\n{_OUTPUTS}ctx = client.ctx\n{_RUN}",
    },
    "a module in a folder of the path": {
        "lib/client.py": f"{_MODULE}def ask(): ctx.run({{}}, {{}})\n",
        "script.py": f"{_LIB}{_NUMPY}from client import ctx, RAW\n{_OUTPUTS}{_RUN}",
    },
    "v1's names through a module in a folder of the path": {
        "lib/common.py": f"import sys\n{_API}print({_IS_LIVE})\n",
        "script.py": (
            f"{_LIB}import numpy as np\n{_ROW}from common import *\nctx = {_CONTEXT}\n"
            f"{_FORMAT}{_OUTPUTS}{_RUN}try:\n    ctx.run(inputs, {{'x': RAW}})\n"
            "except InferenceServerException:\n    print('caught')\n"
        ),
    },
    "v1's names and a protocol through another module": {
        "lib/common.py": f"{_API}def protocol(): return ProtocolType.GRPC\n",
        "script.py": f"{_LIB}import numpy as np\n{_ROW}from common import *\n"
        "ctx = InferContext(sys.argv[1], protocol(), 'simple')\n"
        f"{_FORMAT}{_OUTPUTS}{_RUN}",
    },
    "folders of a package": {
        "app/__init__.py": "",
        "app/core/__init__.py": "",
        "app/core/client.py": _MODULE,
        "app/jobs/__init__.py": "",
        "app/jobs/job.py": f"{_NUMPY}from ..core import (\n  client,\n)\n{_API}{_FORMAT}{_OUTPUTS}"
        f"{_RUN.replace('ctx', 'client.ctx')}",
        "script.py": "import app.jobs.job\n",
    },
    "a module behind another one": {
        "client.py": f"{_MODULE}def ask(): ctx.run({{}}, {{}})\n",
        "middle.py": "from client import *\n",
        "script.py": f"{_NUMPY}import middle\nRAW = middle.RAW\n{_OUTPUTS}ctx = middle.ctx\n{_RUN}",
    },
    "a method that another file overrides": {
        "client.py": _CLIENT,
        "script.py": f"{_NUMPY}from client import *\n{_OUTPUTS}{_FAKE}"
        "class Mine(Client):\n    def connect(self):\n        return Fake()\n\n"
        f"for made in Client(), Mine():\n    print({_SHOW.format('made.ask(inputs, outputs)')})\n",
    },
    "a function that another file calls with its own object": {
        "client.py": f"{_MODULE}def ask(ctx, inputs, outputs):\n    {_RUN}"
        "def first(*tensors):\n    ask(ctx, *tensors)\n",
        "script.py": f"{_NUMPY}import client\n{_FAKE}outputs = {{'OUTPUT0': client.RAW}}\n"
        "client.first(inputs, outputs)\nclient.ask(Fake(), inputs, outputs)\n",
    },
    "a class that another file replaces": {
        "client.py": _CLIENT,
        "script.py": f"{_NUMPY}import client\n{_FAKE}outputs = {{'OUTPUT0': client.RAW}}\n"
        "client.InferContext = Fake\n"
        f"print({_SHOW.format('client.Client().ask(inputs, outputs)')})\n",
    },
    "a file that keeps a method that nothing succeeds": {
        "client.py": _CLIENT,
        "other.py": f"{_API}def fetch(ctx):\n    return ctx.get_ready_async_request(True)\n",
        "script.py": f"{_NUMPY}from client import *\nimport other\n{_OUTPUTS}ctx = Client().ctx\n"
        "id = ctx.async_run(inputs, outputs)\n"
        f"print({_SHOW.format('ctx.get_async_run_results(other.fetch(ctx))')})\n",
    },
    "a name in a text": {
        "client.py": f"import sys\nfrom tensorrtserver.api import {_NAMES}\n"
        f"def is_live():\n    return {_IS_LIVE}\n",
        "script.py": "import client\nprint(client.is_live())\n"
        "print(getattr(client, 'ProtocolType')(1) == 1)\n",
    },
    "an attribute of another module": {
        "client.py": f"{_NUMPY}{_API}ctx = None\n{_FORMAT}{_OUTPUTS}def ask():\n    {_RUN}",
        "script.py": f"import sys\n{_API}import client\nclient.ctx = {_CONTEXT}\nclient.ask()\n",
    },
    "an element of another module": {
        "contexts.py": "ALL = {}\n",
        "client.py": f"{_NUMPY}{_API}import contexts\n{_FORMAT}{_OUTPUTS}"
        f"def ask():\n    ctx = contexts.ALL['a']\n    {_RUN}",
        "script.py": f"import sys\n{_API}import client\nfrom contexts import ALL\n"
        f"ALL['a'] = {_CONTEXT}\nclient.ask()\n",
    },
    "a factory that stays": {
        "factory.py": f"{_API}def connect(url, protocol=None, **options):\n"
        "    return InferContext(url, protocol, 'simple', **options)\n",
        "script.py": f"{_NUMPY}from factory import *\n{_API}{_FORMAT}{_OUTPUTS}"
        f"ctx = connect(sys.argv[1], ProtocolType.GRPC, verbose=False)\n{_RUN}",
    },
    "a file that asks errors for their ids": {
        "lib/client.py": f"{_CLIENT}def ask(inputs):\n    ctx = {_CONTEXT}\n"
        "    return ctx.run(inputs, {'OUTPUT0': RAW})\n",
        "script.py": f"{_LIB}{_API}from client import ask\ntry:\n    ask({{'x': []}})\n"
        "except InferenceServerException as error:\n    print(error.server_id())\n",
    },
    "a handle of shared memory that another file makes": {
        "memory.py": "import os\nimport numpy as np\nimport tensorrtserver.shared_memory as shm\n\n"
        "def region(row):\n    name = f'several_files_{os.getpid()}'\n"
        "    handle = shm.create_shared_memory_region(name, f'/{name}', 64)\n"
        "    shm.set_shared_memory_region(handle, [row])\n    return handle\n\n"
        "def drop(handle):\n    shm.destroy_shared_memory_region(handle)\n",
        "script.py": f"{_NUMPY}{_API}import memory\nhandle = memory.region(row)\n"
        "regions = SharedMemoryControlContext(sys.argv[1], ProtocolType.GRPC)\n"
        f"regions.register(handle)\nctx = {_CONTEXT}\n{_FORMAT}"
        f"print({_SHOW.format(f'ctx.run({_HANDLE})')})\n"
        "regions.unregister(handle)\nmemory.drop(handle)\n",
    },
}


def _write(files: dict[str, str], folder: Path) -> None:
    """Write the files of a program."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_of_several_files(program: str, triton: TritonServer, tmp_path: Path) -> None:
    """A program of several files prints before and after equal output, also with --unsafe."""
    script = tmp_path / "script.py"
    _write(PROGRAMS[program], tmp_path)
    before = run(script, triton.grpc)
    assert before.status == 0, before.output
    for options in ([], ["--unsafe"]):
        _write(PROGRAMS[program], tmp_path)
        main(["migrate", "--write", *options, str(tmp_path)])
        assert run(script, triton.grpc) == before


def test_flags_are_numbers_as_before(tmp_path: Path) -> None:
    """Flags are numbers, as v1's were. So they are safe in a program of several files, too."""
    flags, script = tmp_path / "flags.py", tmp_path / "script.py"
    flags.write_text(f"{_API}def first():\n    return InferRequestHeader.FLAG_SEQUENCE_START\n")
    script.write_text("import flags\nprint(flags.first())\n")
    migration = migrate(
        str(flags), flags.read_bytes(), MigrateOptions(), Program([str(flags), str(script)])
    )
    assert "return FLAG_SEQUENCE_START" in migration.after.decode()
    assert {outcome.state for _, outcome in migration.uses} == {State.SAFE}


def test_import_that_no_importer_reads(tmp_path: Path) -> None:
    """A star import gives way to no name that importers import themselves."""
    use = "ServerHealthContext(u, ProtocolType.GRPC).is_live()"
    (tmp_path / "common.py").write_text(f"{_API}def ask(u):\n    return {use}\n")
    (tmp_path / "main.py").write_text(
        "from common import ask\nfrom tensorrtserver.api import InferenceServerException\n"
        "try:\n    ask('u')\nexcept InferenceServerException:\n    print(1)\n"
    )
    assert main(["migrate", "--write", str(tmp_path)]) == 0
    assert "InferenceServerException" not in (tmp_path / "common.py").read_text()
    assert "from tritonclient.utils import" in (tmp_path / "main.py").read_text()

"""Files with imports between their code, or in functions: what is written comes before its use."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import migrated, run, write

_STATUS = "ServerStatusContext(sys.argv[1], ProtocolType.HTTP)"
_CONFIG = (
    "ServerStatusContext(sys.argv[1], ProtocolType.HTTP, 'simple').get_server_status()"
    ".model_status['simple'].config.max_batch_size"
)
_REQUEST = """\
    row = numpy.arange(16, dtype=numpy.int32)
    ctx = InferContext(sys.argv[1], ProtocolType.HTTP, "simple")
    inputs = {"INPUT0": [row], "INPUT1": [row]}
    return ctx.run(inputs, {"OUTPUT0": InferContext.ResultFormat.RAW})["OUTPUT0"][0].sum()
"""
_IN_FUNCTION = (
    "    from tensorrtserver.api import InferContext, ProtocolType, ServerStatusContext\n"
)
PROGRAMS = {
    "in functions": (
        f"def size():\n    import sys\n{_IN_FUNCTION}    return {_CONFIG}\n\n"
        f"def total():\n    import sys\n    import numpy\n{_IN_FUNCTION}{_REQUEST}\n"
        "print(size())\nimport numpy as np\nprint(np.ones(3))\nprint(total())\n"
    ),
    "in a function and below": (
        f"def size():\n    import sys\n{_IN_FUNCTION}    return {_CONFIG}\n\n"
        "print(size())\nimport sys\nfrom tensorrtserver.api import *\nimport numpy as np\n"
        f"print(np.ones(3), {_STATUS}.get_server_status().ready_state)\n"
    ),
    "below the function": (
        "import sys\nimport numpy\n"
        f"def total():\n{_REQUEST}\n"
        "from tensorrtserver.api import *\nprint(total())\nimport numpy as np\nprint(np.ones(3))\n"
    ),
    "module of a function": (
        "import sys\nfrom tensorrtserver.api import ServerStatusContext, ProtocolType\n\n"
        f"def state():\n    return {_STATUS}.get_server_status().ready_state\n\n"
        "print(state())\nimport time\ntime.sleep(0)\n"
    ),
    "module of a star import": (
        "from tensorrtserver.api import *\n\n"
        f"def size():\n    print(np.ones(2), sys.argv[1] != '')\n    return {_CONFIG}\n\n"
        "print(size())\nimport sys\nimport numpy as np\nprint(np.ones(3))\n"
    ),
    "in a condition": (
        "if True:\n    import sys\n    from tensorrtserver.api import *\n"
        f"    print({_CONFIG})\nimport numpy\n\ndef total():\n{_REQUEST}\nprint(total())\n"
    ),
    "in a try": (
        "try:\n    import sys\n    from tensorrtserver.api import *\n    import numpy\n"
        "except ImportError:\n    numpy = None\n"
        f"def total():\n{_REQUEST}\nprint(total())\nimport numpy as np\nprint(np.ones(2))\n"
    ),
}


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_late_imports(name: str, unsafe: bool, triton: TritonServer, tmp_path: Path) -> None:
    """A program with imports between its code prints the same after migration."""
    script = tmp_path / "script.py"
    script.write_text(PROGRAMS[name])
    before = run(script, triton.http)
    assert before.status == 0, before.output
    write(migrated(PROGRAMS[name], unsafe=unsafe), script)
    assert run(script, triton.http) == before

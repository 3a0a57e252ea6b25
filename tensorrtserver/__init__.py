"""The retired TensorRT Inference Server (TRTIS v1) client, over tritonclient.

As in v1, this package binds no names: import ``tensorrtserver.api``,
``tensorrtserver.shared_memory`` or ``tensorrtserver.cuda_shared_memory``
(docs/v1-behaviour.md §1.1).

Docstrings cite the specification, which is in the repository and in the source distribution:
``docs/v1-behaviour.md`` for what v1 did, ``docs/v2-mapping.md`` for what a v2 server does.

Raises
------
ImportError
    NVIDIA's own ``tensorrtserver`` distribution is installed in the same folder, files of this
    package are missing, or this is a subinterpreter.
"""

import os as _os

from tritonclient_shim.core import installation as _installation

_installation.refuse_subinterpreters()
_site = _os.path.dirname(_os.path.abspath(__path__[0]))
_others = _installation.nvidia_files(_site)
if _others or _installation.has_lost_its_start(__path__[0]):
    from tritonclient_shim.cli import _installation as _doctor

    raise ImportError(_doctor.refusal(_site, _others))

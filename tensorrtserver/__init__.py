"""The retired TensorRT Inference Server (TRTIS v1) client, over tritonclient.

As in v1 nothing is bound here: import ``tensorrtserver.api``, ``tensorrtserver.shared_memory``
or ``tensorrtserver.cuda_shared_memory`` (v1 §1.1).

Raises
------
ImportError
    When NVIDIA's own ``tensorrtserver`` distribution is installed in the same folder.
"""

from tritonclient_shim import installation as _installation

_installation.refuse_mixture(__path__[0])

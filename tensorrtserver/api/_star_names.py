"""The names of other modules that v1's ``tensorrtserver.api`` bound (docs/v1-behaviour.md §1.2).

Scripts use ``sys``, ``os``, ``np``, ``struct``, all of ``ctypes`` and more without importing them:
``from tensorrtserver.api import *`` binds these names.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from tritonclient_shim.shm.star_names import STAR_NAMES

#: The names that v1's shared-memory modules bound as well, and two more.
NAMES: dict[str, Any] = {
    **STAR_NAMES,
    "sys": sys,
    "threading": threading,  # since 1.8
}

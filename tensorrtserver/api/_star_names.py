"""Names that v1's ``tensorrtserver.api`` bound besides its own (docs/v1-behaviour.md §1.2).

Scripts take ``sys``, ``os``, ``np``, ``struct``, all of ``ctypes`` and more from
``from tensorrtserver.api import *``. Every name here is one of those; none is ours.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from tritonclient_shim.shm.star_names import STAR_NAMES

#: What v1's other modules bound as well, and what the api module had on top.
NAMES: dict[str, Any] = {
    **STAR_NAMES,
    "sys": sys,
    "threading": threading,  # since 1.8
}

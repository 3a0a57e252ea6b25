"""A module that every Python process of the complete server environment imports at start-up.

PyTriton leaves shared-memory segments behind when it ends. It names them with our prefix. So the
supervisor removes the segments of its application only.
"""

import os
from multiprocessing import shared_memory

if "TESTBED_SHM_PREFIX" in os.environ:
    shared_memory._SHM_NAME_PREFIX = os.environ["TESTBED_SHM_PREFIX"]  # type: ignore[attr-defined]

"""Imported at start-up by every Python process of the complete server environment.

PyTriton leaves shared-memory segments behind when it ends. With a prefix of our own in their names
the supervisor can remove those of its application, and no others.
"""

import os
from multiprocessing import shared_memory

if "TESTBED_SHM_PREFIX" in os.environ:
    shared_memory._SHM_NAME_PREFIX = os.environ["TESTBED_SHM_PREFIX"]  # type: ignore[attr-defined]

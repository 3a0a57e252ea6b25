"""Shared-memory regions: system regions, CUDA regions, and the table of their handles.

``region``       the base class of regions, and the one exception of this package
``system``       POSIX shared memory with v1's semantics (docs/v1-behaviour.md §7.1)
``cuda``         CUDA IPC regions over tritonclient's module (docs/v1-behaviour.md §7.2,
                 docs/v2-mapping.md §8)
``handle_table`` handle (``ctypes.c_void_p``) → region
``star_names``   the other names that a star import binds (docs/v1-behaviour.md §7.3)
"""

"""Shared-memory regions: system regions, CUDA regions, and the table of their handles.

``region``     what a handle stands for, and the one error of this room
``system``     POSIX shared memory with v1's semantics (docs/v1-behaviour.md §7.1)
``cuda``       CUDA IPC regions over tritonclient's module (docs/v1-behaviour.md §7.2,
               docs/v2-mapping.md §8)
``registry``   handle (``ctypes.c_void_p``) → region
``arguments``  what v1's C signatures accepted, and how they refused the rest
``arrays``     ndarrays → the bytes that go into a region
``star_names`` what a star import of either module must bind besides (docs/v1-behaviour.md §7.3)
"""

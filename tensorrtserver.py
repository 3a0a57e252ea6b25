"""Refuses to be imported: Python imports this file only where our package is damaged.

The package is the folder ``tensorrtserver/`` beside this file; without its ``__init__.py``, Python
prefers this file. NVIDIA's retired distribution owns a folder of the same name, and when pip
uninstalls that, files of ours go as well. Without this module Python would take the remaining files
for an empty package, and ``from tensorrtserver.api import *`` would succeed and bind nothing.

Raises
------
ImportError
    Always, with the commands that repair the installation.
"""

import os as _os

from tritonclient_shim.cli import _installation as _doctor

raise ImportError(_doctor.refusal(_os.path.dirname(_os.path.abspath(__file__)), []))

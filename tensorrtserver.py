"""What Python imports where the folder ``tensorrtserver/`` beside this file has no ``__init__.py``.

NVIDIA's retired distribution owns a folder of the same name. When pip uninstalls it, files of ours
go with it, and without this module Python would take the rest for an empty package:
``from tensorrtserver.api import *`` would succeed and bind nothing.

Raises
------
ImportError
    Always, with the commands that put the package back.
"""

from tritonclient_shim.core import installation as _installation

_installation.refuse_remains(__file__)

"""``python -m tritonclient_shim COMMAND``: the same as ``tritonclient-shim COMMAND``."""

from __future__ import annotations

import sys

from tritonclient_shim.cli import main

sys.exit(main())

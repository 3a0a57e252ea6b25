"""Makes the oracle and the gateway's process importable, which live beside."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "gateway"))

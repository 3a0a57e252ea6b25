"""The demo's legacy scripts know nothing of this project. ``test_demo.py`` runs them on Triton."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from demo.programs import PROGRAMS

DEMO = Path(__file__).resolve().parents[2] / "demo"


@pytest.mark.parametrize("path", sorted((DEMO / "legacy").glob("*.py")), ids=lambda path: path.name)
def test_script_knows_nothing_of_us(path: Path) -> None:
    """The scripts import only modules of 2019, and the demo runs each script."""
    names = {
        (node.module or "." if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert names <= {
        *("argparse", "builtins", "functools", "grpc", "numpy", "queue", "Queue"),
        *("sys", "tensorrtserver"),
    }
    assert path.name in {program.script for program in PROGRAMS}

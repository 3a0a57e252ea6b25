"""A small repository of its own, with what a release reads and writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "tritonclient_shim/__init__.py": '"""Ours."""\n\n__version__ = "0.1.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## 0.0.9 (2026-01-02)\n\n- Begun.\n",
    "newsfragments/+begun.feature.md": "Works.\n",
    "README.md": "# Read [this](docs/a.md)\n",
    ".gitignore": "/dist/\n__pycache__/\n",
}


def git(root: Path, *arguments: str) -> str:
    """What git prints; it must succeed, and knows nobody's configuration."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *arguments]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **nobody}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def repository(root: Path) -> Path:
    """A repository with these files and the program that releases, all of it committed."""
    shutil.copytree(ROOT / "release", root / "release", ignore=shutil.ignore_patterns("*.pyc"))
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "Ann")
    git(root, "config", "user.email", "ann@example.invalid")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "All")
    return root


def release(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the repository's ``python -m release``."""
    command = [sys.executable, "-m", "release", *arguments]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    variables = {**kept, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=root, env=variables, capture_output=True, text=True, timeout=120
    )

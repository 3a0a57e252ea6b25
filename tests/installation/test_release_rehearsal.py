"""``scripts/release --dry-run`` rehearses a release in a clone of the tracked files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.release


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a clone of this checkout's latest commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("a release is made in a git repository, and this is an unpacked archive")
    clone = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return clone


def test_a_users_own_file_is_no_part_of_a_release(checkout: Path) -> None:
    """An untracked file does not fail a rehearsal, and is not in its archives."""
    (checkout / "notes.log").write_text("mine")
    command = [str(checkout / "scripts/release"), "9999.0", "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9999.0 can be released" in done.stderr
    assert (checkout / "notes.log").read_text() == "mine"

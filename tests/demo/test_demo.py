"""demo/run.py: its output on a first run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from demo.programs import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def output() -> str:
    """Return the output of the demo, which starts its own server."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_SHIM_")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "demo" / "run.py")],
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_it_shows_the_untouched_script_first(output: str) -> None:
    """The demo shows ten unchanged lines of the script, then its run."""
    before = output.partition("\n$ python")[0]
    shown = [line.partition("| ")[2] for line in before.splitlines() if "    | " in line]
    script = (ROOT / "demo" / "legacy" / "add_sub_client.py").read_text("utf-8")
    assert len(shown) == 10
    assert shown == [line for line in shown if line in script]
    assert any("infer_ctx.run(" in line for line in shown)


@pytest.mark.smoke
def test_a_result_per_feature_and_a_line_per_run(output: str) -> None:
    """Each feature prints a result, and each run prints a line with ``ok``."""
    runs = [line.split() for line in output.splitlines() if line.startswith("ok ")]
    expected = [
        (Path(program.script).stem, kind) for program in PROGRAMS for kind in program.protocols
    ]
    assert [(script, kind) for _, script, kind, _, _ in runs] == expected
    assert output.count("\n--- ") == len(PROGRAMS)
    assert "\n15 + 1 = 16\n" in output
    assert "\n    501 (l501) = 1.0\n" in output
    assert "()" not in output


def test_it_shows_the_notice_once_and_ends_with_what_to_do_next(output: str) -> None:
    """The notice of the first use is printed once. The last lines say what to do next."""
    assert output.count(": TensorRTServerDeprecationWarning: ") == 1
    assert f"pip install {ROOT}" in output.partition("What to do next")[2]


def test_interrupted() -> None:
    """Ctrl-C ends the demo with one line and status 130, also while a script runs."""
    # A background job of a shell ignores the signal. A new program begins without a handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        demo = subprocess.Popen(
            [sys.executable, str(ROOT / "demo" / "run.py")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert demo.stdout is not None
    while not demo.stdout.readline().startswith("--- "):
        assert demo.poll() is None
    os.killpg(demo.pid, signal.SIGINT)  # a terminal signals the scripts too
    _, errors = demo.communicate(timeout=60)
    assert errors == "demo: interrupted, and the server is stopped\n"
    assert demo.returncode == 130

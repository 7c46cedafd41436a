"""Ctrl-C, SIGTERM and SIGHUP end a command without a traceback, at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spnc.common.signals import tidying
from tests.interrupting import skip_if_ignored
from tests.places import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")

# As the command begins, but saying when it listens; a shell in the background ignores SIGINT.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from spnc.common import signals
signals.listen()
print("listening", flush=True)
from spnc.__main__ import main
sys.exit(main())
"""
SPEC = """
model: long
data: {source: builtin:digits, split: [0.8, 0.2, 0]}
forest: [{learner: extra-spn, count: 40, min_instances: 5}]
optimizer: {max_iterations: 100000, stop: none, patience: none}
"""


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own, and wait until it listens to signals."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "listening\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_any_moment_ends_a_training_cleanly(
    tmp_path: Path, number: signal.Signals
) -> None:
    """During imports, data, structure, compilation and training, by when it happens to come."""
    skip_if_ignored(number)
    (tmp_path / "long.yaml").write_text(SPEC)
    for i, delay in enumerate((0.0, 0.1, 0.4, 1.0, 2.5)):
        with start(tmp_path, "train", "long.yaml", "--quiet", "--out", f"run{i}") as process:
            time.sleep(delay)
            process.send_signal(number)
            _, shown = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "interrupted" in shown
        assert "Traceback" not in shown
        left = sorted(p.name for p in (tmp_path / f"run{i}").glob("*"))
        assert "in-use.json" not in left
        assert not left or "continue with: spnc" in shown


def output(script: str) -> tuple[int, str, str]:
    """Return what a script in a process of its own ends with and prints."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        timeout=30,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_second_signal_ends_at_once() -> None:
    script = "import time, signal, os; from spnc.common.signals import listen, tidying; listen()\n"
    script += "with tidying():\n"
    script += "  try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
    script += "  except KeyboardInterrupt: os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
    assert output(script) == (130, "", "interrupted\n")


def test_what_nohup_ignores_stays_ignored() -> None:
    script = "import signal, os; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    script += "from spnc.common.signals import listen, tidying; listen()\n"
    script += "with tidying(): os.kill(os.getpid(), signal.SIGHUP)\n"
    script += "print('alive')"
    assert output(script) == (0, "alive\n", "")


def test_in_a_program_that_imports_spnc_handlers_are_put_back() -> None:
    skip_if_ignored(signal.SIGHUP)
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(KeyboardInterrupt), tidying():
        os.kill(os.getpid(), signal.SIGHUP)
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before

"""Kill random workers of a cluster while it trains: the bits must be those of a calm run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scaling.processes import with_rows_encoded
from benchmarks.scaling.trained_apart import bits, trained_apart
from spnc.cluster.connection import connected
from spnc.common.rng import random_stream

KILLS = 5
_AGAIN = 0.2  # seconds until it is tried again
_QUIET_SHARE = 0.2  # of the undisturbed seconds, at the beginning and the end: no kills there


def measured(spec: Path, folder: Path) -> dict[str, Any]:
    """Train on two workers twice: undisturbed, and with workers killed at random moments.

    Workers that die are started again, as those of `dask worker` are.
    """
    environment = with_rows_encoded(spec, folder)
    with connected("local:2") as client:
        way = ("--cluster", client.scheduler.address)
        calm = trained_apart(spec, folder / "calm", *way, environment=environment)
        ended = threading.Event()
        done: list[float] = []
        hand = threading.Thread(
            target=_kill, args=(client, moments(calm.seconds), ended, done), daemon=True
        )
        hand.start()
        hurt = trained_apart(spec, folder / "hurt", *way, environment=environment)
        ended.set()
        hand.join()
    return {
        "kills": [round(moment, 1) for moment in done],
        "calm": {"bits": bits(folder / "calm"), **calm.to_json()},
        "hurt": {"bits": bits(folder / "hurt"), **hurt.to_json()},
    }


def moments(seconds: float) -> list[float]:
    """Return when workers are killed, in a training that takes this long undisturbed."""
    drawn = np.sort(random_stream(0, "kills").uniform(_QUIET_SHARE, 1.0 - _QUIET_SHARE, KILLS))
    return [float(share * seconds) for share in drawn]


def _kill(client: Any, planned: Sequence[float], ended: threading.Event, done: list[float]) -> None:
    """Kill a worker at each of these moments; note when."""
    began, rng = time.monotonic(), random_stream(0, "victims")
    for moment in planned:
        later = max(0.0, began + moment - time.monotonic())
        while not ended.wait(later):
            with suppress(OSError, ValueError):  # all workers are being started just now
                found = sorted(client.run(os.getpid).values())
                os.kill(found[int(rng.integers(len(found)))], signal.SIGKILL)
                done.append(time.monotonic() - began)
                break
            later = _AGAIN

"""What the benchmark and its workers say to each other: a line of JSON there, a line back.

A worker is a script that makes a `System` and calls `serve`. It is started once per circuit, in the
environment of what it measures, so this file imports nothing but NumPy and the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

LEAF, SUM = 0, 1  # the kinds of nodes in a circuit's file; 2 is a product
DOUBLE: Mapping[str, float] = {
    "loglik": 1e-6,
    "em": 1e-6,
}  # tolerances of what computes with 64 bits
SINGLE: Mapping[str, float] = {"loglik": 1e-5, "em": 1e-5}  # and with 32
Rows = NDArray[np.float64]
Circuit = dict[str, NDArray[Any]]


class System(Protocol):
    """A library that is measured, holding one circuit and one set of rows."""

    version: str
    # By kind of work: how far its mean log-likelihood may be from another's, relatively.
    tolerance: Mapping[str, float]

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Take over the circuit; what is to be reported besides the time that took."""
        ...

    def log_likelihood(self) -> float:
        """The mean log-likelihood of all rows, by one pass."""
        ...

    def restore(self) -> None:
        """The parameters as they were given; not timed."""
        ...

    def em(self) -> None:
        """One iteration of EM on all rows."""
        ...


class UnableError(Exception):
    """The library cannot do what was asked; the text says why."""


def node_children(circuit: Circuit, i: int) -> list[int]:
    """The children of a circuit's node."""
    start, end = circuit["starts"][i : i + 2].tolist()
    found: list[int] = circuit["children"][start:end].tolist()
    return found


def node_weights(circuit: Circuit, i: int) -> list[float]:
    """The weights of a sum's children."""
    start, end = circuit["starts"][i : i + 2].tolist()
    found: list[float] = circuit["weights"][start:end].tolist()
    return found


def serve(system: System) -> None:
    """Answer commands until the input ends."""
    answers = _own_stdout()
    _limit_memory()
    for line in sys.stdin:
        answers.write(json.dumps(answer(system, json.loads(line))) + "\n")
        answers.flush()


def answer(system: System, command: dict[str, Any]) -> dict[str, Any]:
    """The answer to a command; what a library raises is an answer too."""
    try:
        return _answer(system, command)
    except UnableError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "out of memory"}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {_first_line(error)}"}


def _answer(system: System, command: dict[str, Any]) -> dict[str, Any]:
    match command["do"]:
        case "build":
            with np.load(command["circuit"]) as arrays:
                circuit = dict(arrays.items())
            rows = np.load(command["rows"])
            began = time.perf_counter()
            told = system.build(circuit, rows)
            seconds = time.perf_counter() - began
            about = {
                "version": system.version,
                "tolerance": dict(system.tolerance),
                "seconds": seconds,
            }
            return {**about, **told, "peak_mb": peak_mb()}
        case "loglik":
            found: list[float] = []

            def one_pass() -> None:
                found.append(system.log_likelihood())

            spent = _timed(one_pass, command["fill"], system.restore)
            return {**spent, "mean": found[-1], "peak_mb": peak_mb()}
        case "em":
            # Always from the parameters given: so all repeats, and all systems, do the same.
            spent = _timed(system.em, command["fill"], system.restore)
            peak = peak_mb()
            mean = system.log_likelihood() if command["score"] else None
            system.restore()
            return {**spent, "mean": mean, "peak_mb": peak}
        case other:
            return {"error": f"no command is named {other}"}


def _timed(work: Callable[[], object], fill: float, before: Callable[[], None]) -> dict[str, float]:
    """The mean time of one piece of work, done again until `fill` seconds are spent on it.

    Also how many cores were busy with it: less than one says that others had them.
    """
    spent, cpu, times = 0.0, 0.0, 0
    while times == 0 or spent < fill:
        before()
        began, cpu_began = time.perf_counter(), time.process_time()
        work()
        spent += time.perf_counter() - began
        cpu += time.process_time() - cpu_began
        times += 1
    return {"seconds": spent / times, "cores": cpu / spent}


def peak_mb() -> float:
    """The most memory this process has held so far, in megabytes."""
    try:
        # Not getrusage where this exists: a process inherits the peak of the one that started it.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _own_stdout() -> TextIO:
    """Standard output for answers alone; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _limit_memory(share: float = 0.6) -> None:
    """A library that wants most of the machine's memory gets an error, not the machine."""
    try:
        import resource

        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_AS, (int(share * total), resource.RLIM_INFINITY))
    except (ImportError, ValueError, OSError):
        return  # a system without such limits


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "without a word"

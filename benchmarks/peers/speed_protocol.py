"""The protocol between benchmarks and their workers: one line of JSON each way.

A worker is a script that makes a `System` and calls `serve`. It is started once per circuit, in the
environment of the library it measures, so this file imports only NumPy and the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

LEAF, SUM, PRODUCT = 0, 1, 2  # kinds of nodes in a circuit's file

# How far a mean log-likelihood may differ from another system's, relatively: before training
# (`loglik`) and after one EM iteration (`em`), for libraries that compute in 64 and in 32 bits.
DOUBLE: Mapping[str, float] = {"loglik": 1e-6, "em": 1e-6}
SINGLE: Mapping[str, float] = {"loglik": 1e-5, "em": 1e-5}
Rows = NDArray[np.float64]
Circuit = dict[str, NDArray[Any]]


class System(Protocol):
    """A library that is measured, holding one circuit and one set of rows."""

    version: str
    tolerance: Mapping[str, float]

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Take the circuit and the rows; return what is to be reported besides the time."""
        ...

    def call(self) -> NDArray[Any]:
        """Return the log-likelihoods of all rows: the call that a user of the library makes.

        It begins with the NumPy array of rows and ends with a NumPy array.
        """
        ...

    def restore(self) -> None:
        """Set the parameters back to those of the circuit; not timed."""
        ...

    def em(self) -> None:
        """Run one iteration of EM on all rows."""
        ...


@runtime_checkable
class PreparingSystem(System, Protocol):
    """A library that prepares the rows once per training; `em` uses the prepared rows too."""

    def training_pass(self) -> float:
        """Return the mean log-likelihood of the prepared rows."""
        ...


class UnableError(Exception):
    """The library cannot do the work; the text says why."""


def node_children(circuit: Circuit, i: int) -> list[int]:
    """Return the children of node `i`."""
    start, end = circuit["starts"][i : i + 2].tolist()
    found: list[int] = circuit["children"][start:end].tolist()
    return found


def node_weights(circuit: Circuit, i: int) -> list[float]:
    """Return the weights of the children of sum `i`."""
    start, end = circuit["starts"][i : i + 2].tolist()
    found: list[float] = circuit["weights"][start:end].tolist()
    return found


def leaf_distribution(circuit: Circuit, i: int) -> str:
    """Return the name of the distribution of leaf `i`."""
    return str(circuit["distribution"][i])


def leaf_parameters(circuit: Circuit, i: int) -> list[float]:
    """Return the parameters of leaf `i`; `benchmarks.common.flat_circuit.Flat` says which."""
    start, end = circuit["parameter_starts"][i : i + 2].tolist()
    found: list[float] = circuit["parameters"][start:end].tolist()
    return found


def serve(system: System) -> None:
    """Reply to the commands of the speed benchmark until the input ends."""
    reply_by(lambda command: _answer(system, command))


def reply_by(answered: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Reply to commands by a function until the input ends."""
    answers = _own_stdout()
    _limit_memory()
    for line in sys.stdin:
        answers.write(json.dumps(attempt(answered, json.loads(line))) + "\n")
        answers.flush()


def answer(system: System, command: dict[str, Any]) -> dict[str, Any]:
    """Return the reply of a system to a command of the speed benchmark."""
    return attempt(lambda given: _answer(system, given), command)


def attempt(
    answered: Callable[[dict[str, Any]], dict[str, Any]], command: dict[str, Any]
) -> dict[str, Any]:
    """Return the reply to a command; an exception in the library becomes a reply, too."""
    try:
        return answered(command)
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
                "prepares": isinstance(system, PreparingSystem),
                "seconds": seconds,
            }
            return {**about, **told, "peak_mb": peak_mb()}
        case "call":
            spent, values = timed(system.call, command["fill"], system.restore)
            return {**spent, "mean": _mean(values), "peak_mb": peak_mb()}
        case "pass" if isinstance(system, PreparingSystem):
            spent, mean = timed(system.training_pass, command["fill"], system.restore)
            return {**spent, "mean": mean, "peak_mb": peak_mb()}
        case "em":
            # Always from the circuit's own parameters: all repeats and all systems do the same.
            spent, _ = timed(system.em, command["fill"], system.restore)
            peak = peak_mb()
            score = _mean(system.call()) if command["score"] else None
            system.restore()
            return {**spent, "mean": score, "peak_mb": peak}
        case other:
            return {"error": f"the command {other} is unknown"}


def _mean(values: NDArray[Any]) -> float:
    return float(np.asarray(values, dtype=np.float64).mean())


Found = TypeVar("Found")


def timed(
    work: Callable[[], Found], fill: float, before: Callable[[], None]
) -> tuple[dict[str, float], Found]:
    """Repeat the work for `fill` seconds, at least once; return its mean time and last result.

    `cores` is the number of cores that were busy with it: less than one means that other processes
    had them.
    """
    spent, cpu, times = 0.0, 0.0, 0
    while True:
        before()
        began, cpu_began = time.perf_counter(), time.process_time()
        found = work()
        spent += time.perf_counter() - began
        cpu += time.process_time() - cpu_began
        times += 1
        if spent >= fill:
            return {"seconds": spent / times, "cores": cpu / spent}, found


def peak_mb() -> float:
    """Return the peak memory of this process so far, in megabytes."""
    try:
        # Better than getrusage, where a process inherits the peak of the one that started it.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _own_stdout() -> TextIO:
    """Keep standard output for replies; send what libraries print to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _limit_memory(share: float = 0.6) -> None:
    """Let a library that wants most of the machine's memory fail instead of the machine."""
    try:
        import resource

        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_AS, (int(share * total), resource.RLIM_INFINITY))
    except (ImportError, ValueError, OSError):
        return  # the operating system has no such limit


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "no message"

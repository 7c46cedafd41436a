"""Damaged files given to their readers, in worker processes; counts what comes of them."""

from __future__ import annotations

import atexit
import multiprocessing
import random
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from benchmarks.attack.damage import damaged
from benchmarks.attack.victims import Victim, victims
from spnc.diagnostics import InputError

OUTCOMES = ("refused", "identical", "wrong", "crashed")
_BATCH = 250  # damages between two reports of progress
_EXAMPLES = 5  # of findings, for each file
_WORKERS = 2
_CASES: list[tuple[Victim, bytes, bytes]] = []  # of a worker: its victims, intact, with results

Say = Callable[[str], None]
Tally = dict[str, Any]


def attack(count: int, seed: int, say: Say) -> list[Tally]:
    """Damage files `count` times. Return a tally for every file and reader."""
    tallies: dict[tuple[str, str], Tally] = {}
    batches = [min(_BATCH, count - i) for i in range(0, count, _BATCH)]
    spawning = multiprocessing.get_context("spawn")
    done = 0
    with ProcessPoolExecutor(_WORKERS, spawning, initializer=open_worker) as pool:
        jobs = [pool.submit(damage_some, seed, i, n) for i, n in enumerate(batches)]
        for job in as_completed(jobs):
            try:
                found = job.result()
            except BrokenProcessPool as error:  # a reader ended the process
                tallies["a worker", ""] = {
                    **_tally("a worker", ""), "damaged": 1, "crashed": 1, "examples": [str(error)],
                }  # fmt: skip
                break
            for tally in found:
                _add(tallies, tally)
            done += sum(tally["damaged"] for tally in found)
            say(f"damage: {done:,} of {count:,} files")
    return sorted(tallies.values(), key=lambda t: (t["file"], t["reader"]))


def _tally(file: str, reader: str) -> Tally:
    counts = dict.fromkeys(("damaged", *OUTCOMES), 0)
    return {"file": file, "reader": reader, **counts, "examples": []}


def _add(tallies: dict[tuple[str, str], Tally], more: Tally) -> None:
    key = more["file"], more["reader"]
    own = tallies.setdefault(key, _tally(*key))
    for name in ("damaged", *OUTCOMES):
        own[name] += more[name]
    own["examples"] = (own["examples"] + more["examples"])[:_EXAMPLES]


def open_worker() -> None:
    """Make the runs whose files this process damages."""
    home = Path(tempfile.mkdtemp(prefix="spnc-damage-", dir=_in_memory()))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    _CASES.clear()
    for victim in victims(home):
        content = victim.path.read_bytes()
        _CASES.append((victim, content, victim.read(victim.folder)))


def _in_memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def damage_some(seed: int, batch: int, count: int) -> list[Tally]:
    """Damage some files. The first batch begins with every file of every other run."""
    own = random.Random(f"{seed}-{batch}")
    tallies: dict[tuple[str, str], Tally] = {}
    given = [(case, other) for case in _CASES for other in case[0].others] if batch == 0 else []
    weights = [victim.weight for victim, _, _ in _CASES]
    for case in own.choices(_CASES, weights, k=max(0, count - len(given))):
        given.append((case, damaged(case[1], own)))
    for (victim, content, wanted), changed in given[:count]:
        tally = _tally(victim.name, victim.reader)
        outcome, why = read_damaged(victim, content, wanted, changed)
        tally.update({"damaged": 1, outcome: 1})
        if why:
            tally["examples"] = [why]
        _add(tallies, tally)
    return list(tallies.values())


def read_damaged(victim: Victim, content: bytes, wanted: bytes, changed: bytes) -> tuple[str, str]:
    """Read a file with another content. Return what came of it, and why that is a finding."""
    victim.path.write_bytes(changed)
    try:
        found = victim.read(victim.folder)
    except InputError:
        return "refused", ""
    except Exception:
        return "crashed", f"{_shown(content, changed)}\n{traceback.format_exc(limit=-4)}"
    finally:
        victim.path.write_bytes(content)
    return ("identical", "") if found == wanted else ("wrong", _shown(content, changed))


def _shown(content: bytes, changed: bytes) -> str:
    """Return where a content differs first, and what is there."""
    pairs = enumerate(zip(content, changed, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(content), len(changed)))
    here, there = content[at : at + 40], changed[at : at + 40]
    return f"{len(content)} to {len(changed)} bytes, from {at}: {here!r} became {there!r}"


def totals(tallies: list[Tally]) -> Counter[str]:
    """Return the sums over all files."""
    found: Counter[str] = Counter()
    for tally in tallies:
        found.update({name: tally[name] for name in ("damaged", *OUTCOMES)})
    return found

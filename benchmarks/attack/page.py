"""The page of `benchmarks.faults`: tables from the record of a run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from benchmarks.attack.damaging import OUTCOMES, totals
from benchmarks.common.markdown import filled, table
from spnc.cli.output import table as text_table

Run = dict[str, Any]  # what faults.json holds
Part = tuple[str, str, Sequence[str], list[list[str]], int]  # title, text, head, rows, words

_KILLS = """`spnc train … --resume` is started, killed with SIGKILL at a random moment of the stage
that a training is named after, and started again until it ends. Its model and its lock file have
to have the bits of an undisturbed run; `--auto`, which tries what there is time for, has to choose
the best of its tries, lose none, and write a recipe that makes its model again. Redone: seconds per
kill that a run took longer than the undisturbed one, without starting Python. Checkpoints are half
a second apart, as these trainings take seconds; only the one with all stages keeps its work every
ten to thirty seconds, as users' trainings do, and each of its processes is killed after 40 seconds.
"""
_DAMAGE = """Every file of run folders, finished and unfinished, with a single bit changed (half of
all), other bytes, cut short, with bytes behind it, a block of zeros, two blocks exchanged, or taken
from another run. What reads it has to refuse it, or to give what the intact file gives. Compiled
code that is damaged counts as refused if it is compiled anew.
"""
_FUZZ = """Inputs made by `python -m tests.fuzz`, {how}, {seconds:g} seconds for each reader.
A finding is any exception but a diagnostic, a crash, more than ten seconds or two gigabytes, or an
accepted input that is not the same when it is written and read again.
"""
_MEMORY = """Files that stand for more than they hold, each given to a process of its own. Peak: the
largest resident size, libraries included, in megabytes.
"""
_KILLS_HEAD = (
    "training", "kills", "runs", "undisturbed s", "redone s", "at most", "other bits", "failed",
)  # fmt: skip
_DAMAGE_HEAD = ("file", "read by", "damaged", "refused", "identical", "other answer", "crashed")
_FUZZ_HEAD = ("reader", "inputs", "per second", "findings")
_MEMORY_HEAD = ("file", "kB", "s", "peak MB", "outcome")


def page(run: Run) -> str:
    """Return the page of a run in Markdown."""
    quick = " --quick" if run["quick"] else ""
    command = f"python -m benchmarks.faults{quick} --seed {run['seed']}"
    parts = [f"# Faults\n\nWritten by `{command}`.\n"]
    parts.append(f"{conditions(run)}\n\n{summary(run)}\n")
    for title, text, head, rows, words in _parts(run):
        parts += [f"## {title}\n\n{filled(text)}", table(head, rows, words)]
    notes = findings(run)
    parts += ["## Findings\n\n" + "\n".join(f"- {note}" for note in notes) + "\n"] if notes else []
    return "\n".join(parts)


def text(run: Run) -> str:
    """Return the tables of a run for a terminal."""
    parts = [text_table(head, rows, words) for _, _, head, rows, words in _parts(run)]
    return "\n\n".join([*parts, *findings(run), summary(run), conditions(run)])


def figures(run: Run) -> str:
    """Return the part of docs/promises.md with the figures of the recorded run."""
    return f"{summary(run)}\n\n{conditions(run)}\n"


def summary(run: Run) -> str:
    """Return the promises in one line each, with what was found."""
    lines = []
    if "kills" in run:
        kills, kinds = sum(r["kills"] for r in run["kills"]), len(run["kills"])
        other = sum(r["other_bits"] for r in run["kills"])
        lines.append(f"- {kills:,} kills of {kinds} kinds of training: {other} ended in other bits")
    if "damage" in run:
        found = totals(run["damage"])
        lines.append(
            f"- {found['damaged']:,} damaged files: {found['wrong']} other answers, "
            f"{found['crashed']} crashes"
        )
    if "fuzz" in run:
        readers = run["fuzz"]["readers"]
        inputs, wrong = (sum(r[key] for r in readers) for key in ("tried", "findings"))
        lines.append(f"- {inputs:,} fuzzed inputs to {len(readers)} readers: {wrong} findings")
    if "memory" in run:
        most = max(r["peak_mb"] for r in run["memory"])
        lines.append(
            f"- {len(run['memory'])} files that stand for more than they hold: "
            f"at most {most:,.0f} MB"
        )
    return "\n".join(lines)


def findings(run: Run) -> list[str]:
    """Return everything that must not happen, in words; no line if all promises hold."""
    said = [f"kills, {r['kind']}: {why}" for r in run.get("kills", ()) for why in r["problems"]]
    for tally in run.get("damage", ()):
        where = f"damage, {tally['file']}, {tally['reader']}"
        said += [f"{where}: {example}" for example in tally["examples"]]
    for record in run.get("fuzz", {}).get("readers", ()):
        if record["findings"]:
            said.append(f"fuzz, {record['reader']}: {record['findings']} findings")
    for record in run.get("memory", ()):
        if not record["fine"]:
            said.append(f"memory, {record['case']}: {record['outcome']}, {record['peak_mb']} MB")
    return said


def conditions(run: Run) -> str:
    """Return when and how the run was made."""
    kind = "short run" if run["quick"] else "run"
    return (
        f"Attacked in one {kind} on {run['cores']} cores in {run['seconds'] / 60:.0f} minutes; "
        f"the load before it was {run['load']:.1f}."
    )


def _parts(run: Run) -> list[Part]:
    parts: list[Part] = []
    if "kills" in run:
        parts.append(("Kills", _KILLS, _KILLS_HEAD, [_kills(r) for r in run["kills"]], 1))
    if "damage" in run:
        rows = [
            [t["file"], t["reader"], *(f"{t[name]:,}" for name in ("damaged", *OUTCOMES))]
            for t in run["damage"]
        ]
        parts.append(("Damaged files", _DAMAGE, _DAMAGE_HEAD, rows, 2))
    if "fuzz" in run:
        how = "guided by coverage" if run["fuzz"]["guided"] else "random mutations of seeds"
        words = _FUZZ.format(how=how, seconds=run["fuzz"]["seconds"])
        rows = [_fuzzed(r) for r in run["fuzz"]["readers"]]
        parts.append(("Fuzzed inputs", words, _FUZZ_HEAD, rows, 1))
    if "memory" in run:
        parts.append(("Memory", _MEMORY, _MEMORY_HEAD, [_memory(r) for r in run["memory"]], 1))
    return parts


def _kills(record: dict[str, Any]) -> list[str]:
    redone = [max(0.0, value) for value in record["redone_seconds"]]
    failed = len(record["problems"]) - record["other_bits"]
    return [
        record["kind"],
        f"{record['kills']}",
        f"{record['runs']}",
        f"{record['undisturbed_seconds']:.1f}",
        f"{mean(redone):.1f}" if redone else "–",
        f"{max(redone):.1f}" if redone else "–",
        f"{record['other_bits']}",
        f"{failed}",
    ]


def _fuzzed(record: dict[str, Any]) -> list[str]:
    speed = record["tried"] / record["seconds"] if record["seconds"] else 0.0
    return [
        record["reader"],
        f"{record['tried']:,}",
        f"{speed:,.0f}",
        f"{record['findings']}",
    ]


def _memory(record: dict[str, Any]) -> list[str]:
    size, seconds = f"{record['kilobytes']:,.1f}", f"{record['seconds']:.1f}"
    return [record["case"], size, seconds, f"{record['peak_mb']:,.0f}", record["outcome"]]

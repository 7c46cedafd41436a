"""Densities of the mixed tables, beside SPFlow, scikit-learn and independent columns.

    python -m benchmarks.tables [--tables a,b] [--systems x,y] [--seeds N] [--no-peers]
                                [--train-on plain,dequantised] [--budget TIME] [--hidden]
                                [--synthetic] [--fit] [--quick] [--page-only] [--results FOLDER]

The tables are those of `$SPNC_DATA/tables`, with their splits. Average test log-likelihoods are
measured on all columns and on the real ones alone. --hidden adds trainings with hidden cells,
--synthetic what sampled rows are worth to a classifier and whether a detector knows them, --fit how
far marginals are from test rows, with pictures. All choices are made on validation rows.

Each result is added to benchmarks/results/tables.json at once, so an interrupted run continues
where it stopped; results of another recipe (specs/best/table.yaml) or budget are measured again.
tables.md has the tables. If a peer fails, the others are measured, and the exit code is 1. --quick
takes one seed, three small tables and less time for everything, and writes to a temporary folder
unless --results names one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from benchmarks.common.density_tables import DensityTable, density_table
from benchmarks.common.hidden_tables import TARGETS
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS, SEEDS
from benchmarks.tabular import fit, spnc_models, synthetic, systems
from benchmarks.tabular.fit_picture import picture
from benchmarks.tabular.page import page
from benchmarks.tabular.record import Key, Record, Result
from benchmarks.tabular.systems import SHARES, SYSTEMS
from spnc.common.atomic import write_bytes, write_text

QUICK_TABLES = ("breast", "german", "student")
TRAINED_ON = ("plain", "dequantised")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, then write the page."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = _listed(parser, options.tables, QUICK_TABLES if options.quick else TARGETS, TARGETS)
    trained_on = _listed(parser, options.train_on, ("plain",), TRAINED_ON)
    named = _listed(parser, options.systems, (), SYSTEMS) if options.systems else None
    chosen = systems.chosen(named, peers=not options.no_peers, trained_on=trained_on)
    results: Path = options.results or (
        Path(tempfile.gettempdir()) / "spnc-tables-quick" if options.quick else RESULTS
    )
    record, steps = Record(results / "tables.json"), Steps()
    run = Run(options, record, results, steps)
    if not options.page_only:
        for name in names:
            run.table(density_table(name), chosen)
    shown = [name for name in TARGETS if (results / f"tables-{name}.png").is_file()]
    text = page(record, shown, spnc_models.fingerprint())
    write_text(results / "tables.md", text)
    print(text)
    print(f"{results / 'tables.md'}: {steps.done() / 60:.1f} min")
    for line in run.failed:
        print(line, file=sys.stderr)
    return 1 if run.failed else 0


class Run:
    """What one call of the benchmark measures."""

    def __init__(
        self, options: argparse.Namespace, record: Record, results: Path, steps: Steps
    ) -> None:
        self.options, self.record, self.results, self.steps = options, record, results, steps
        self.failed: list[str] = []  # what peers could not do
        self.seeds = 1 if options.quick else options.seeds
        self.budget = options.budget or (
            systems.QUICK_BUDGET if options.quick else spnc_models.BUDGET
        )

    def table(self, table: DensityTable, chosen: Sequence[str]) -> None:
        """Measure all parts of the benchmark on a table."""
        for part in ("all", "real", *(SHARES if self.options.hidden else ())):
            for system in chosen:
                if systems.applies(table, system, part):
                    self.density(table, system, part)
        if "spnc" in chosen and self.options.synthetic:
            self.once(
                Key(table.name, "synthetic", "spnc", 0),
                lambda: synthetic.measured(systems.model_of(table.name), table),
            )
        if "spnc" in chosen and self.options.fit and table.is_real.any():
            self.once(Key(table.name, "fit", "spnc", 0), partial(self.fitted, table))

    def density(self, table: DensityTable, system: str, part: str) -> None:
        """Measure a system on a part, with all seeds if it has some."""
        for seed in range(self.seeds if SYSTEMS[system].seeded else 1):
            work = partial(
                systems.measured,
                systems.part_of(table, part),
                system,
                seed,
                quick=self.options.quick,
                budget=self.budget,
            )
            self.once(Key(table.name, part, system, seed), work)

    def fitted(self, table: DensityTable) -> Result:
        """Return distances of marginals, and draw the picture."""
        model = systems.model_of(table.name)
        write_bytes(self.results / f"tables-{table.name}.png", picture(model, table))
        return fit.measured(model, table)

    def once(self, key: Key, work: Callable[[], Result]) -> None:
        """Measure and record what is not in the record yet; go on if a peer fails."""
        what = f"{key.table}, {key.part}: {key.system}, seed {key.seed}"
        self.steps.say(what)
        try:
            self.record.once(key, self.setting(key.system), work)
        except subprocess.CalledProcessError as error:
            self.failed.append(f"{what}: {error}")

    def setting(self, system: str) -> str:
        """Return what a system's results depend on besides the data and the seed."""
        kind = system.partition("-")[0]
        settings = {"spnc": spnc_models.fingerprint(), "auto": self.budget}
        if kind == "spflow" and self.options.quick:
            return "quick"
        return settings.get(kind, "")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--systems", help=f"of {', '.join(SYSTEMS)} (default: see --train-on)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"of the recipe ({SEEDS})")
    parser.add_argument(
        "--no-peers", action="store_true", help="measure neither SPFlow nor scikit-learn"
    )
    parser.add_argument(
        "--train-on", help="rows that spnc is trained on: plain, dequantised (default: plain)"
    )
    parser.add_argument("--budget", help=f"of `spnc train --auto` ({spnc_models.BUDGET})")
    parser.add_argument("--hidden", action="store_true", help="also train with hidden cells")
    parser.add_argument("--synthetic", action="store_true", help="also measure sampled rows")
    parser.add_argument("--fit", action="store_true", help="also measure and draw marginals")
    parser.add_argument("--quick", action="store_true", help="less of everything: a few minutes")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from the record; measure nothing"
    )
    parser.add_argument("--results", type=Path, help="the folder (benchmarks/results)")
    return parser


def _listed(
    parser: argparse.ArgumentParser,
    text: str | None,
    default: Collection[str],
    known: Collection[str],
) -> list[str]:
    """Return the names in a comma-separated option, or the default without it."""
    names = text.split(",") if text else list(default)
    for name in names:
        if name not in known:
            parser.error(f"`{name}` is not one of {', '.join(known)}")
    return names


if __name__ == "__main__":
    sys.exit(main())

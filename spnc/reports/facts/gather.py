"""Compute everything that the page about a run says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spnc.common.observer import Observer, Stage
from spnc.data.dataset import SPLITS, Dataset
from spnc.data.images import Shape
from spnc.data.table import Table
from spnc.program.program import Program
from spnc.queries.column_marginals import column_probabilities
from spnc.queries.discretise import cuts_by_rows, discretised_columns
from spnc.reports.facts.circuit import CircuitFacts, circuit_facts
from spnc.reports.facts.columns import ColumnsFit, columns_fit
from spnc.reports.facts.histograms import Histogram, cuts_of, density_curve, histograms_of
from spnc.reports.facts.pairs import Pairs, pairs_fit
from spnc.reports.facts.reading import Run
from spnc.reports.facts.rows import RowsFit, log_likelihoods, rows_fit, some_rows
from spnc.reports.facts.samples import Samples, samples_fit

# Edges times rows that take about ten seconds, and less than a minute, to compute.
FEW, MANY = 1_000_000_000, 4_000_000_000
LEAST_ROWS = 1_000
CURVES = 12  # numeric columns with a chart of their own
_PAIR_CELLS = 100_000_000_000  # rows times pairs of states, at most, to count pairs in the data


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts about a run; those that need its data are None without it."""

    run: Run
    shape: Shape | None  # of rows that are pictures
    circuit: CircuitFacts
    columns: ColumnsFit | None = None
    pairs: Pairs | None = None
    rows: RowsFit | None = None
    samples: Samples | None = None


def gather(run: Run, shape: Shape | None, observer: Observer) -> Facts:
    """Query the model and count the rows; the backend of the model computes."""
    model, recipe, dataset = run.model, run.recipe, run.dataset
    program = model.program
    components = None if recipe is None else sum(c.count for c in recipe.forest)
    draws = None if recipe is None else recipe.residual.draws
    pruned = run.metrics.prune is not None and run.metrics.prune.kept == "pruned"
    if dataset is None:
        observer.stage("looking at the circuit")
        found = circuit_facts(program, model.parameters, None, components, draws, pruned)
        return Facts(run, shape, found)

    observer.stage(Stage.PREPARING)
    model.backend.prepare(program, observer.progress)

    observer.stage("counting the flow")
    rows, _ = some_rows(dataset.train, row_limit(program, FEW), "flow")
    batch = model.engine.load(rows.distinct(), once=True)
    counts = model.engine.expected_counts(model.parameters, batch)
    circuit = circuit_facts(program, model.parameters, counts, components, draws, pruned)
    circuit = replace(circuit, rows=rows.rows, all_rows=dataset.train.rows)

    observer.stage("comparing columns")
    histograms = histograms_of(model, dataset.train)
    columns = _columns(run, dataset, histograms, observer)

    observer.stage("comparing pairs of columns")
    cuts = cuts_by_rows(model.columns, dataset.train)
    states = sum(c.states for c in discretised_columns(model.columns, cuts))
    rows, _ = some_rows(dataset.train, max(LEAST_ROWS, _PAIR_CELLS // states**2), "pairs")
    pairs = pairs_fit(model, rows, dataset.train.rows, observer.progress, cuts)

    observer.stage("looking for badly explained rows")
    options = None if recipe is None else recipe.data
    most = row_limit(program, MANY)
    worst = rows_fit(model, dataset, options, most, observer.progress, histograms)

    observer.stage("drawing samples")
    seed = run.metrics.seed
    samples = samples_fit(model, dataset, max(0, seed), cuts)
    return Facts(run, shape, circuit, columns, pairs, worst, samples)


def _columns(
    run: Run, dataset: Dataset, histograms: Mapping[int, Histogram], observer: Observer
) -> ColumnsFit:
    """Compare the columns; the numeric ones that differ most get the curve of the density."""
    model = run.model
    shares = list(column_probabilities(*model.discretised(cuts_of(histograms))))
    for i, histogram in histograms.items():
        shares[i] = histogram.shares(shares[i])
    possible = _possible(run, dataset, observer)
    tables = {name: dataset.in_memory(name) for name in dataset.splits}
    found = columns_fit(model.columns, shares, tables, possible, histograms)
    judged = [name for name in SPLITS if name in dataset.splits][-1]
    numeric = sorted(histograms, key=lambda i: -found.columns[i].observed[judged].divergence)
    curves = {i: density_curve(model, i, histograms[i]) for i in numeric[:CURVES]}
    columns = [replace(c, curve=curves.get(i)) for i, c in enumerate(found.columns)]
    return replace(found, columns=columns)


def _possible(run: Run, dataset: Dataset, observer: Observer) -> dict[str, Table]:
    """Return the possible rows of each split; leave out a split that is too large to search."""
    found = {}
    most = row_limit(run.model.program, MANY)
    for name in dataset.splits:
        table = dataset.in_memory(name)
        score = run.metrics.splits.get(name)
        if score is None or not score.impossible_rows:
            found[name] = table
        elif table.rows <= most:
            rows = np.isfinite(log_likelihoods(run.model, table, observer.progress))
            found[name] = table.take(rows)
    return found


def row_limit(program: Program, budget: int) -> int:
    """Return how many rows to compute at most, for a circuit of this size."""
    return max(LEAST_ROWS, budget // max(1, program.edges))

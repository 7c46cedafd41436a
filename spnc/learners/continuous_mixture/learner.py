"""A continuous mixture of Chow-Liu trees, compiled into a sum (Correia, Gala, Quaeghebeur, de
Campos & Peharz 2023, "Continuous Mixtures of Tractable Probabilistic Models").

A mixture of a thousand trees has too many parameters to be fitted freely to most tables. Here
every component stands at a point of a latent space, and one small network, the decoder, gives the
parameters of the tree at any point. Neighbouring components are alike, so that all rows help to
fit each of them. In the end the points are fixed, the network is discarded, and what remains is an
ordinary circuit: a sum over the points, each with its own Chow-Liu tree. The trees have the same
structure and share the indicator leaves that say which state a column has. A column of numbers is
a leaf of the tree, below a column of states or alone; the decoder gives the parameters of its
leaves.

All parameters are fitted when the learner is done. EM would treat them as free and overfit the
training rows; `max_iterations: 0` leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Literal

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.savepoints import (
    Piece,
    UnusableError,
    check_generator_state,
    generator_state,
    set_generator_state,
)
from spnc.data.binning import Binning
from spnc.data.columns import ColumnKind
from spnc.data.pairs import PairCounts, mutual_information, pair_counts
from spnc.diagnostics import Sink
from spnc.learners import LearningTask
from spnc.learners.continuous_mixture.association import association
from spnc.learners.continuous_mixture.batches import CodedRows
from spnc.learners.continuous_mixture.circuit import add_circuit
from spnc.learners.continuous_mixture.dealt_batches import DealtRows
from spnc.learners.continuous_mixture.decoded_leaves import has_coordinates
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.mixture_fit import (
    PHASES,
    DecoderSettings,
    MixtureFit,
    TreeMixture,
)
from spnc.learners.continuous_mixture.objective import quiet
from spnc.learners.continuous_mixture.plain_trees import PlainTrees
from spnc.learners.support.clustering import thread_pools
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.learners.support.trees import perturbed
from spnc.registry import LEARNERS, LEAVES, Conflict, Options, option
from spnc.registry.reads import Source

FIRST_FIT_DIVISOR = 4  # the first fit, for `given-latent`, takes this fraction of the steps
ASSOCIATION_NATS = 0.5  # mutual information that a small association stands for


@LEARNERS.register("continuous-mixture")
@dataclass(frozen=True, kw_only=True)
class ContinuousMixture(Options):
    """Chow-Liu trees at many points of a latent space, their parameters given by one network."""

    reads: ClassVar[tuple[Source, ...]] = ("pairs", "rows", "sample")

    ends_by_validation_rows: ClassVar[bool] = True  # keeps the best step on them

    points: int = option(1024, "how many trees the mixture has", min=1)
    latent: int = option(16, "the number of dimensions of the latent space", min=1, max=1024)
    width: int = option(64, "units of the first hidden layer; the second has twice as many", min=1)
    steps: int = option(1500, "how many gradient steps the network is fitted for", min=0)
    settling: int = option(
        300, "how many gradient steps the points and their weights are then fitted for", min=0
    )
    batch_rows: int = option(512, "rows in the mini-batch of a step", min=1)
    learning_rate: float = option(0.003, "the initial step size; it falls to zero", above=0)
    decay: float = option(0.3, "weight decay of the network", min=0)
    tree: Literal["plain", "given-latent"] = option(
        "given-latent",
        "which columns the trees join: those with the most mutual information, or those with the "
        "most association given the latent point, measured after a first, shorter fit",
    )
    noise: float = option(
        0.0,
        "the measure that the trees are chosen by is multiplied, for each pair of columns, by "
        "1 + noise · u, with u uniform in [-1, 1], so that the mixtures of a forest differ",
        min=0,
    )

    leaves: LeafOptions = option(LeafOptions(), "the distributions of leaves over numbers")

    def conflicts(self) -> Iterator[Conflict]:
        """Report leaves whose parameters no network can give."""
        kinds: tuple[ColumnKind, ...] = ("real", "count", "date")
        for kind in kinds:
            name = getattr(self.leaves, kind)
            if name in LEAVES and not has_coordinates(LEAVES[name]):
                yield Conflict(
                    "leaves",
                    f"`{name}` has no gradients, by which a network could learn its parameters",
                    f"name another leaf for {kind} columns, or give it the methods `coordinates`, "
                    "`from_coordinates` and `gradient`",
                )

    def learn(self, task: LearningTask) -> int | None:
        """Add a circuit over all columns. Return its root, or None after reporting a problem."""
        with thread_pools().limit(limits=1), quiet():
            tree, mixture = self._fitted(task, task.savepoints.load("fit"))
            logits, weights = mixture.logits(), mixture.weights()
        if not (np.isfinite(logits).all() and np.isfinite(weights).all()):
            self._report_divergence(task.sink)
            return None
        return add_circuit(task, tree, logits, weights)

    def _fitted(self, task: LearningTask, kept: Piece | None) -> tuple[LogLinearTree, TreeMixture]:
        """Return the tree, and the mixture fitted to it.

        `kept` is the state of the fit in which an earlier run was killed; raises `UnusableError` if
        it is not.
        """
        first = self.steps // FIRST_FIT_DIVISOR if self.tree == "given-latent" else 0
        pairs = task.pairs()
        affinity = mutual_information(pairs, task.smoothing.leaves)
        trees = PlainTrees(task, self.leaves, pairs)
        imputation, numbers = trees.tree(affinity, 1.0).imputation, bool(trees.numbers_at)
        complete = imputation.complete(task.table, task.rng)
        rows = CodedRows.of(complete, numbers)
        valid = None
        if task.valid is not None:
            valid = CodedRows.of(imputation.complete(task.valid, task.rng), numbers)
        fitted: CodedRows | DealtRows = rows
        if task.all_rows is not None:
            fitted = DealtRows(task.all_rows, imputation, task.deadline.check)
        fits = _Fits(task, trees, fitted, valid, first, first + self.steps + self.settling)
        if kept is not None:
            fits.check(kept)
        if first and (kept is None or kept.about["number"] == 0):
            settings = self.settings(steps=first, settling=0)
            tree, mixture = fits.run(0, settings, affinity, 0, kept)
            # The association is that of the rows that the mixture was fitted to.
            counted = complete is task.table and task.sums is None
            known: PairCounts | Binning | None = trees.ranges
            if known is None:
                known = pairs if counted else pair_counts(task.columns, complete)
            affinity, kept = association(tree, mixture, rows, known), None
        settings = self.settings(steps=self.steps, settling=self.settling)
        if kept is None:
            affinity = perturbed(affinity, self.noise, task.rng)
        return fits.run(1, settings, affinity, first, kept)

    def _report_divergence(self, sink: Sink) -> None:
        sink.error(
            "E228",
            "the network of a continuous mixture diverged: its weights are not finite",
            self.span_of("learning_rate"),
            notes=[f"learning_rate is {self.learning_rate:g}, decay is {self.decay:g}"],
            help="make `learning_rate` smaller, and keep its product with `decay` well below 1",
        )

    def settings(self, *, steps: int, settling: int) -> DecoderSettings:
        """Return the settings of the decoder with these numbers of steps."""
        return DecoderSettings(
            points=self.points,
            latent=self.latent,
            hidden=(self.width, 2 * self.width),
            steps=steps,
            settling=settling,
            batch_rows=self.batch_rows,
            rate=self.learning_rate,
            decay=self.decay,
        )


@dataclass(frozen=True, eq=False)
class _Fits:
    """What the first fit, which the trees are chosen by, and the second have in common."""

    task: LearningTask
    trees: PlainTrees
    rows: CodedRows | DealtRows
    valid: CodedRows | None
    first: int  # steps of the first fit; none if there is only the second
    steps: int  # of both

    def run(
        self,
        number: int,
        settings: DecoderSettings,
        affinity: Floats,
        before: int,
        kept: Piece | None,
    ) -> tuple[LogLinearTree, TreeMixture]:
        """Fit a mixture of the trees of most affinity, after `before` steps of another fit.

        Continue from a state that was `kept`.
        """
        task = self.task
        if kept is not None:
            affinity = kept.arrays["affinity"]
            set_generator_state(task.rng, kept.about["began"])
            before += kept.about["done"] + settings.steps * (kept.about["phase"] == PHASES[1])
        taken = count(1 + before)

        def step_taken() -> None:
            task.deadline.check()
            task.progress("steps", next(taken), self.steps)

        about = {"number": number, "began": generator_state(task.rng)}
        # In the first fit numbers have no parents: the points explain what they can.
        information = 1.0 if not self.first else ASSOCIATION_NATS if number else 0.0
        plain = self.trees.tree(affinity, information)
        fit = MixtureFit(
            settings,
            plain.tree,
            self.rows,
            self.valid,
            task.rng,
            step_taken,
            task.savepoints,
            Piece(about, {"affinity": affinity}),
        )
        return plain.tree, fit.run(plain.tables, kept)

    def check(self, kept: Piece) -> None:
        """Raise `UnusableError` if this cannot be a state of these fits."""
        width, numbers = len(self.task.columns), (0, 1) if self.first else (1,)
        try:
            about, affinity = kept.about, kept.arrays["affinity"]
            if about["number"] not in numbers or about["phase"] not in PHASES:
                raise ValueError("it is not a state of this mixture")
            if affinity.shape != (width, width) or type(about["done"]) is not int:
                raise ValueError("its arrays do not have the shapes of this mixture")
            check_generator_state(self.task.rng, about["began"])
        except (LookupError, TypeError, ValueError) as error:
            raise UnusableError(str(error) or type(error).__name__) from error

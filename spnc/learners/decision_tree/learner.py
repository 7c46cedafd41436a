"""A decision tree as a circuit (Correia, Peharz & de Campos 2020, "Joints in Random Forests").

A decision tree that predicts some columns (its outputs) from others (its inputs) divides the rows
into regions, one for each leaf. As a circuit:

- an inner node is a sum over its two sides, weighted by the training rows on either;
- a leaf is a product of one distribution per column. An output has the distribution of the rows in
  the leaf; an input has that of the whole column, given the values that the tests leave over;
- an input that no test below a node mentions has the same distribution in all leaves below it, so
  it is a factor of a product above that node: most of the columns are dealt with near the root.

With complete inputs one leaf of the tree is possible, and its outputs are the prediction of the
tree. If inputs are missing, the leaves that remain possible are weighted by their probabilities.

In a forest, each tree counts by how probable it makes the inputs. Because the inputs have the same
distributions in all trees, apart from the tests, trees differ little in this, and the forest
predicts nearly as a random forest does: by the mean over trees. With a distribution of each leaf's
own (`input_prior`), the rows are described better, but few trees decide. Log-loss of a column in a
prototype with binned numbers, 200 trees, five folds of the rows that are not for testing; and a
random forest of scikit-learn:

    pseudo-rows for inputs      student         german          australian
    3                           .756            .533            .275
    30                          .708            .504            .260
    1,000                       .694            .502            .260
    a random forest             .712            .503            .277

Trees differ by the rows that they are grown on, drawn with replacement, and by the inputs that are
looked at for each test. All training rows then count in their leaves, so no leaf is sure of itself
because of rows that its tests were chosen for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spnc.data.dataset import Dataset
from spnc.data.targets import report_unknown_targets, target_conflicts
from spnc.diagnostics import Sink
from spnc.learners import LearningTask
from spnc.learners.decision_tree.known_columns import KnownColumns
from spnc.learners.decision_tree.tree_circuit import TreeCircuit
from spnc.learners.decision_tree.tree_growth import Input, Tree, grow_tree
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.registry import LEARNERS, Conflict, Options, option


@LEARNERS.register("decision-tree")
@dataclass(frozen=True, kw_only=True)
class DecisionTree(Options):
    """A decision tree: sums over the sides of its tests, products of columns as its leaves."""

    target: tuple[str, ...] | None = option(
        None, "the column that the tree predicts, or a list of them; none: a random part of all"
    )
    outputs: float | None = option(
        0.5, "without `target`, the share of columns that a tree predicts from the rest", above=0,
        below=1,
    )  # fmt: skip
    min_instances: int = option(
        5, "the least number of different rows in a leaf, of those the tree is grown on", min=1
    )
    features: float = option(
        0.5, "the share of the inputs that is looked at for each test", above=0, max=1
    )
    cuts: int = option(64, "at most how many thresholds are considered for a number", min=1)
    prior: float = option(
        0.5, "pseudo-rows of the whole column in the distribution of an output in a leaf", min=0
    )
    input_prior: float | None = option(
        None,
        "pseudo-rows of the whole column, given the tests, in the distribution of an input in a "
        "leaf; none: nothing but these",
        min=0,
    )
    leaves: LeafOptions = option(
        LeafOptions(real="gaussian", date="gaussian"),
        "the distributions of outputs that are numbers",
    )

    def __post_init__(self) -> None:
        """Drop the default of `outputs` if a target is given."""
        if self.target is not None and "outputs" not in self.spans:
            object.__setattr__(self, "outputs", None)

    def conflicts(self) -> Iterator[Conflict]:
        """Report a target without columns or with one twice, and both or none of two options."""
        if self.target is not None and self.outputs is not None:
            yield Conflict(
                "outputs", "`target` and `outputs` exclude each other", "drop one of them"
            )
        if self.target is None and self.outputs is None:
            yield Conflict(
                "outputs",
                "neither `target` nor `outputs` is given",
                "name the column to predict, or the share of columns to draw",
            )
        if self.target is not None:
            yield from target_conflicts(self.target)

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report target columns that the model does not have."""
        if dataset is not None and self.target is not None:
            report_unknown_targets(self.target, dataset, self.span_of("target"), sink)

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns. Return its root."""
        table, known = task.table, KnownColumns.of(task, self.cuts)
        outputs = self._outputs(task)
        inputs = [
            Input.of(column, i, table.column(i), known.cuts[i], task.rng)
            for i, column in enumerate(task.columns)
            if i not in outputs and known.varies[i]
        ]
        predicted = [known.standardised(i, table) for i in outputs if known.varies[i]]
        own = dict.fromkeys(outputs, self.prior)
        if self.input_prior is not None:
            own = dict.fromkeys(range(len(task.columns)), self.input_prior) | own
        if not inputs or not predicted:
            tree = Tree.without_tests(table.rows)
        else:
            tree = grow_tree(inputs, predicted, table, self.min_instances, self.features, task.rng)
        return TreeCircuit(task, known, tree, own, self.leaves).build()

    def _outputs(self, task: LearningTask) -> list[int]:
        """Return the columns that this tree predicts."""
        if self.target is not None:
            names = [column.name for column in task.columns]
            return [names.index(name) for name in self.target]
        assert self.outputs is not None
        width = len(task.columns)
        count = min(max(1, round(self.outputs * width)), max(1, width - 1))
        return sorted(task.rng.permutation(width)[:count].tolist())

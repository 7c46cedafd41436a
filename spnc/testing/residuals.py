"""What spnc relies on in a residual strategy."""

from __future__ import annotations

from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum
from spnc.graph.forest import Forest
from spnc.graph.nodes import below
from spnc.residuals import Residual
from spnc.testing.forests import drawing, expect_distribution, linking_task, small_forest
from spnc.testing.learners import expect_valid
from spnc.testing.promises import Promise, expect, global_random_state, hold

_SEEDS = 10  # growing a forest takes longer than asking one


def check_residual(strategy: Residual, *, seeds: int | None = None) -> None:
    """Check a residual strategy with its options; raise AssertionError if a promise is broken.

    It is given small forests. `seeds` limits how many.
    """
    hold(RESIDUAL_PROMISES, strategy, f"residual strategy `{strategy.plugin_name}`", seeds)


def _components(forest: Forest, roots: tuple[int, ...]) -> list[object]:
    graph = forest.builder.graph
    found: list[object] = []
    for root in roots:
        nodes = list(below(graph, root))
        found += [(n, str(graph.nodes[n]["node"]), sorted(graph.succ[n])) for n in nodes]
    return found


def a_linked_forest_is_a_distribution(strategy: Residual, seed: int) -> None:
    """Its circuit is valid and normalised."""
    forest, dataset = small_forest(seed)
    sink = Sink()
    strategy.verify(dataset, sink)
    expect(not sink.failed, f"`verify` reported {[d.message for d in sink.diagnostics]}")
    task = linking_task(forest, dataset, seed)
    graph = add_top_sum(strategy.link(task))
    expect(not task.sink.failed, f"it reported {[d.message for d in task.sink.diagnostics]}")
    expect_valid(graph)
    expect_distribution(graph, dataset.columns)


def the_components_stay_as_they_are(strategy: Residual, seed: int) -> None:
    """Links are drawn from new components, which come after those that were there."""
    forest, dataset = small_forest(seed)
    roots, before = forest.roots, _components(forest, forest.roots)
    linked = strategy.link(linking_task(forest, dataset, seed))
    expect(linked.roots[: len(roots)] == roots, "the forest's own components do not come first")
    expect(_components(linked, roots) == before, "it has changed a component")
    expect(strategy.draws or linked.roots == roots, "`draws` is False, but it has added something")


def the_same_seed_draws_the_same_links(strategy: Residual, seed: int) -> None:
    """All randomness is that of `task.rng`, and the global random numbers are left alone."""
    before = global_random_state()
    drawn = []
    for _ in range(2):
        forest, dataset = small_forest(seed)
        linked = strategy.link(linking_task(forest, dataset, seed))
        drawn.append((linked.roots, drawing(linked.builder.graph)))
    expect(drawn[0] == drawn[1], "two runs with one seed differ")
    expect(global_random_state() == before, "it used numpy's global random numbers")


RESIDUAL_PROMISES = tuple(
    Promise(check, _SEEDS)
    for check in (
        a_linked_forest_is_a_distribution,
        the_components_stay_as_they_are,
        the_same_seed_draws_the_same_links,
    )
)

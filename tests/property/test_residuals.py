"""Linked forests are valid, have the expected values, and leave other components unchanged."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spnc import checks
from spnc.backends.numpy import NumpyBackend
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum
from spnc.forest.pretraining import pretrain
from spnc.graph.nodes import below, children_first, payloads
from spnc.graph.scopes import scopes
from spnc.leaves.smoothing import Smoothing
from spnc.program.lower import lower
from spnc.registry import RESIDUALS
from spnc.residuals import Forest, LinkingTask, Residual
from spnc.residuals.best_gain import BestGain
from spnc.residuals.greedy_bfs import GreedyBfs
from spnc.residuals.informed import Informed
from spnc.residuals.support.link_gain import LinkJudge, judging_rows
from spnc.residuals.support.receiver import Link, Receiver
from tests.circuits import all_states, probability
from tests.forests import circuits_forest, linking, small_forest

SEEDS = st.integers(0, 10**6)
STRATEGIES: dict[str, Residual] = {
    "greedy": GreedyBfs(ratio=0.3),
    "greedy first": GreedyBfs(ratio=0.3, partners="first"),
    "greedy closest": GreedyBfs(ratio=0.3, partners="closest", targets="all"),
    "greedy copy": GreedyBfs(ratio=0.3, links="copy", max_edges=2_000),
    "greedy live": GreedyBfs(ratio=0.3, bfs="live", max_edges=2_000),
    "greedy live copy all": GreedyBfs(
        ratio=0.1, bfs="live", links="copy", targets="all", max_edges=1_000
    ),
    "informed": Informed(ratio=0.3),
    "informed valid": Informed(ratio=0.3, judge="valid", weights="fitted", targets="all"),
    "informed warm": Informed(ratio=0.3, warm_up=3, partners="closest", links="copy"),
    "best gain": BestGain(ratio=0.3, tries=200),
    "best gain all": BestGain(ratio=0.5, tries=200, judge="valid", targets="all", warm_up=0),
}
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)


def test_every_strategy_that_draws_links_is_tried() -> None:
    drawing = {name for name in RESIDUALS if RESIDUALS[name].draws}
    assert {s.plugin_name for s in STRATEGIES.values()} == drawing


def warmed(task: LinkingTask, strategy: Residual) -> LinkingTask:
    """Return the task with pretraining done, so that only links can change the forest."""
    task.pretrain(getattr(strategy, "warm_up", 0))
    return replace(task, pretrain=lambda _: None)


def picture(forest: Forest) -> list[Any]:
    """Return everything below the roots of a forest."""
    graph, found = forest.builder.graph, []
    for root in forest.roots:
        for n in below(graph, root):
            found.append((n, graph.nodes[n]["node"], sorted(graph.succ[n].items())))
    return found


def some_forest(seed: int) -> tuple[Forest, Dataset]:
    """ExtraSPNs, or DAGs with ties and zeros."""
    return circuits_forest(seed) if seed % 2 else small_forest(seed, components=3 + seed % 3)


@every_strategy
@settings(max_examples=20)
@given(seed=SEEDS)
def test_a_linked_forest_is_valid_and_its_components_are_as_before(
    strategy: Residual, seed: int
) -> None:
    forest, dataset = some_forest(seed)
    task = warmed(linking(forest, dataset, seed), strategy)
    before = picture(forest)
    linked = strategy.link(task)
    assert linked.roots[: len(forest.roots)] == forest.roots
    assert picture(Forest(linked.builder, forest.roots)) == before
    if linked.roots == forest.roots:  # without links there is nothing else to test
        assert {"W201", "W202"} & {d.code for d in task.sink.diagnostics}

    graph, sink = add_top_sum(linked), Sink()
    checks.check(graph, sink)
    assert not sink.diagnostics
    engine_program, parameters = lower(graph)
    engine = NumpyBackend().open(engine_program)
    rows = all_states(dataset.columns)
    total = np.exp(engine.log_likelihood(parameters, Table(rows))).sum()
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)
    again, _ = some_forest(seed)
    assert picture(strategy.link(linking(again, dataset, seed))) == picture(linked)


@pytest.mark.parametrize(
    "strategy",
    # Where `bfs` is live, parts that are linked to have links themselves.
    [s for s in STRATEGIES.values() if getattr(s, "bfs", "") != "live"],
    ids=[name for name, s in STRATEGIES.items() if getattr(s, "bfs", "") != "live"],
)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_a_linked_component_is_the_mixture_that_its_links_describe(
    strategy: Residual, seed: int
) -> None:
    forest, dataset = small_forest(seed, components=2)
    task = warmed(linking(forest, dataset, seed), strategy)
    seen: list[Receiver] = []
    with pytest.MonkeyPatch.context() as patch:
        made = Receiver.__init__

        def spy(self: Receiver, *given: Any, **more: Any) -> None:
            made(self, *given, **more)
            seen.append(self)
            self.plain = self.graph.copy()  # type: ignore[attr-defined]

        patch.setattr(Receiver, "__init__", spy)
        linked = strategy.link(task)
    (receiver,) = seen
    if not receiver.links:
        return
    plain, graph = receiver.plain, linked.builder.graph  # type: ignore[attr-defined]
    links: dict[int, list[Link]] = {}
    for link in receiver.links:
        links.setdefault(link.target, []).append(link)
    node, scope = payloads(plain), scopes(plain, children_first(plain))

    def value(n: int, row: np.ndarray) -> float:
        """Return a node's value from its original children, mixed with each link in turn."""
        data = plain.succ[n]
        parts = [value(c, row) for c in data]
        kind = type(node[n]).__name__
        if kind == "Leaf":
            plain.graph["root"] = n
            found = probability(plain, row)
        elif kind == "Product":
            found = float(np.prod(parts))
        else:
            found = sum(d["weight"] * p for d, p in zip(data.values(), parts, strict=True))
        for link in links.get(n, []):
            others = row.copy()
            others[[v for v in range(len(row)) if not scope[n] >> v & 1]] = np.nan
            plain.graph["root"] = link.partner
            found = (1.0 - link.weight) * found + link.weight * probability(plain, others)
        return found

    for row in all_states(dataset.columns)[:: 1 + seed % 5][:12]:
        graph.graph["root"] = linked.roots[-1]
        np.testing.assert_allclose(probability(graph, row), value(receiver.root, row), rtol=1e-9)


@pytest.mark.parametrize(
    "strategy",
    [
        GreedyBfs(ratio=0.3, bfs="live", max_edges=2_000),
        GreedyBfs(ratio=0.3, bfs="live", targets="all", max_edges=2_000),
        GreedyBfs(ratio=0.3, bfs="live", targets="all", partners="closest", max_edges=2_000),
        GreedyBfs(ratio=0.1, bfs="live", targets="all", links="copy", max_edges=1_000),
    ],
    ids=["sums", "all", "all closest", "all copy"],
)
@settings(max_examples=15)
@example(seed=314)  # a marginal was off by 1e-3
@given(seed=SEEDS)
def test_a_link_leads_to_the_marginal_of_its_partner(strategy: Residual, seed: int) -> None:
    """Also where an earlier marginal of the same partner has received links since."""
    forest, dataset = some_forest(seed)
    rows = all_states(dataset.columns)
    rows = rows[np.random.default_rng(seed).permutation(len(rows))[:3]]
    draw = Receiver.draw

    def compare(self: Receiver, *given: Any) -> bool:
        drawn = draw(self, *given)
        if drawn:
            link = self.links[-1]
            for row in rows:
                own = row.copy()
                own[[v for v in range(len(row)) if not self.scope[link.target] >> v & 1]] = np.nan
                self.graph.graph["root"] = link.partner
                expected = probability(self.graph, own)
                self.graph.graph["root"] = link.child
                np.testing.assert_allclose(probability(self.graph, own), expected, rtol=1e-9)
        return drawn

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Receiver, "draw", compare)
        strategy.link(linking(forest, dataset, seed))


@settings(max_examples=40)
@given(seed=SEEDS)
def test_links_raise_the_likelihood_by_just_their_gain(seed: int) -> None:
    forest, dataset = small_forest(seed, components=2)
    receiver = Receiver(linking(forest, dataset, seed))
    targets = list(receiver.targets(list(receiver.visit()), "sums"))
    if not targets:
        return
    rng = np.random.default_rng(seed)
    rows = judging_rows(linking(forest, dataset, seed), "train", 10**6)
    judge = LinkJudge(receiver, rows, NumpyBackend())
    judge.measure(targets)
    target = int(rng.choice(targets))
    nodes = receiver.breadth_first(receiver.partners[0])
    partners = list(receiver.candidates(target, nodes))

    def likelihood() -> float:
        """Return the likelihood of the rows under the forest with the receiver."""
        total = np.zeros(rows.rows)
        for root in (*forest.roots, receiver.root):
            receiver.graph.graph["root"] = root
            total += [probability(receiver.graph, row) for row in rows.values]
        return float(rows.weights @ np.log(total / (1 + len(forest.roots))))

    # Two links to one target; the second is judged after the first has been accepted.
    for partner in rng.choice(partners, min(2, len(partners)), replace=False).tolist():
        child = receiver.marginal(target, partner)
        if child is None:
            continue
        (values,) = judge.values([child])
        best = judge.best_weight(target, values)
        gain = judge.gain(target, values, best)
        assert gain >= 0.0
        for other in np.linspace(0.05, 0.95, 7):
            assert judge.gain(target, values, float(other)) <= gain + 1e-4
        share = float(rng.uniform(0.05, 0.95))
        gain, before = judge.gain(target, values, share), likelihood()
        assert receiver.draw(target, partner, share)
        np.testing.assert_allclose(likelihood() - before, gain, rtol=1e-6, atol=1e-8)
        judge.accept(target, values, share)
        (after,) = judge.values([target])
        np.testing.assert_allclose(judge._values[judge._row[target]], after, rtol=1e-9)


@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_warm_up_is_em_and_keeps_what_weighs_nothing(seed: int) -> None:
    forest, dataset = circuits_forest(seed)
    graph = forest.builder.graph
    zero = {(n, c) for n, c, data in graph.edges(data=True) if data.get("weight") == 0.0}

    def likelihood() -> float:
        program, parameters = lower(
            add_top_sum(Forest(copy.deepcopy(forest.builder), forest.roots))
        )
        engine = NumpyBackend().open(program)
        return engine.score(parameters, dataset.distinct["train"]).rank  # type: ignore[return-value]

    before = likelihood()
    pretrain(forest, dataset.distinct["train"], Smoothing.of(0.0), NumpyBackend(), 2)
    assert likelihood() >= before or np.allclose(likelihood(), before)
    assert zero <= {(n, c) for n, c, data in graph.edges(data=True) if data.get("weight") == 0.0}
    pretrain(forest, dataset.distinct["train"], Smoothing.of(0.1), NumpyBackend(), 2)
    sink = Sink()
    checks.check(add_top_sum(forest), sink)
    assert not sink.diagnostics

"""Linked forests are valid, say what their links say, and leave other components as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc import checks
from spnc.backends.numpy import NumpyBackend
from spnc.data.dataset import Table
from spnc.diagnostics import Sink
from spnc.forest import crown
from spnc.graph.nodes import below, children_first, payloads
from spnc.graph.scopes import scopes
from spnc.lower import lower
from spnc.registry import RESIDUALS
from spnc.residuals import Forest, Residual
from spnc.residuals.best_gain import BestGain
from spnc.residuals.greedy_bfs import GreedyBfs
from spnc.residuals.informed import Informed
from spnc.residuals.judge import Judge, judged_rows
from spnc.residuals.receiver import Link, Receiver
from tests.circuits import all_states, probability
from tests.forests import linking, small_forest

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


def picture(forest: Forest) -> list[Any]:
    """All that lies below the roots of a forest."""
    graph, found = forest.builder.graph, []
    for root in forest.roots:
        for n in below(graph, root):
            found.append((n, graph.nodes[n]["node"], sorted(graph.succ[n].items())))
    return found


@every_strategy
@settings(max_examples=15)
@given(seed=SEEDS)
def test_a_linked_forest_is_valid_and_its_components_are_as_before(
    strategy: Residual, seed: int
) -> None:
    forest, dataset = small_forest(seed, components=3 + seed % 2)
    task = linking(forest, dataset, seed)
    if warm := getattr(strategy, "warm_up", 0):
        task.warm_up(warm)  # changes parameters, on purpose: what is left are the links
        object.__setattr__(task, "warm_up", lambda _: None)
    before = picture(forest)
    linked = strategy.link(task)
    assert picture(Forest(linked.builder, linked.roots[:-1])) == before
    assert linked.roots[:-1] == forest.roots

    graph, sink = crown(linked), Sink()
    checks.check(graph, sink)
    assert not sink.diagnostics
    engine_program, parameters = lower(graph)
    engine = NumpyBackend().open(engine_program)
    rows = all_states(dataset.columns)
    total = np.exp(engine.log_likelihood(parameters, Table(rows))).sum()
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)
    again, _ = small_forest(seed, components=3 + seed % 2)
    assert picture(strategy.link(linking(again, dataset, seed))) == picture(linked)


@every_strategy
@settings(max_examples=15)
@given(seed=SEEDS)
def test_a_linked_component_is_the_mixture_that_its_links_describe(
    strategy: Residual, seed: int
) -> None:
    forest, dataset = small_forest(seed, components=2)
    if getattr(strategy, "bfs", "") == "live":
        return  # there parts that are linked to have links themselves
    task = linking(forest, dataset, seed)
    task.warm_up(getattr(strategy, "warm_up", 0))
    object.__setattr__(task, "warm_up", lambda _: None)
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
    plain, graph = receiver.plain, linked.builder.graph  # type: ignore[attr-defined]
    links: dict[int, list[Link]] = {}
    for link in receiver.links:
        links.setdefault(link.target, []).append(link)
    node, scope = payloads(plain), scopes(plain, children_first(plain))

    def value(n: int, row: np.ndarray) -> float:
        """What the copy's node is by its first children, mixed with each link's node in turn."""
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


@settings(max_examples=40)
@given(seed=SEEDS)
def test_one_link_raises_the_likelihood_by_just_its_gain(seed: int) -> None:
    forest, dataset = small_forest(seed, components=2)
    receiver = Receiver(linking(forest, dataset, seed))
    targets = list(receiver.targets(list(receiver.visit()), "sums"))
    if not targets:
        return
    rng = np.random.default_rng(seed)
    rows = judged_rows(linking(forest, dataset, seed), "train", 10**6)
    judge = Judge(receiver, rows)
    judge.look_at(targets)
    target = int(rng.choice(targets))
    nodes = receiver.breadth_first(receiver.partners[0])
    partner = int(rng.choice(list(receiver.fitting(target, nodes))))
    child = receiver.marginal(target, partner)
    assert child is not None
    (values,) = judge.values([child])

    def likelihood() -> float:
        """Of the forest with the receiver as one more component."""
        total = np.zeros(rows.rows)
        for root in (*forest.roots, receiver.root):
            receiver.graph.graph["root"] = root
            total += [probability(receiver.graph, row) for row in rows.values]
        return float(rows.weights @ np.log(total / (1 + len(forest.roots))))

    share = judge.best_share(target, values)
    gain = judge.gain(target, values, share)
    for other in np.linspace(0.05, 0.95, 7):
        assert judge.gain(target, values, float(other)) <= gain + 1e-4
    assert gain >= 0.0
    assert (share > 0.0) == (gain > 0.0)
    before = likelihood()
    assert receiver.draw(target, partner, share)
    np.testing.assert_allclose(likelihood() - before, gain, rtol=1e-6, atol=1e-8)
    judge.accept(target, values, share)
    (after,) = judge.values([target])
    np.testing.assert_allclose(judge._values[judge._row[target]], after, rtol=1e-9)

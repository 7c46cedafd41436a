"""The circuits of SPFlow 0.0.48 that are recorded, and the rows they are evaluated on.

All circuits are complete and decomposable, and every sum and product has at least two children, all
different. Imported in SPFlow's environment only; never imports spnc.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from spn.structure.Base import Node, Product, Sum
from spn.structure.leaves.parametric.Parametric import Bernoulli, Categorical

Rows = NDArray[np.float64]
LeafMaker = Callable[[np.random.Generator, int, int], Node]

SEED = 20480
BINARY = 0  # in `states`: a binary variable; any other number k is a categorical(k)
MISSING = np.nan


@dataclass(frozen=True)
class Case:
    """A circuit to record, and the rows to evaluate it on."""

    name: str
    about: str
    root: Node
    states: list[int]
    inputs: Rows


# --- circuits


def ordinary_leaf(rng: np.random.Generator, column: int, states: int) -> Node:
    if states == BINARY:
        return Bernoulli(p=float(rng.uniform(0.05, 0.95)), scope=[column])
    return Categorical(p=rng.dirichlet(np.ones(states)).tolist(), scope=[column])


def rare_leaf(rng: np.random.Generator, column: int, _states: int) -> Node:
    """A leaf with a small probability of 1, so that rows of ones underflow as probabilities."""
    return Bernoulli(p=float(rng.uniform(0.001, 0.03)), scope=[column])


def random_weights(rng: np.random.Generator, count: int) -> list[float]:
    weights: list[float] = rng.dirichlet(np.full(count, 2.0)).tolist()
    return weights


def random_parts(rng: np.random.Generator, scope: tuple[int, ...], parts: int) -> list[list[int]]:
    shuffled = rng.permutation(np.array(scope)).tolist()
    cuts = np.array_split(np.array(shuffled), min(parts, len(scope)))
    return [sorted(cut.tolist()) for cut in cuts]


def random_tree(
    rng: np.random.Generator, states: list[int], scope: tuple[int, ...], is_sum: bool
) -> Node:
    """Draw a tree in which sums and products mostly, but not always, alternate."""
    repeats = rng.uniform() < 0.15
    if is_sum:
        count = int(rng.integers(2, 4))
        children = [random_tree(rng, states, scope, bool(repeats)) for _ in range(count)]
        return Sum(weights=random_weights(rng, count), children=children)
    if len(scope) == 1:
        return ordinary_leaf(rng, scope[0], states[scope[0]])
    return Product(
        children=[
            # Few sums over the leaves of one variable, since trees grow fast.
            random_tree(rng, states, tuple(part), bool(rng.uniform() < (0.3 if small else 0.85)))
            for part in random_parts(rng, scope, int(rng.integers(2, 4)))
            for small in [len(part) == 1]
        ]
    )


def random_dag(
    rng: np.random.Generator,
    states: list[int],
    sums: int = 2,
    products: int = 3,
    parts: int = 2,
    splits: int = 2,
    leaf: LeafMaker = ordinary_leaf,
) -> Node:
    """Draw a circuit whose sums, products and leaves are shared.

    Every set of variables has a few sums (or leaves) of its own, mixing the same products, and
    these take their factors from the few nodes of the smaller sets.
    """
    nodes_of: dict[tuple[int, ...], list[Node]] = {}

    def nodes_over(scope: tuple[int, ...]) -> list[Node]:
        if scope not in nodes_of:
            nodes_of[scope] = made_over(scope)
        return nodes_of[scope]

    def made_over(scope: tuple[int, ...]) -> list[Node]:
        if len(scope) == 1:
            return [leaf(rng, scope[0], states[scope[0]]) for _ in range(sums)]
        mixed: list[Node] = []
        for _ in range(splits if len(scope) > 2 else 1):
            below = [nodes_over(tuple(part)) for part in random_parts(rng, scope, parts)]
            for _ in range(products):
                factors = [choices[int(rng.integers(len(choices)))] for choices in below]
                mixed.append(Product(children=factors))
        made: list[Node] = []
        for _ in range(1 if len(scope) == len(states) else sums):
            count = int(rng.integers(2, len(mixed) + 1))
            chosen = rng.choice(len(mixed), size=count, replace=False).tolist()
            children = [mixed[i] for i in chosen]
            made.append(Sum(weights=random_weights(rng, count), children=children))
        return made

    return nodes_over(tuple(range(len(states))))[0]


def hidden_markov_chain(rng: np.random.Generator, length: int) -> Node:
    """A hidden Markov model of two states: two levels, a sum and a product, per variable."""
    later: list[Node] = []
    for column in reversed(range(length)):
        emitted = [ordinary_leaf(rng, column, BINARY) for _ in range(2)]
        joined = (
            [Product(children=[e, rest]) for e, rest in zip(emitted, later, strict=True)]
            if later
            else emitted
        )
        # Only one sum for the first variable: the distribution of the first state.
        later = [
            Sum(weights=random_weights(rng, 2), children=list(joined))
            for _ in range(2 if column else 1)
        ]
    return later[0]


def chain_of_sums(rng: np.random.Generator, states: list[int], length: int) -> Node:
    """Build a stick-breaking mixture: sums directly below sums, each with one product."""

    def component() -> Node:
        leaves = [ordinary_leaf(rng, column, k) for column, k in enumerate(states)]
        return Product(children=leaves)

    node = component()
    for _ in range(length):
        share = float(rng.uniform(0.02, 0.2))
        node = Sum(weights=[share, 1.0 - share], children=[component(), node])
    return node


def extreme_circuit() -> Node:
    tiny, small = 1e-12, 1e-9
    nearly = [Bernoulli(p=tiny, scope=[0]), Bernoulli(p=1.0 - tiny, scope=[0])]
    other = [Bernoulli(p=1e-200, scope=[1]), Bernoulli(p=3e-200, scope=[1])]
    third = [
        Categorical(p=[tiny, 1.0 - 2 * tiny, tiny], scope=[2]),
        Categorical(p=[0.25, 0.25, 0.5], scope=[2]),
    ]
    products = [
        Product(children=[nearly[0], other[0], third[0]]),
        Product(children=[nearly[1], other[0], third[1]]),
        Product(children=[nearly[1], other[1], third[0]]),
    ]
    inner = Sum(weights=[small, 1.0 - small], children=products[1:])
    return Sum(weights=[1.0 - small, small], children=[products[0], inner])


def impossible_circuit() -> Node:
    """Leaves with p = 0 and p = 1: some rows are impossible in some branches, some in all."""
    never, always = Bernoulli(p=0.0, scope=[0]), Bernoulli(p=1.0, scope=[0])
    fair, never_too = Bernoulli(p=0.5, scope=[1]), Bernoulli(p=0.0, scope=[1])
    same = Bernoulli(p=1.0, scope=[2])
    skewed = Sum(weights=[0.25, 0.75], children=[same, Bernoulli(p=1.0, scope=[2])])
    return Sum(
        weights=[0.125, 0.5, 0.375],
        children=[
            Product(children=[never, fair, same]),
            Product(children=[always, never_too, skewed]),
            Product(children=[always, fair, same]),
        ],
    )


def impossible_categorical_circuit() -> Node:
    first, second = [0.0, 0.25, 0.75], [0.5, 0.5, 0.0]
    colours = [Categorical(p=p, scope=[0]) for p in (first, second, [0.0, 1.0, 0.0])]
    shapes = [Categorical(p=p, scope=[1]) for p in ([0.0, 0.0, 0.5, 0.5], [0.1, 0.2, 0.7, 0.0])]
    sure = Bernoulli(p=1.0, scope=[2])
    return Sum(
        weights=[0.2, 0.3, 0.5],
        children=[
            Product(children=[colours[0], shapes[0], sure]),
            Product(children=[colours[2], shapes[0], Bernoulli(p=0.25, scope=[2])]),
            Product(children=[colours[0], shapes[1], sure]),
        ],
    )


def learned_from_digits(with_label: bool) -> tuple[Node, Rows]:
    """SPFlow's LearnSPN on the 16 middle pixels of scikit-learn's digits, and all the data."""
    # Imported here, since SPFlow starts a pool of processes when this module is imported.
    from sklearn.datasets import load_digits
    from sklearn.exceptions import ConvergenceWarning
    from spn.algorithms.LearningWrappers import learn_classifier, learn_parametric
    from spn.structure.Base import Context

    digits = load_digits()
    middle = digits.images[:, 2:6, 2:6].reshape(-1, 16)
    data = (middle > 7).astype(np.float64)
    kinds: list[type] = [Bernoulli] * 16
    if with_label:
        data = np.column_stack([data, digits.target.astype(np.float64)])
        kinds.append(Categorical)
    context = Context(parametric_types=kinds).add_domains(data)
    train = data[:1200]
    settings = {
        "min_instances_slice": 40 if with_label else 60,
        "threshold": 0.3,
        "rand_gen": np.random.RandomState(SEED),  # the kind of generator that SPFlow takes
        "cpus": 1,
    }
    with warnings.catch_warnings():
        # Any split will do, so it does not matter whether the independence tests converge.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if with_label:
            return learn_classifier(train, context, learn_parametric, 16, **settings), data
        return learn_parametric(train, context, **settings), data


# --- inputs


def domain(states: int) -> range:
    return range(2 if states == BINARY else states)


def all_rows(states: list[int]) -> Rows:
    return np.array(list(itertools.product(*map(domain, states))), dtype=np.float64)


def random_rows(rng: np.random.Generator, states: list[int], count: int) -> Rows:
    columns = [rng.integers(len(domain(k)), size=count) for k in states]
    return np.column_stack(columns).astype(np.float64)


def with_missing(rng: np.random.Generator, rows: Rows) -> Rows:
    """Remove values from the rows, from none in the first row to all in the last."""
    shares = np.linspace(0.0, 1.0, len(rows))[:, np.newaxis]
    return np.where(rng.uniform(size=rows.shape) < shares, MISSING, rows)


# --- the cases


def cases() -> Iterator[Case]:
    for number, columns in enumerate((4, 6, 8, 10)):
        rng = np.random.default_rng([SEED, 1, columns])
        states = [BINARY] * columns
        # The roots alternate too: sum, product, sum, product.
        root = random_tree(rng, states, tuple(range(columns)), number % 2 == 0)
        inputs = all_rows(states) if columns <= 6 else random_rows(rng, states, 64)
        about = f"A random tree over {columns} binary variables."
        yield Case(f"tree_binary_{columns}", about, root, states, inputs)

    for columns in (6, 9, 12):
        rng = np.random.default_rng([SEED, 2, columns])
        states = [BINARY] * columns
        root = random_dag(rng, states)
        inputs = all_rows(states) if columns <= 6 else random_rows(rng, states, 64)
        about = f"A random circuit with shared sums, products and leaves, {columns} variables."
        yield Case(f"dag_binary_{columns}", about, root, states, inputs)

    mixed = [3, BINARY, 4, BINARY, 2, BINARY, 5]
    rng = np.random.default_rng([SEED, 3, 0])
    root = random_tree(rng, mixed, tuple(range(len(mixed))), True)
    about = "A random tree over binary and categorical variables."
    yield Case("tree_categorical_7", about, root, mixed, random_rows(rng, mixed, 64))
    rng = np.random.default_rng([SEED, 3, 1])
    root = random_dag(rng, mixed)
    about = "A random circuit with shared nodes over binary and categorical variables."
    yield Case("dag_categorical_7", about, root, mixed, random_rows(rng, mixed, 64))

    rng = np.random.default_rng([SEED, 4, 0])
    states = [BINARY] * 8
    root = random_tree(rng, states, tuple(range(8)), True)
    inputs = with_missing(rng, random_rows(rng, states, 64))
    yield Case("missing_tree_8", "A random tree, with missing values.", root, states, inputs)
    rng = np.random.default_rng([SEED, 4, 1])
    root = random_dag(rng, states)
    inputs = with_missing(rng, random_rows(rng, states, 64))
    about = "A random circuit with shared nodes, with missing values."
    yield Case("missing_dag_8", about, root, states, inputs)
    rng = np.random.default_rng([SEED, 4, 2])
    root = random_dag(rng, mixed, sums=3)
    inputs = with_missing(rng, random_rows(rng, mixed, 64))
    about = "Shared nodes, binary and categorical variables, with missing values."
    yield Case("missing_categorical_7", about, root, mixed, inputs)

    rng = np.random.default_rng([SEED, 5, 0])
    root, data = learned_from_digits(with_label=False)
    unseen = data[1200:]
    inputs = np.vstack([data[:60], unseen[:60], with_missing(rng, unseen[60:100])])
    about = (
        "learn_parametric (LearnSPN) on scikit-learn's digits, the 16 middle pixels, > 7: the "
        "first 1200 rows learned from; evaluated on 60 of them, 60 unseen, 40 with missing values."
    )
    yield Case("learned_digits", about, root, [BINARY] * 16, inputs)
    rng = np.random.default_rng([SEED, 5, 1])
    root, data = learned_from_digits(with_label=True)
    unseen = data[1200:]
    no_label = unseen[:40].copy()
    no_label[:, 16] = MISSING
    each_label = np.repeat(unseen[40:44], 10, axis=0)
    each_label[:, 16] = np.tile(np.arange(10.0), 4)
    inputs = np.vstack([data[:40], no_label, each_label, with_missing(rng, unseen[44:70])])
    about = (
        "learn_classifier on scikit-learn's digits, the 16 middle pixels, > 7, and the label: the "
        "first 1200 rows learned from; evaluated on 40 of them, on 40 unseen without label, on 4 "
        "unseen with every label, on 26 with missing values."
    )
    yield Case("learned_digits_label", about, root, [*([BINARY] * 16), 10], inputs)

    states = [BINARY, BINARY, 3]
    inputs = np.array(list(itertools.product([0, 1, MISSING], [0, 1, MISSING], [0, 1, 2, MISSING])))
    about = "Extreme parameters: p = 1e-12, p = 1 - 1e-12, p = 1e-200, weights 1e-9."
    yield Case("extreme_small", about, extreme_circuit(), states, inputs)
    states = [BINARY] * 3
    inputs = np.array(list(itertools.product([0, 1, MISSING], repeat=3)))
    about = "Bernoulli leaves with p = 0 and p = 1; some rows are impossible."
    yield Case("impossible_binary", about, impossible_circuit(), states, inputs)
    states = [3, 4, BINARY]
    inputs = np.array(
        list(itertools.product([0, 1, 2, MISSING], [0, 1, 2, 3, MISSING], [0, 1, MISSING]))
    )
    about = "Categorical leaves with probabilities of 0; some rows are impossible."
    yield Case("impossible_categorical", about, impossible_categorical_circuit(), states, inputs)

    rng = np.random.default_rng([SEED, 7, 0])
    states = [BINARY] * 31
    root = hidden_markov_chain(rng, 31)
    rows = random_rows(rng, states, 64)
    inputs = np.vstack([rows[:32], with_missing(rng, rows[32:])])
    about = "A hidden Markov model of 31 binary variables: a shared chain, 62 nodes deep."
    yield Case("chain_hidden_markov", about, root, states, inputs)
    rng = np.random.default_rng([SEED, 7, 1])
    states = [BINARY, 3, BINARY]
    root = chain_of_sums(rng, states, 60)
    inputs = np.vstack([all_rows(states), with_missing(rng, random_rows(rng, states, 20))])
    about = "60 sums, each directly below the one before."
    yield Case("chain_of_sums", about, root, states, inputs)

    rng = np.random.default_rng([SEED, 8, 0])
    states = [BINARY] * 200
    root = random_dag(rng, states, parts=5, splits=1, leaf=rare_leaf)
    ones, zeros = np.ones((1, 200)), np.zeros((1, 200))
    likely = (rng.uniform(size=(12, 200)) < 0.02).astype(np.float64)
    inputs = np.vstack([ones, zeros, random_rows(rng, states, 12), likely])
    mostly_ones = (rng.uniform(size=(12, 200)) < 0.95).astype(np.float64)
    inputs = np.vstack([inputs, mostly_ones, with_missing(rng, random_rows(rng, states, 8))])
    about = "200 binary variables: the probabilities of some rows underflow to 0."
    yield Case("wide_200", about, root, states, inputs)

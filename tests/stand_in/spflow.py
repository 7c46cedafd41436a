"""A stand-in for SPFlow 0.0.48: its classes with their attributes, and what its leaves compute.

Classes, arguments and attributes are those of `spn.structure`; densities are those of the functions
of scipy.stats that `spn.structure.leaves.parametric.utils` calls. `python -m
benchmarks.spflow_exchange` compares with SPFlow itself.
"""

from __future__ import annotations

import bisect
import enum
import math
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from spnc.common.arrays import Floats


class MetaType(enum.Enum):
    """Kinds of variables."""

    REAL = 1
    BINARY = 2
    DISCRETE = 3


class _Node:
    def __init__(self, scope: Any = None) -> None:
        self.id = 0
        self.scope: list[int] = [] if scope is None else [scope] if type(scope) is int else scope

    @property
    def name(self) -> str:
        return f"{type(self).__name__}Node_{self.id}"


class Sum(_Node):
    """A sum."""

    def __init__(self, weights: Any = None, children: Any = None) -> None:
        super().__init__()
        self.weights, self.children = weights or [], children or []


class Product(_Node):
    """A product."""

    def __init__(self, children: Any = None) -> None:
        super().__init__()
        self.children = children or []


class _Parametric(_Node):
    parameters: tuple[str, ...] = ()

    def __init__(self, scope: Any = None, **given: Any) -> None:
        super().__init__(scope)
        assert given.keys() <= set(self.parameters)
        for parameter in self.parameters:
            setattr(self, parameter, given.get(parameter))


LEAVES = {
    "Bernoulli": ("p",),
    "Categorical": ("p",),
    "Gaussian": ("mean", "stdev"),
    "LogNormal": ("mean", "stdev"),
    "Gamma": ("alpha", "beta"),
    "Exponential": ("l",),
    "Poisson": ("mean",),
    "Uniform": ("density", "start", "end"),
}
CLASSES: dict[str, Any] = {
    name: type(name, (_Parametric,), {"parameters": own}) for name, own in LEAVES.items()
}


class Histogram(_Node):
    """A histogram."""

    def __init__(
        self, breaks: Any, densities: Any, bin_repr_points: Any, scope: Any, meta_type: MetaType
    ) -> None:
        super().__init__(scope)
        self.breaks, self.densities, self.meta_type = breaks, densities, meta_type
        self.bin_repr_points = bin_repr_points


def assign_ids(root: Any) -> Any:
    """Number the nodes from 0."""
    for i, n in enumerate(reachable(root)):
        n.id = i
    return root


def reachable(root: Any) -> list[Any]:
    """All nodes, each once."""
    found = [root]
    for n in found:
        found += [c for c in getattr(n, "children", ()) if all(c is not f for f in found)]
    return found


def log_likelihood(n: Any, rows: Floats) -> Floats:
    """What SPFlow computes, with minus infinity where it has a placeholder."""
    kind = type(n).__name__
    if kind == "Sum":
        terms = np.stack([log_likelihood(c, rows) for c in n.children])
        return np.asarray(logsumexp(terms, b=np.array(n.weights)[:, None], axis=0))
    if kind == "Product":
        total: Floats = np.stack([log_likelihood(c, rows) for c in n.children]).sum(axis=0)
        return total
    own = rows[:, n.scope[0]]
    with np.errstate(divide="ignore"):
        return np.array([0.0 if math.isnan(x) else _log_density(n, float(x)) for x in own])


def _log_density(n: Any, x: float) -> float:
    match type(n).__name__:
        case "Bernoulli":
            return float(stats.bernoulli.logpmf(x, p=n.p))
        case "Categorical":
            return float(np.log(n.p[int(x)]))
        case "Gaussian":
            return float(stats.norm.logpdf(x, loc=n.mean, scale=n.stdev))
        case "LogNormal":
            return float(stats.lognorm.logpdf(x, scale=np.exp(n.mean), s=n.stdev))
        case "Gamma":
            x = x or float(np.finfo(float).eps)
            return float(stats.gamma.logpdf(x, a=n.alpha, scale=1.0 / n.beta))
        case "Exponential":
            return float(stats.expon.logpdf(x, scale=1 / n.l))
        case "Poisson":
            return float(stats.poisson.logpmf(x, mu=n.mean))
        case "Histogram":
            if x < n.breaks[0] or x >= n.breaks[-1]:
                return -math.inf  # SPFlow: log(2e-16)
            return float(np.log(n.densities[bisect.bisect(n.breaks, x) - 1]))
    raise AssertionError(f"no density of {n}")


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import spn…` find this module's classes."""
    homes: dict[str, dict[str, Any]] = {
        "spn": {},
        "spn.structure": {},
        "spn.structure.Base": {"Sum": Sum, "Product": Product, "assign_ids": assign_ids},
        "spn.structure.StatisticalTypes": {"MetaType": MetaType},
        "spn.structure.leaves": {},
        "spn.structure.leaves.parametric": {},
        "spn.structure.leaves.parametric.Parametric": CLASSES,
        "spn.structure.leaves.histogram": {},
        "spn.structure.leaves.histogram.Histograms": {"Histogram": Histogram},
    }
    for name, content in homes.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


def uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import spn…` fail, also where SPFlow is installed."""
    monkeypatch.setitem(sys.modules, "spn", None)
    monkeypatch.setitem(sys.modules, "spn.structure.Base", None)

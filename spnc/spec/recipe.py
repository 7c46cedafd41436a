"""`Recipe`: the content of a spec, typed and complete. Fields know where they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from spnc.backends import Backend
from spnc.data.options import DataOptions
from spnc.learners import Learner
from spnc.leaves.smoothing import Smoothing
from spnc.registry import (
    BACKENDS,
    LEARNERS,
    OBJECTIVES,
    OPTIMIZERS,
    RESIDUALS,
    Conflict,
    Options,
    choice,
    option,
)
from spnc.registry.reads import SAMPLE, Source, reads_of
from spnc.residuals import Residual
from spnc.spec.cluster import Cluster
from spnc.spec.limits import Limits
from spnc.spec.space import Search, Space
from spnc.training import Objective, Optimizer
from spnc.training.flow_pruning import Prune

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Component(Options):
    """One entry of the forest: a learner, and how many components it makes."""

    count: int = option(
        1, "how many components, each with its own random stream", min=1, max=10_000
    )
    bootstrap: bool = option(
        False, "whether each component learns from as many rows drawn at random with replacement"
    )
    fit: int | None = option(
        None,
        "fit each component on its own by this many iterations of EM at most, before it joins the "
        "forest; with validation rows, the best iteration is kept",
        min=0,
    )
    refine: bool = option(
        False,
        "whether each component is then fitted to the `objective` on its own, in place of the "
        "forest as a whole",
    )
    weight: float = option(
        1.0, "how much each of these components counts in the sum on top, before training", above=0
    )
    smoothing: Smoothing | None = option(
        None,
        "pseudo-rows while these components are learned and fitted on their own; without it, those "
        "of the whole spec",
    )
    learner: Learner = choice(LEARNERS, doc="the structure learner", inline=True)

    @property
    def reads(self) -> frozenset[Source]:
        """What learning reads of a table that is larger than memory."""
        return SAMPLE if self.bootstrap else reads_of(self.learner, "learn")

    def conflicts(self) -> Iterator[Conflict]:
        """Report repeated rows for a learner to which every row is described by the others."""
        if self.bootstrap and getattr(self.learner, "needs_own_rows", False):
            yield Conflict(
                "bootstrap",
                f"`{self.learner.plugin_name}` describes each row by the others, and `bootstrap` "
                "repeats rows",
                "drop `bootstrap`",
            )


@dataclass(frozen=True, kw_only=True)
class Lock(Options):
    """What a run was made from, so that a repetition can tell whether anything has changed."""

    data: str | None = option(None, "SHA-256 of columns and rows; other data is refused")
    spec: str | None = option(None, "SHA-256 of all the rest of the file; another is refused")
    versions: str | None = option(None, "versions in use; others give a warning")
    plugins: tuple[str, ...] | None = option(
        None, "packages and files of outside plug-ins in use; other versions give a warning"
    )


@dataclass(frozen=True, kw_only=True)
class Recipe(Options):
    """A whole spec.

    A recipe with searches has a `space`; its other fields are then those of the first try.
    """

    spnc: int = option(VERSION, "the version of the spec format", min=1)
    # Before what it has the digest of: a lock file that was cut short is noticed.
    lock: Lock | None = option(None, "written by spnc into `recipe.lock.yaml`")
    model: str = option(doc="the model's name")
    plugins: tuple[str, ...] | None = option(
        None,
        "Python files with plug-ins, beside the spec; imported only with `--allow-plugins`",
        path=True,
        suffix=".py",
    )
    data: DataOptions = option(doc="the rows to learn from")
    forest: tuple[Component, ...] = option(doc="the components of the forest")
    shares: Literal["given", "fitted"] = option(
        "given",
        "what the entries of the forest count in the sum on top, before training: what their "
        "`weight` says, or what explains the validation rows best",
    )
    residual: Residual = choice(
        RESIDUALS, "none", "how residual links are drawn between components"
    )
    smoothing: Smoothing = option(
        Smoothing(), "pseudo-rows added to every alternative of every sum and leaf"
    )
    optimizer: Optimizer = choice(OPTIMIZERS, "em", "how parameters are fitted")
    objective: Objective = choice(
        OBJECTIVES, "joint", "what parameters are fitted to once the optimizer is done"
    )
    prune: Prune | None = option(None, "edges to drop after training, before fitting once more")
    limits: Limits | None = option(None, "how much time and memory training may take")
    cluster: Cluster | None = option(
        None, "where passes over large tables are computed, and components are learned"
    )
    backend: Backend = choice(BACKENDS, "auto", "what does the computing")
    seed: int = option(0, "the seed of all randomness in learning", min=0)
    search: Search | None = option(None, "how values under `search` are tried")

    space: Space | None = field(default=None, repr=False)

    def conflicts(self) -> Iterator[Conflict]:
        """Report an empty forest, what needs several components, and what excludes `refine`."""
        if not self.forest:
            yield Conflict("forest", "the forest is empty", "list at least one learner")
        elif self.residual.draws and sum(c.count for c in self.forest) < 2:
            yield Conflict(
                "residual",
                f"`{self.residual.plugin_name}` links components, and the forest has only one",
                "raise its `count`, or list another learner",
            )
        if self.shares == "fitted" and len(self.forest) == 1:
            yield Conflict(
                "shares",
                "the shares of entries are fitted, and the forest has only one entry",
                "list another one, or leave this out",
            )
        if self.data.folds is not None:
            yield from self._conflicts_with_folds()
        if not self.refines_components:
            return
        if not self.objective.refines:
            yield Conflict(
                "forest",
                f"`refine` fits components to an objective, and `{self.objective.plugin_name}` is "
                "what EM fits them to",
                "add an `objective`, such as `conditional`, or use `fit` alone",
            )
        if getattr(self.optimizer, "max_iterations", None) != 0:
            yield Conflict(
                "optimizer",
                "components with `refine` are fitted on their own, and the optimizer would fit "
                "them to whole rows again",
                "set its `max_iterations` to 0",
            )

    def _conflicts_with_folds(self) -> Iterator[Conflict]:
        """Report what needs validation rows while all rows are trained on."""
        folds = f"with `valid: {self.data.valid}` none are left in the end"
        help = "cut validation rows off with `split: [0.8, 0.2, 0]`, or leave this out"
        if self.refines_components:
            message = f"components with `refine` end by validation rows, and {folds}"
            yield Conflict("forest", message, help)
        for name in dict.fromkeys(
            component.learner.plugin_name
            for component in self.forest
            if getattr(component.learner, "ends_by_validation_rows", False)
        ):
            yield Conflict("forest", f"`{name}` ends by validation rows, and {folds}", help)

    def as_trained(self) -> Recipe:
        """Return what is trained: the recipe without how long, and where, it may be."""
        return replace(self, limits=None, cluster=None)

    @property
    def refines_components(self) -> bool:
        """Whether components, not the forest as a whole, are fitted to the objective."""
        return any(component.refine for component in self.forest)

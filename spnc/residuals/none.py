"""No residual links: a plain Random Sum-Product Forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.data.dataset import Dataset
from spnc.registry import RESIDUALS, Options
from spnc.residuals import Forest


@RESIDUALS.register("none")
@dataclass(frozen=True, kw_only=True)
class NoLinks(Options):
    """No links: the components meet only in the sum on top (Algorithm 2)."""

    def link(self, forest: Forest, dataset: Dataset, rng: np.random.Generator) -> Forest:
        """The forest as it is."""
        del dataset, rng
        return forest

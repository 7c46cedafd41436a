"""The plug-ins keep what spnc relies on."""

from __future__ import annotations

from spnc_counts.leaf import Binomial
from spnc_counts.learner import BinomialMixture

from spnc.testing import check_leaf, check_learner


def test_the_leaf_keeps_its_promises() -> None:
    check_leaf(Binomial)


def test_the_learner_keeps_its_promises() -> None:
    check_learner(BinomialMixture(components=3))

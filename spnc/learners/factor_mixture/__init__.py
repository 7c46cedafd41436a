"""Mixtures of factor models: groups of rows in which real columns are jointly normal.

- `group_parts`: what a mixture knows of some columns, with the parameters of all groups;
- `mixture_fit`: the training loop;
- `learner`: the plug-in, which compiles the fitted mixture into a circuit.
"""

from spnc.learners.factor_mixture.learner import FactorMixture

__all__ = ["FactorMixture"]

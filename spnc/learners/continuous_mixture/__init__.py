"""Continuous mixtures of Chow-Liu trees: one decoder gives the parameters of all of them.

The parts, from the inside out: `cells` (what a tree over the columns counts), `decoder` (the
network), `objective` (the likelihood of rows and its gradient), `fit` (the training loop). The
plug-in, `learner`, compiles the outcome into a circuit.
"""

from spnc.learners.continuous_mixture.learner import ContinuousMixture

__all__ = ["ContinuousMixture"]

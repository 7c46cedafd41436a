"""Continuous mixtures of Chow-Liu trees: one decoder gives the parameters of all trees.

The modules, each using those before it:

- `log_linear_tree`: the likelihood of a tree as a product of matrices;
- `decoder`: the network, and its optimiser;
- `objective`: the log-likelihood of rows under a mixture, and its gradient;
- `imputation`: complete rows, which the objective needs;
- `batches`: mini-batches of rows in memory;
- `dealt_batches`: mini-batches of all rows of a table in partitions;
- `mixture_fit`: the training loop;
- `association`: which columns the trees should join;
- `learner`: the plug-in, which compiles the fitted mixture into a circuit.
"""

from spnc.learners.continuous_mixture.learner import ContinuousMixture

__all__ = ["ContinuousMixture"]

"""Continuous mixtures of Chow-Liu trees: one decoder gives the parameters of all trees.

The modules, each using those before it:

- `decoded_leaves`: leaves over numbers whose shape is decoded as well;
- `number_column`, `number_leaves`: columns of numbers, one and all: their leaves and likelihood;
- `log_linear_tree`: the likelihood of a tree as a product of matrices;
- `decoder`: the network, and its optimiser;
- `objective`: the log-likelihood of rows under a mixture, and its gradient;
- `imputation`: missing states are drawn; the objective needs them all;
- `batches`: mini-batches of rows in memory;
- `dealt_batches`: mini-batches of all rows of a table in partitions;
- `stand_in`: columns of numbers to measure the time of a step with;
- `mixture_fit`: the training loop;
- `association`: which columns the trees should join;
- `plain_trees`: the tree of most affinity, and a model that is this tree alone;
- `circuit`: the circuit of a fitted mixture;
- `learner`: the plug-in.
"""

from spnc.learners.continuous_mixture.learner import ContinuousMixture

__all__ = ["ContinuousMixture"]

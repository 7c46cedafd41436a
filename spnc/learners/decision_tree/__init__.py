"""Decision trees as circuits.

The modules, each using those before it:

- `regions`: the values of a column that tests leave over;
- `tree_growth`: the tests, and the rows that reach each leaf;
- `known_columns`: what all trees of a forest need to know about their columns;
- `tree_circuit`: the nodes;
- `learner`: the plug-in.
"""

from spnc.learners.decision_tree.learner import DecisionTree

__all__ = ["DecisionTree"]

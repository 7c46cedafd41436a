"""Contract suites for plug-ins: what spnc relies on, as checks that anyone can run.

    from spnc.testing import check_leaf
    check_leaf(MyLeaf)

Each function raises `AssertionError` with the promise that was broken, what was found, and the
seed that shows it. spnc runs the same suites over its own plug-ins. Only numpy is needed, no test
framework; nothing in spnc imports this package.
"""

from spnc.testing.backends import BACKEND_PROMISES, check_backend
from spnc.testing.learners import LEARNER_PROMISES, check_learner
from spnc.testing.leaves import LEAF_PROMISES, check_leaf
from spnc.testing.objectives import OBJECTIVE_PROMISES, check_objective
from spnc.testing.optimizers import OPTIMIZER_PROMISES, check_optimizer
from spnc.testing.promises import Promise
from spnc.testing.residuals import RESIDUAL_PROMISES, check_residual
from spnc.testing.stops import STOP_PROMISES, check_stop

__all__ = [
    "BACKEND_PROMISES",
    "LEAF_PROMISES",
    "LEARNER_PROMISES",
    "OBJECTIVE_PROMISES",
    "OPTIMIZER_PROMISES",
    "RESIDUAL_PROMISES",
    "STOP_PROMISES",
    "Promise",
    "check_backend",
    "check_leaf",
    "check_learner",
    "check_objective",
    "check_optimizer",
    "check_residual",
    "check_stop",
]

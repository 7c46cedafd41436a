"""A cluster that cannot be used any more ends a run, but not for good: it can be resumed."""

from __future__ import annotations

from spnc.diagnostics import InputError

LOST, OTHER_VERSION = "E514", "E513"  # see `spnc.cluster.trouble`


def is_lost_cluster(error: BaseException) -> bool:
    """Return whether a cluster was lost, or got workers that cannot be used."""
    return isinstance(error, InputError) and any(
        d.code in (LOST, OTHER_VERSION) for d in error.diagnostics
    )

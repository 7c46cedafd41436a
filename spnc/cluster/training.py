"""Where a recipe is trained: in this process, on several cores, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from spnc.cluster import workers_for
from spnc.common.observer import Observer
from spnc.common.workers import SERIAL, Workers
from spnc.spec.recipe import Recipe


def workers_of(recipe: Recipe, n_jobs: int | None) -> Workers:
    """Return who computes this many components or tries at a time, within the recipe's limits."""
    return workers_for(n_jobs, recipe.limits.memory if recipe.limits is not None else None)


@contextmanager
def placed(
    recipe: Recipe, client: Any, n_jobs: int | None, observer: Observer
) -> Iterator[tuple[Recipe, Workers]]:
    """Yield a recipe whose data knows where passes are computed, and who learns components.

    `client` is a Dask client; with None, the recipe may name a cluster. On a cluster, components
    and tries are computed by its workers, too, unless `n_jobs` says how many at a time.
    """
    if client is None and recipe.cluster is None:
        yield recipe, workers_of(recipe, n_jobs)
        return
    from spnc.cluster.connection import check_workers
    from spnc.cluster.dask_rows import DaskCluster
    from spnc.cluster.dask_workers import DaskWorkers
    from spnc.cluster.joining import Connection, joined

    with ExitStack() as stack:
        if client is None:
            assert recipe.cluster is not None
            span = recipe.cluster.span_of("address")
            connection = stack.enter_context(joined(recipe.cluster.address, observer, span))
        else:
            check_workers(client)
            connection = Connection.of(client)
        cluster = DaskCluster(connection, observer)
        stack.callback(cluster.close)
        data = replace(recipe.data, elsewhere=cluster)
        workers = DaskWorkers(connection, n_jobs)
        yield replace(recipe, data=data), workers if workers.count > 1 else SERIAL

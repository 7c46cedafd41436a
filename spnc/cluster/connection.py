"""Connecting to a Dask cluster, or starting one on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import spnc
from spnc.cluster.trouble import report_no_dask, report_unreachable, report_workers
from spnc.cluster.worker import OtherVersionError, check_version
from spnc.common.observer import Progress, silent
from spnc.diagnostics import Span
from spnc.spec.cluster import LOCAL

CONNECT_SECONDS = 30.0


@contextmanager
def connected(address: str, progress: Progress = silent, span: Span | None = None) -> Iterator[Any]:
    """Yield the client of a cluster, `tcp://host:port` or `local:N`, whose workers can be used.

    Stops with a diagnostic if it cannot be reached (E512).
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        report_no_dask(error, span)
    with ExitStack() as stack:
        local = re.fullmatch(LOCAL, address)
        try:
            if local is not None:
                cluster = stack.enter_context(
                    distributed.LocalCluster(
                        n_workers=int(local[1]),
                        threads_per_worker=1,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=50,
                    )
                )
                client = stack.enter_context(distributed.Client(cluster))
            else:
                client = stack.enter_context(
                    distributed.Client(address, timeout=CONNECT_SECONDS, name="spnc")
                )
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            report_unreachable(address, error, span)
        check_workers(client, span)
        progress(f"cluster, dashboard at {client.dashboard_link}", 0, None)
        yield client


def check_workers(client: Any, span: Span | None = None) -> None:
    """Stop with a diagnostic if a worker has no spnc, or another version of it (E513)."""
    try:
        client.run(check_version, spnc.__version__)
    except (OtherVersionError, ImportError) as error:
        report_workers(error, span)

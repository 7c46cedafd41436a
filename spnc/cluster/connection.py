"""Connecting to a Dask cluster, or starting one on this machine."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from typing import Any

import spnc
from spnc.cluster.heartbeats import Heartbeats, NoAnswerError, SilentWorkerError
from spnc.cluster.trouble import report_no_dask, report_unreachable, report_workers
from spnc.cluster.worker import OtherVersionError, check_version
from spnc.common.observer import Observer
from spnc.common.signals import interruptions_held_back
from spnc.diagnostics import Span
from spnc.spec.cluster import LOCAL

_LOGGERS = ("distributed", "distributed.client")  # that Dask gives levels of their own


@contextmanager
def connected(
    address: str,
    observer: Observer | None = None,
    span: Span | None = None,
    started: Callable[[], Any] | None = None,
) -> Iterator[Any]:
    """Yield the client of a cluster, `tcp://host:port` or `local:N`, whose workers can be used.

    `started` returns the cluster on this machine if that was started before. Stops with a
    diagnostic if a cluster cannot be reached within the time that Dask's configuration gives
    (`distributed.comm.timeouts.connect`, E512).
    """
    try:
        distributed: Any = import_module("distributed")
        dask: Any = import_module("dask")
    except ImportError as error:
        report_no_dask(error, span)
    seconds = dask.utils.parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        try:
            at: Any = address
            if (workers := local_workers(address)) is not None:
                at = started() if started else stack.enter_context(started_here(workers))
            client = stack.enter_context(distributed.Client(at, name="spnc"))
            client.wait_for_workers(1, timeout=seconds)
            check_workers(client, span)
        # TypeError: no certificates for an address that begins with `tls://`.
        except (OSError, TimeoutError, TypeError, ValueError, NoAnswerError) as error:
            report_unreachable(address, error, span)
        if observer is not None:
            observer.notice(f"cluster: {client.scheduler.address}, {_dashboard(client)}")
        yield client


def local_workers(address: str) -> int | None:
    """Return the number of workers of a cluster on this machine; None if it is another one."""
    local = re.fullmatch(LOCAL, address)
    return None if local is None else int(local[1])


def started_here(workers: int) -> AbstractContextManager[Any]:
    """Start a cluster on this machine; return a context that ends it."""
    distributed: Any = import_module("distributed")
    if hasattr(signal, "pthread_sigmask"):
        # When Python starts it, it lets interruptions through again.
        resource_tracker.ensure_running()
    with interruptions_held_back():
        cluster: AbstractContextManager[Any] = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    return cluster


def _dashboard(client: Any) -> str:
    """Return where the dashboard of a cluster is."""
    link = client.dashboard_link
    return f"dashboard at {link}" if link else "without a dashboard"


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Dask write nothing to the error stream: diagnostics say what is wrong."""
    before = [(logger, logger.level) for logger in map(logging.getLogger, _LOGGERS)]
    try:
        for logger, _ in before:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


def check_workers(client: Any, span: Span | None = None) -> None:
    """Stop with a diagnostic if a worker has no spnc, or another version of it (E513).

    A worker that is silent is left out: it is asked again when it is given work.
    """
    heartbeats = Heartbeats(client)
    while True:
        try:
            heartbeats.awaited(
                lambda workers: client.run(check_version, spnc.__version__, workers=workers)
            )
        except SilentWorkerError:
            continue
        except (OtherVersionError, ImportError) as error:
            report_workers(error, span)
        return

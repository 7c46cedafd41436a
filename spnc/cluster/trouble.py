"""Diagnostics about clusters; each of these functions stops the run."""

from __future__ import annotations

from typing import Any, NoReturn

import spnc
from spnc.diagnostics import Sink, Span


def report_no_dask(error: ImportError, span: Span | None) -> NoReturn:
    """Report that Dask is not installed (E512)."""
    message = "clusters need Dask, which is not installed"
    _report("E512", message, error, "pip install 'spnc-forest[cluster]'", span)


def report_unreachable(address: str, error: BaseException, span: Span | None) -> NoReturn:
    """Report that a cluster cannot be reached, or has no workers (E512)."""
    help = (
        "start a scheduler (`dask scheduler`) and workers (`dask worker ADDRESS`), or use `local:N`"
    )
    _report("E512", f"the cluster `{address}` cannot be used", error, help, span)


def report_workers(error: BaseException, span: Span | None = None) -> NoReturn:
    """Report that workers have no spnc, or another version of it (E513)."""
    help = f"install spnc-forest {spnc.__version__} on every worker, with its extra `cluster`"
    _report("E513", "the workers of the cluster cannot be used", error, help, span)


def report_lost(client: Any, error: BaseException) -> NoReturn:
    """Report that a cluster is gone for good (E514)."""
    address = getattr(getattr(client, "scheduler", None), "address", "its address")
    help = "start it again; with --resume (in Python: resume=True), a run in a folder goes on"
    _report("E514", f"the cluster at {address} was lost", error, help, None)


def lost_errors() -> tuple[type[Exception], ...]:
    """Return what a client raises when workers are lost, or the scheduler."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    return CancelledError, CommClosedError, KilledWorker, OSError, TimeoutError


def _report(
    code: str, message: str, error: BaseException, help: str, span: Span | None
) -> NoReturn:
    sink = Sink()
    notes = [str(error).splitlines()[0] if str(error) else type(error).__name__]
    sink.error(code, message, span, notes=notes, help=help)
    sink.stop()
    raise AssertionError from error

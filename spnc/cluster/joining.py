"""Joining a cluster: at once if it is running, and when there is work for it otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from typing import Any

from spnc.cluster.background import in_background
from spnc.cluster.connection import connected, local_workers, started_here
from spnc.common.observer import Observer
from spnc.diagnostics import Span


class Connection:
    """The client of a cluster, which may have to be started for it."""

    def __init__(
        self,
        connect: Callable[[], Any],
        begin: Callable[[], object] = lambda: None,
        threads: int | None = None,
    ) -> None:
        """`connect` returns the client, and `begin` prepares for that without waiting.

        `threads` are those of all workers together; None: the client knows.
        """
        self._connect, self.begin, self._threads = connect, begin, threads

    @staticmethod
    def of(client: Any) -> Connection:
        """Return the connection of a client that is connected."""
        return Connection(lambda: client)

    @cached_property
    def client(self) -> Any:
        """The client of the cluster, which is started if need be. May stop with a diagnostic."""
        return self._connect()

    @cached_property
    def threads(self) -> int:
        """The number of threads of all workers."""
        return sum(self.client.nthreads().values()) if self._threads is None else self._threads


@contextmanager
def joined(address: str, observer: Observer, span: Span | None = None) -> Iterator[Connection]:
    """Yield the connection to the cluster at an address.

    One on this machine, `local:N`, is not started before there is work for it.
    """
    workers = local_workers(address)
    with ExitStack() as stack:
        if workers is None:
            yield Connection.of(stack.enter_context(connected(address, observer, span)))
            return
        local = stack.enter_context(_LocalCluster(workers))
        connecting = partial(connected, address, observer, span, local.started)
        yield Connection(lambda: stack.enter_context(connecting()), local.begin, workers)
        if not local.has_begun:
            observer.notice(f"cluster: `{address}` was not started: there was too little to do")


class _LocalCluster:
    """A cluster on this machine that is started at most once, in another thread."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._starting: Future[Any] | None = None

    @property
    def has_begun(self) -> bool:
        """Whether it was started."""
        return self._starting is not None

    def begin(self) -> Future[Any]:
        """Start the cluster, without waiting for it."""
        if self._starting is None:
            self._starting = in_background(partial(started_here, self._workers))
        return self._starting

    def started(self) -> Any:
        """Return the cluster once it is started."""
        return self.begin().result()

    def __enter__(self) -> _LocalCluster:
        return self

    def __exit__(self, *_: object) -> None:
        if self._starting is not None and self._starting.exception() is None:
            with self._starting.result():
                pass  # it ends here

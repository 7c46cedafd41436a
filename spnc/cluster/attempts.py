"""Work on a cluster, which is done again if workers, or the scheduler for a while, were lost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from spnc.cluster import heartbeats, worker
from spnc.cluster.heartbeats import Heartbeats
from spnc.cluster.shard_tasks import ChangedRowsError
from spnc.cluster.trouble import lost_errors, report_lost, report_workers
from spnc.common.tree_sum import additions
from spnc.diagnostics import InputError

Found = TypeVar("Found")
ATTEMPTS = 5  # at work during which workers are lost, or the scheduler
PAUSE = 2.0  # seconds before another attempt: a worker that died is started again meanwhile
_LOOK_SECONDS = 0.1  # between two looks whether the client is connected again


@dataclass(frozen=True)
class Tasks:
    """Gives work to workers: to those that give signs of life, or to any if none is silent."""

    client: Any
    workers: list[str] | None = None  # None: any
    only: str | None = None  # a worker, which nobody else can replace
    needed: set[str] = field(default_factory=set)  # all workers that were named in this way

    @property
    def place(self) -> dict[str, Any]:
        """The arguments of Dask that choose the workers; others are taken if these are gone."""
        if self.only is not None:
            return {"workers": [self.only]}
        if self.workers is None:
            return {}
        return {"workers": self.workers, "allow_other_workers": True}

    def on(self, address: str) -> Tasks:
        """Return what gives work to this worker only, as it has what the work needs."""
        self.needed.add(address)
        return replace(self, only=address)

    def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker that there is; wait for one if need be."""
        while True:
            found = self.client.scheduler_info(n_workers=-1)["workers"]
            usable = found if self.workers is None else found.keys() & set(self.workers)
            if usable:
                return {address: int(found[address]["nthreads"]) for address in sorted(usable)}
            if self.client.status != "running":
                raise OSError("the scheduler was lost")
            time.sleep(_LOOK_SECONDS)

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return the future of what some work returns."""
        return self.client.submit(work, *arguments, pure=False, **self.place)

    def sent(self, value: Any) -> Any:
        """Return the future of a value, which workers get from one another.

        It is the result of a task, which is done again if its worker is lost. Scattered data would
        be lost, and to scatter may take for ever if a worker dies meanwhile.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the value is large
            return self.submit(worker.unchanged, value)

    def kept(self, value: Any, addresses: Iterable[str]) -> dict[str, Any]:
        """Return futures of a value that was sent, for each of these workers its own.

        Dask soon deletes copies that workers have got from one another, and each of them would have
        to get it, and to prepare it, again.
        """
        return {one: self.on(one).submit(worker.unchanged, value) for one in sorted(set(addresses))}

    def added_up(self, terms: list[Any], plus: Callable[[Any, Any], Any]) -> Any:
        """Return the sum of futures, added by workers in the fixed order."""
        for first, second in additions(len(terms)):
            terms[first] = self.submit(plus, terms[first], terms[second])
        return terms[0].result()


class Attempts:
    """Has work done on a cluster, whatever is lost meanwhile."""

    def __init__(self, client: Any) -> None:
        self.client, self.heartbeats = client, Heartbeats(client)

    def at(
        self,
        work: Callable[[Tasks], Found],
        forget: Callable[[], None],
        spread: Callable[[], None] | None = None,
    ) -> Found:
        """Return the result of some work.

        `forget` is called before another attempt: what was on the cluster may be there no more. In
        its place, `spread` is called where single workers were lost, and others do their work.
        Stops with a diagnostic if the cluster is gone (E514), or its workers cannot be used (E513);
        what the work itself raises is raised.
        """
        attempt = 1
        while True:
            connection = self.client.scheduler_comm
            try:
                return self._awaited(work)
            except InputError:
                raise
            except (worker.OtherVersionError, ImportError) as error:
                report_workers(error)
            except ChangedRowsError as error:
                error.stop()
            except heartbeats.NoAnswerError as error:
                report_lost(self.client, error)
            except heartbeats.SilentWorkerError:
                (spread or forget)()
            except Exception as error:
                calm = self.client.status == "running" and self.client.scheduler_comm is connection
                if calm and not isinstance(error, lost_errors()):
                    raise  # the work itself has failed
                if attempt == ATTEMPTS or not self._connected_again():
                    report_lost(self.client, error)
                forget()
                time.sleep(PAUSE * attempt)
                attempt += 1

    def _awaited(self, work: Callable[[Tasks], Found]) -> Found:
        needed: set[str] = set()

        def given(chosen: list[str] | None) -> Found:
            return work(Tasks(self.client, chosen, needed=needed))

        return self.heartbeats.awaited(given, needed)

    def _connected_again(self) -> bool:
        """Wait while the client looks for its scheduler; return whether it was found."""
        until = time.monotonic() + heartbeats.LOST_SECONDS
        while self.client.status == "connecting" and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        found: bool = self.client.status == "running"
        return found

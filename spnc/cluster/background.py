"""Work in a thread that does not keep the process from ending."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Found = TypeVar("Found")


def in_background(work: Callable[[], Found]) -> Future[Found]:
    """Return what some work will return."""
    result: Future[Found] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # for whoever waits for the result
            result.set_exception(error)

    Thread(target=run, daemon=True, name="spnc-cluster").start()
    return result

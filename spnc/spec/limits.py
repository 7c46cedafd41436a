"""`Limits`: how much time and memory a training may take; and `--budget`, which is a time limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spnc.common.quantities import (
    MOST_SECONDS,
    TIMES,
    Bytes,
    Seconds,
    seconds_in,
    size_text,
    time_text,
)
from spnc.diagnostics import Sink, Source
from spnc.registry import Conflict, Options, option
from spnc.spec.override import COMMAND_LINE


@dataclass(frozen=True, kw_only=True)
class Limits(Options):
    """How much time and memory training may take. They are no part of what is trained: neither
    the model nor `recipe.lock.yaml` has them."""

    time: Seconds | None = option(
        None,
        "training ends here and keeps the best so far; interrupted and resumed runs count together",
    )
    memory: Bytes | None = option(
        None, "the resident memory of the process; training that would take more is ended"
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report limits that limit nothing."""
        if self.time is None and self.memory is None:
            yield Conflict("", "`limits` has neither `time` nor `memory`", "give one, or remove it")

    def options_beside(self, command: str) -> str:
        """Return options of `spnc train` that set these limits, unless a command has them."""
        found = ""
        if self.time is not None and " --budget " not in command:
            found += f" --budget {time_text(self.time)}"
        if self.memory is not None and "limits.memory=" not in command:
            found += f" --set limits.memory={size_text(self.memory)}"
        return found


def read_budget(text: str, sink: Sink) -> Seconds | None:
    """Return the seconds in the text of `--budget`; None after reporting what is wrong (E137)."""
    seconds = seconds_in(text)
    if seconds is not None and 0.0 < seconds <= MOST_SECONDS:
        return Seconds(seconds)
    source = Source(COMMAND_LINE, f"--budget {text}")
    message = f"`{text}` is not a time to spend"
    if seconds is not None:
        message += ": it has to be " + ("above 0" if seconds <= 0.0 else "at most 1000 hours")
    span = source.span_at(9, 9 + max(1, len(text)))
    sink.error("E137", message, span, help=f"write it as {TIMES}")
    return None

"""How long reads and downloads tell how far they are."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called as bytes arrive: what is read, how many so far, how many in all (None: unknown)."""

    def __call__(self, label: str, done: int, total: int | None) -> None:
        """Take note of the progress; must return quickly."""

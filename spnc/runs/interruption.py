"""What is raised when a run was interrupted (`spnc.common.signals`) and what there is was saved."""

from __future__ import annotations

from collections.abc import Sequence

from spnc.diagnostics import Diagnostic


class Interrupted(KeyboardInterrupt):
    """A run was interrupted, and what there is was saved; the text says where, and how to resume.

    `diagnostics` are the warnings up to that point.
    """

    def __init__(self, text: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(text)
        self.diagnostics = tuple(diagnostics)

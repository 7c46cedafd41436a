"""How often a training keeps its work: components, links, decoders, data and checkpoints."""

from __future__ import annotations

from spnc.runs import folder, kept_data, kept_work


def keep_every(seconds: float) -> None:
    """Let this process keep all its work this often, so that a short training is as a long one."""
    folder.CHECKPOINT_SECONDS = kept_work.SECONDS = kept_data.SECONDS = seconds

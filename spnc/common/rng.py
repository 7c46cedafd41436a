"""Random streams by name: every consumer has its own, whatever the order they are used in."""

from __future__ import annotations

import hashlib

import numpy as np


def random_stream(seed: int, *labels: str | int) -> np.random.Generator:
    """A generator for one purpose. Equal seed and labels, equal numbers."""
    text = "/".join(str(label) for label in labels)
    digest = hashlib.sha256(text.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))

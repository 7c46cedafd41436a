"""Random streams by name: each consumer has its own, independent of the order of use."""

from __future__ import annotations

import hashlib

import numpy as np


def random_stream(seed: int, *labels: str | int) -> np.random.Generator:
    """Return a generator for one purpose: equal seed and labels give equal numbers."""
    text = "/".join(str(label) for label in labels)
    digest = hashlib.sha256(text.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))

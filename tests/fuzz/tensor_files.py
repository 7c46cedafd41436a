"""Safetensors files, of which models and checkpoints are two kinds: taken apart and changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from numpy.typing import NDArray

from tests.fuzz.mutation import mutated_arrays, mutated_bytes, mutated_json

Tensors = dict[str, NDArray[Any]]
Seal = Callable[[Any, Tensors], bytes]


def parts_of(content: bytes, key: str) -> tuple[Any, Tensors] | None:
    """Return the description and the arrays of a file; None if it cannot be taken apart."""
    from safetensors.numpy import load

    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        # The order of arrays in memory changes from call to call.
        return json.loads(header["__metadata__"][key]), dict(sorted(load(content).items()))
    except Exception:  # of a damaged file, or of one with types that numpy does not have
        return None


def mutated_tensors(content: bytes, key: str, random: Random, seal: Seal) -> bytes:
    """Return the file with another description or other arrays, and with a correct checksum.

    A few are damaged bytes instead, as are those that cannot be taken apart.
    """
    parts = parts_of(content, key) if random.random() < 0.9 else None
    if parts is None:
        return mutated_bytes(content, random)
    about, tensors = parts
    for _ in range(random.randint(1, 3)):
        if random.random() < 0.5:
            about = mutated_json(about, random)
        else:
            tensors = mutated_arrays(tensors, random)
    return seal(about, tensors)

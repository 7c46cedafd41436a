"""Safetensors files, of which models and checkpoints are two kinds: taken apart and changed."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load, save

from spnc.common.sealed import sealed_arrays
from tests.fuzz.mutation import mutated_arrays, mutated_bytes, mutated_json

Tensors = dict[str, NDArray[Any]]


def parts_of(content: bytes, key: str) -> tuple[Any, Tensors] | None:
    """Return the description and the arrays of a file; None if it cannot be taken apart."""
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        # The order of arrays in memory changes from call to call.
        return json.loads(header["__metadata__"][key]), dict(sorted(load(content).items()))
    except Exception:  # of a damaged file, or of one with types that numpy does not have
        return None


def mutated_tensors(content: bytes, key: str, random: Random) -> bytes:
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
    return resealed(key, about, tensors)


def resealed(key: str, about: Any, tensors: Tensors) -> bytes:
    """Return a file with this description and these arrays; one with a dict has a checksum."""
    if isinstance(about, dict):
        return sealed_arrays(key, {k: v for k, v in about.items() if k != "sha256"}, tensors)
    return save(tensors, metadata={key: json.dumps(about)})

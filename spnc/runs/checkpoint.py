"""Checkpoints: the state of training as a safetensors file with a checksum of itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spnc.common.savepoints import Piece
from spnc.common.sealed import read_sealed_arrays, sealed_arrays
from spnc.data.dataset import Dataset
from spnc.program.program import Parameters, Program
from spnc.runs.lock import recipe_text
from spnc.spec.recipe import Recipe
from spnc.training import State
from spnc.training.stored_state import restored_state, stored_state

FORMAT = "spnc-checkpoint"


def fingerprint(recipe: Recipe, dataset: Dataset, program: Program, parameters: Parameters) -> str:
    """Return a digest of what a checkpoint belongs to: recipe, data, circuit, first parameters."""
    sha = hashlib.sha256(dataset.digest.encode())
    sha.update(recipe_text(recipe).encode())
    for segment in program.segments:
        sha.update(f"{segment.is_sum} {segment.first} {segment.last}".encode())
        sha.update(segment.starts.tobytes() + segment.children.tobytes())
    sha.update(parameters.weights.tobytes())
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        sha.update(leaf.distribution.encode() + leaf.variables.tobytes() + table.tobytes())
    return sha.hexdigest()


def state_bytes(state: State, fingerprint: str) -> bytes:
    """Return the content of a checkpoint; `fingerprint` says which run it belongs to."""
    about, tensors = stored_state(state)
    return sealed_arrays(FORMAT, {"fingerprint": fingerprint, **about}, tensors)


def read_state(path: Path, fingerprint: str, like: Parameters) -> State | None:
    """Return the state in a file; None if it belongs to another run.

    `like` are the parameters that training began with. Raises OSError, LookupError, TypeError or
    ValueError for other files.
    """
    about, tensors = read_sealed_arrays(FORMAT, path.read_bytes())
    if about["fingerprint"] != fingerprint:
        return None
    return restored_state(Piece(about, tensors), like)

"""The circuit before training as kept work, and which kept work belongs to which recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spnc.common.savepoints import NOTHING_KEPT, Piece, Savepoints
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.options import DataOptions
from spnc.diagnostics import Diagnostic
from spnc.program.model_file import SavedModel, checked_model, model_parts
from spnc.program.program import Parameters, Program
from spnc.registry.usage import suppliers, used_plugins
from spnc.runs.lock import recipe_text, versions
from spnc.spec.recipe import Recipe
from spnc.spec.recipe_keys import circuit_key, forest_key
from spnc.spec.relocate import files_of

_DONE = "done"


def of_forest(savepoints: Savepoints, recipe: Recipe) -> Savepoints:
    """Return the part of savepoints that is about a recipe's forest before links."""
    if savepoints is NOTHING_KEPT:
        return savepoints
    return savepoints.within(f"forest {_digest(forest_key(recipe))}, ")


def of_circuit(savepoints: Savepoints, recipe: Recipe) -> Savepoints:
    """Return the part of savepoints that is about a recipe's links and circuit."""
    if savepoints is NOTHING_KEPT:
        return savepoints
    return savepoints.within(f"circuit {_digest(circuit_key(recipe))}, ")


def _digest(recipe: Recipe) -> str:
    """Return a digest of everything but the data that the result of a recipe depends on."""
    sha = hashlib.sha256(versions().encode())
    sha.update(recipe_text(recipe).encode())
    sha.update(repr(suppliers(used_plugins([recipe]))).encode())
    for file in sorted(files_of(replace(recipe, data=DataOptions()))):  # circuits, for example
        if file.is_file():
            sha.update(file.read_bytes())
    return sha.hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class KeptCircuit:
    """A circuit that is ready for training, how long it took, and the warnings on the way."""

    program: Program
    parameters: Parameters
    seconds: Mapping[str, float]
    warnings: Sequence[Diagnostic]


def keep_circuit(savepoints: Savepoints, recipe: Recipe, circuit: KeptCircuit) -> None:
    """Keep a circuit in place of everything that it was made from, if the run keeps anything."""

    def make() -> Piece:
        about, arrays = model_parts(SavedModel("", circuit.program, circuit.parameters, {}))
        warnings = [d.as_json() for d in circuit.warnings]
        more = {"seconds": list(circuit.seconds.items()), "warnings": warnings}
        return Piece({**about, **more}, arrays)

    of_circuit(savepoints, recipe).later(_DONE, make, replaces="")
    savepoints.settle()


def kept_circuit(savepoints: Savepoints, recipe: Recipe, dataset: Dataset) -> KeptCircuit | None:
    """Return the circuit of a recipe if it was kept."""
    own = of_circuit(savepoints, recipe)
    piece = own.load(_DONE)
    if piece is None:
        return None
    try:
        return _restored(piece, dataset.columns)
    except (LookupError, TypeError, ValueError) as error:
        own.unusable(_DONE, str(error) or type(error).__name__)
        return None


def _restored(piece: Piece, columns: tuple[Column, ...]) -> KeptCircuit:
    found, problems = checked_model(piece.about, piece.arrays)
    if problems or found is None:
        raise ValueError(problems[0])
    if found.program.columns != columns:
        raise ValueError("its columns are not those of the data")
    seconds = {str(name): float(value) for name, value in piece.about["seconds"]}
    warnings = [Diagnostic.from_json(each) for each in piece.about["warnings"]]
    program = replace(found.program, columns=columns)
    return KeptCircuit(program, found.parameters, seconds, warnings)

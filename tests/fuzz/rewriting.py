"""Recipes and circuits that were accepted: written again, they are accepted, and mean the same."""

from __future__ import annotations

import json

import numpy as np

from spnc import checks
from spnc.compilation import circuit_model
from spnc.diagnostics import Sink, Source
from spnc.graph.interchange import read_node_link_text, to_node_link
from spnc.graph.nodes import Graph
from spnc.graph.text import read_circuit_text, write_circuit_text
from spnc.program.program import Parameters
from spnc.registry import BACKENDS
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Recipe
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml

_ROUNDING = 1e-6  # of the log-likelihood of an empty row, which is zero


def check_recipe(recipe: Recipe) -> None:
    """Raise AssertionError if the recipe, written in a notation, is another recipe."""
    for ending, write in ((".yaml", write_yaml), (".spn", write_dsl)):
        text = write(recipe)
        sink = Sink()
        again = recipe_from(Source(f"again{ending}", text), sink)
        assert again is not None, f"written as {ending}, it is refused: {sink.diagnostics}\n{text}"
        assert again == recipe, f"written as {ending}, it is another recipe:\n{text}"


def check_circuit(graph: Graph) -> None:
    """Raise AssertionError if a checked circuit, written and read again, is not accepted."""
    text = write_circuit_text(graph, "again")
    sink = Sink()
    again = read_circuit_text(Source("again.spn", text), sink)
    assert again is not None, f"written as .spn, it is refused: {sink.diagnostics}\n{text}"
    checks.check(again, sink)
    assert not sink.failed, f"written as .spn, it is refused: {sink.diagnostics}\n{text}"
    text = json.dumps(to_node_link(graph))
    again = read_node_link_text(Source("again.json", text), sink)
    assert again is not None, f"written as .json, it is refused: {sink.diagnostics}\n{text}"
    model = circuit_model(graph)
    check_total(model.program, model.parameters)


def check_total(program: object, parameters: Parameters) -> None:
    """Raise AssertionError if the probabilities of a model do not add up to one."""
    from spnc.data.table import Table
    from spnc.program.program import Program

    assert isinstance(program, Program)
    engine = BACKENDS["numpy"]().open(program)
    empty = Table(np.full((1, len(program.columns)), np.nan))
    total = engine.log_likelihood(parameters, engine.load(empty))
    assert abs(total[0]) < _ROUNDING, f"the log-likelihood of an empty row is {total[0]}"

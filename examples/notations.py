"""Convert a spec between its two notations, and a circuit between text, JSON and networkx.

A spec in YAML and in the language is the same recipe, comments included. A circuit gives the same
log-likelihoods as text, as node-link JSON and as a networkx graph. On the command line,
`spnc format FILE --to yaml|dsl|json` does the same.
"""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np

import spnc
from spnc.diagnostics import Sink, Source
from spnc.graph.interchange import to_networkx, to_node_link
from spnc.spec.read import read_recipe, recipe_from
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml

SPECS = Path(__file__).resolve().parent.parent / "specs"


def main() -> None:
    sink = Sink()
    recipe = read_recipe(SPECS / "mixed.yaml", sink)
    assert recipe is not None, sink.diagnostics
    text = write_dsl(recipe)
    print(text)
    back = recipe_from(Source("mixed.spn", text), sink)
    assert back is not None, sink.diagnostics
    print(f"read back, it is the same recipe: {back == recipe}")
    same = write_yaml(back) == (SPECS / "mixed.yaml").read_text(encoding="utf-8")
    print(f"written as YAML, it is the same text, comments and all: {same}\n")

    model = spnc.compile(SPECS / "circuits/tea.spn")
    data = json.loads(json.dumps(to_node_link(model.graph())))
    print(f"node-link JSON: {len(data['nodes'])} nodes, {len(data['edges'])} edges; its last node:")
    print(f"  {data['nodes'][-1]}")
    graph = to_networkx(model.graph())
    print(f"networkx: the longest path has {nx.dag_longest_path_length(graph, weight=None)} edges")

    cup = [[0, 1, 1, np.nan, 1]]  # assam, medium, with milk, sugar unknown, and one more
    forms = {"text": model, "JSON": spnc.compile(data), "graph": spnc.compile(graph)}
    for name, form in forms.items():
        print(f"log-likelihood of a cup by the {name}: {form.log_likelihood(cup)[0]:.12f}")


if __name__ == "__main__":
    main()

"""Build a circuit by hand as a networkx graph, then check it and compute probabilities.

Rain or a sprinkler makes the grass wet. The circuit is a sum over two kinds of weather; when it
rains, the sprinkler is usually off. At the end one edge is removed, to show what a diagnostic
looks like.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

import spnc


def garden() -> nx.DiGraph[str]:
    graph = nx.DiGraph(name="garden", variables=["rain", "sprinkler", "wet"])
    graph.add_node("weather", kind="sum")
    for sky, chance in (("rainy", 0.2), ("dry", 0.8)):
        graph.add_node(sky, kind="product")
        graph.add_edge("weather", sky, weight=chance)
    leaves = {
        "rainy": {"rain": 1.0, "sprinkler": 0.01, "wet": 0.9},
        "dry": {"rain": 0.0, "sprinkler": 0.4, "wet": 0.35},
    }
    for sky, chances in leaves.items():
        for variable, p in chances.items():
            leaf = f"{variable}, {sky}"
            graph.add_node(leaf, kind="leaf", variable=variable, distribution="bernoulli", p=p)
            graph.add_edge(sky, leaf)
    return graph


def main() -> None:
    graph = garden()
    print(f"problems: {spnc.check(graph)}")

    model = spnc.compile(graph)
    rows = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0]])
    for row, value in zip(rows, np.exp(model.log_likelihood(rows)), strict=True):
        print(f"P(rain, sprinkler, wet = {row}) = {value:.4f}")

    # A missing value is summed out, in the same single pass.
    wet, rain_and_wet = model.log_likelihood([[np.nan, np.nan, 1], [1, np.nan, 1]])
    print(f"P(wet) = {np.exp(wet):.4f}")
    print(f"P(rain | wet) = {np.exp(rain_and_wet - wet):.4f}")

    graph.remove_edge("dry", "sprinkler, dry")
    print("\nwithout an edge:")
    for problem in spnc.check(graph):
        print(f"{problem.code}: {problem.message}")
        for note in problem.notes:
            print(f"  {note}")


if __name__ == "__main__":
    main()

"""HTML pages without a browser: parse them, and check that they are well formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from spnc.cli import main
from spnc.graph.nodes import Graph
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS

VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


@dataclass(eq=False)
class Element:
    """An element, its own text and its children."""

    tag: str
    attributes: dict[str, str | None]
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, *tags: str) -> list[Element]:
        """Return all descendants with one of these tags, in order."""
        found = []
        for child in self.children:
            if child.tag in tags:
                found.append(child)
            found += child.all(*tags)
        return found

    def words(self) -> str:
        """Return all text in the element."""
        return self.text + "".join(child.words() for child in self.children)

    def has(self, class_: str) -> bool:
        """Return whether the element has a CSS class."""
        return class_ in (self.attributes.get("class") or "").split()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.at = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice"
        made = Element(tag, dict(attrs), self.at)
        self.at.children.append(made)
        if tag not in VOID:
            self.at = made

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.text += data


def read_page(text: str) -> Element:
    """Parse a page; fail if an element is not closed, or closed by another tag."""
    assert text.startswith("<!DOCTYPE html>")
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.at is reader.root, f"<{reader.at.tag}> is not closed"
    return reader.root


def opened(graph: Graph, name: str = "some") -> Model:
    """Return a circuit as a model on the numpy backend."""
    return Model(name, *lower(graph), {}, BACKENDS["numpy"]())


# Pixel columns, a search, links and pruning: a run whose page has all sections.
PIXELS = """
model: digits
data: {source: builtin:digits, split: [0.7, 0.15, 0.15]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 200, beta: {search: [0.3, 0.6]}}
residual: {strategy: greedy-bfs, links: share}
prune: {flow_below: 0.001}
optimizer: {max_iterations: 5}
backend: numpy
"""


def trained(folder: Path, spec: str, rows: str | None = None) -> Path:
    """Train a spec and return its run folder."""
    if rows is not None:
        (folder / "rows.csv").write_text(rows, encoding="utf-8")
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    assert main(["train", str(folder / "spec.yaml"), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"

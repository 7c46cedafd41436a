"""Links between pages lead somewhere; the architecture page and the imports agree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.places import ROOT

PATTERNS = ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md")
PAGES = sorted(p.relative_to(ROOT).as_posix() for each in PATTERNS for p in ROOT.glob(each))
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {text.replace(" ", "-") for text in kept}


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    broken = []
    for link in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = folder / name if name else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def rooms() -> list[str]:
    """The folders and modules of the package."""
    parts = (ROOT / "spnc").iterdir()
    found = {p.stem for p in parts if p.suffix == ".py" or (p / "__init__.py").is_file()}
    return sorted(found - {"__init__", "__main__"})


@pytest.mark.parametrize("room", rooms())
def test_the_architecture_page_names_every_room(room: str) -> None:
    assert re.search(rf"^\| `{room}(/|\.py)?` \|", ARCHITECTURE, re.MULTILINE)


def ranks() -> dict[str, int]:
    """The rooms of the import order on the architecture page; a lower room has a higher rank."""
    start = ARCHITECTURE.index("## Who may import whom")
    [block] = re.findall(r"^\n((?:    .+\n)+)", ARCHITECTURE[start:], re.MULTILINE)
    found: dict[str, int] = {}
    for line in block.splitlines():
        for step in line.split("->"):
            rank = len(set(found.values()))
            found |= {room.strip(): rank for room in step.split(",")}
    return found


def imports(room: str) -> set[str]:
    """The other rooms that a room imports, also inside functions, but not for types only."""
    home = ROOT / "spnc" / room
    files = home.rglob("*.py") if home.is_dir() else [home.with_suffix(".py")]
    found: set[str] = set()
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for_types = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if id(node) in for_types:
                continue
            if isinstance(node, ast.ImportFrom) and node.module == "spnc":
                found |= {f"spnc.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("spnc.")} - {room}


@pytest.mark.parametrize("room", [room for room in ranks() if room in rooms()])
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    order = ranks()
    upwards = {other for other in imports(room) if order.get(other, len(order)) <= order[room]}
    assert upwards == set()

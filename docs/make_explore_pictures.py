"""Draw `docs/pictures/explore-*.png`: pages that can be asked, as Chromium shows them.

python docs/make_explore_pictures.py    # trains specs/iris.yaml and specs/quickstart.yaml first
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import spnc

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser import BROWSER, WHY_NOT, Tab, browser  # noqa: E402

WIDTH = 1100
SEARCH = 2.0  # seconds in which a likely row is found


def drag(tab: Tab, selector: str, places: list[tuple[float, float]]) -> None:
    """Drag the mouse across an element; places are shares of its width and height."""
    box = tab.box(selector)
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in places]
    tab.mouse("mousePressed", *points[0], button="left", clickCount=1)
    for point in points[1:]:
        tab.mouse("mouseMoved", *point, button="left", buttons=1)
    tab.mouse("mouseReleased", *points[-1], button="left", clickCount=1)


def finish(tab: Tab, target: Path) -> None:
    """Scroll to the top, wait for a likely row, and save the picture."""
    tab.ask("document.activeElement.blur(); scrollTo(0, 0)")
    time.sleep(SEARCH)
    tab.picture(target)


def draw_iris(tab: Tab, page: Path, target: Path) -> None:
    """Flowers with petals of 4.7 to 6 cm."""
    tab.open(page, width=WIDTH)
    tab.resize(WIDTH, 870)
    drag(tab, "[aria-label=petal_length] .chart", [(0.62, 0.5), (0.7, 0.5), (0.83, 0.5)])
    finish(tab, target)


def draw_digits(tab: Tab, page: Path, target: Path) -> None:
    """A digit of which two strokes are drawn."""
    tab.open(page, width=WIDTH, dark=True)
    tab.resize(WIDTH, 700)
    pixel = [(2, 0), (3, 0), (4, 0), (5, 0), (5, 1), (5, 2), (4, 3)]
    drag(tab, ".board", [((x + 0.5) / 8, (y + 0.5) / 8) for x, y in pixel])
    finish(tab, target)


def main() -> None:
    """Train both models, write their pages, and draw them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures")
    arguments = parser.parse_args()
    if BROWSER is None:
        parser.error(WHY_NOT)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        pages = [
            spnc.train(ROOT / f"specs/{spec}.yaml").model.explore(folder / f"{spec}.html")
            for spec in ("iris", "quickstart")
        ]
        with browser(folder / "profile") as tab:
            draw_iris(tab, pages[0], arguments.out / "explore-iris.png")
            draw_digits(tab, pages[1], arguments.out / "explore-digits.png")


if __name__ == "__main__":
    main()

"""Draw `docs/pictures/report-*.png`: the page about a run, as Chromium shows it.

python docs/make_report_pictures.py               # trains specs/quickstart.yaml first
python docs/make_report_pictures.py --run RUN     # takes a run folder of `spnc train`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from spnc.cli import main as spnc_command

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser import BROWSER, WHY_NOT, browser  # noqa: E402

SHOWN = (("report-top", "header", False, 980), ("report-rows", "#rows", True, 980))


def draw(run: Path, target: Path) -> None:
    """Draw the top of the page in light colours, and the least likely rows in dark ones."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "report.html"
        spnc_command(["report", str(run), "-o", str(page), "--quiet"])
        with browser(Path(folder) / "profile") as tab:
            for name, where, dark, height in SHOWN:
                tab.open(page, width=1200, dark=dark)
                tab.resize(1200, height)
                tab.box(where, "start")
                target.mkdir(parents=True, exist_ok=True)
                tab.picture(target / f"{name}.png")


def main() -> None:
    """Draw the pictures; train first if no run is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", type=Path, help="a run folder of specs/quickstart.yaml")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures")
    arguments = parser.parse_args()
    if BROWSER is None:
        parser.error(WHY_NOT)
    with tempfile.TemporaryDirectory() as folder:
        run = arguments.run
        if run is None:
            run = Path(folder) / "quickstart"
            spnc_command(["train", str(ROOT / "specs/quickstart.yaml"), "--out", str(run)])
        draw(run, arguments.out)


if __name__ == "__main__":
    main()

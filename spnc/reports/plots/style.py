"""The style of all pictures: colours, fonts, and files that are the same bytes every time."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text

from spnc.common.wording import visible

INK, GREY, FAINT = "#222222", "#8a8a8a", "#e6e6e6"
# Okabe and Ito's colours, which colour-blind readers can tell apart; darker ones first.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222")
# From white to dark with falling lightness, so that it also works in greyscale.
AMOUNT = LinearSegmentedColormap.from_list(
    "amount",
    ["#ffffff", "#e3f4e1", "#b5e2cf", "#71c6c2", "#3a9fc4", "#2a6cb0", "#20357f", "#07143f"],
)

_STYLE: Any = {
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "savefig.dpi": 150,
    "savefig.bbox": "tight",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.edgecolor": "none",
    "text.parse_math": False,  # a `$` in a name is a dollar sign
    "svg.hashsalt": "spnc",
}
_METADATA = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}


@contextmanager
def house_style() -> Iterator[None]:
    """Make figures look the same whatever the matplotlib settings of the user are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the font lacks shows as boxes; that is no reason to warn.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def image(figure: Figure, suffix: str) -> bytes:
    """Return the content of a .png or .svg file of the figure, without date or version."""
    # Names of columns and units come from files; an SVG also repeats them in comments.
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        shown = visible(text.get_text(), keep="\n")
        if shown != text.get_text():
            text.set_text(shown)
    content = io.BytesIO()
    figure.savefig(content, format=suffix.removeprefix("."), metadata=_METADATA[suffix])
    return content.getvalue()


def number(value: float, form: str) -> str:
    """Return a number as text, with the minus sign that the axes use."""
    return format(value, form).replace("-", "\N{MINUS SIGN}")

"""The page about a run in a real browser: window sizes, paper, without script, names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import BACKGROUND, BROWSER, WHY_NOT, Tab

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 2200])
@pytest.mark.parametrize("name", ["digits", "asia", "wide"])
def test_the_page_never_scrolls_sideways(
    tab: Tab, pages: dict[str, Path], name: str, width: int
) -> None:
    tab.open(pages[name], width=width)
    assert tab.ask("document.documentElement.scrollWidth") <= width
    assert tab.ask("[...document.querySelectorAll('h2')].every(h => h.checkVisibility())")


# Find everything that a reader cannot see: outside of frames, elements that reach beyond the
# window; inside a frame, cells that stay outside when it is scrolled to the end; text that is wider
# than its cell.
CUT_OFF = """
(() => {
  const bad = [];
  const say = (what, e) => bad.push(`${what}: ${e.tagName} ${e.textContent.slice(0, 40)}`);
  for (const e of document.querySelectorAll('body *:not(.skip)')) {
    const { right, left, width } = e.getBoundingClientRect();
    if (!width || !e.checkVisibility() || e.closest('.frame > *, svg > *')) continue;
    if (right > innerWidth + 1 || left < -1) say('beyond the window', e);
  }
  for (const frame of document.querySelectorAll('.frame')) {
    const inside = frame.getBoundingClientRect();
    const caption = frame.querySelector('caption span').getBoundingClientRect();
    if (caption.right > inside.right) say('caption', frame);
    frame.scrollLeft = frame.scrollWidth;
    for (const row of frame.querySelectorAll('tr')) {
      const last = row.cells[row.cells.length - 1].getBoundingClientRect();
      if (last.right > inside.right + 1) say('beyond its frame', row);
    }
    const name = frame.querySelector('tbody th').getBoundingClientRect();  // stays where it is
    const wide = frame.classList.contains('wide');
    if (wide && name.width > 0.6 * inside.width) say('names leave no room', frame);
    frame.scrollLeft = 0;
    if (frame.scrollWidth > frame.clientWidth && frame.tabIndex < 0) say('no keyboard', frame);
    for (const cell of frame.querySelectorAll('th, td')) {
      if (cell.scrollWidth > cell.clientWidth + 1) say('beyond its cell', cell);
    }
  }
  return bad;
})()
"""


@pytest.mark.parametrize("width", [360, 768, 1200, 1439, 1440, 1920])
def test_wide_tables_scroll_in_their_frames_and_nothing_is_cut_off(
    tab: Tab, pages: dict[str, Path], width: int
) -> None:
    tab.open(pages["wide"], width=width)
    tab.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    tab.picture(pages["wide"].with_suffix(".png"))  # forces a frame to be drawn
    assert tab.until(f"document.documentElement.scrollWidth <= {width}")
    assert tab.ask(CUT_OFF) == []
    scrolls = "[...document.querySelectorAll('.frame.wide')].map(f => f.closest('section').id)"
    assert "samples" in tab.ask(scrolls)
    if width >= 1200:
        assert "tries" not in tab.ask(scrolls)


def test_without_script_everything_is_there_and_nothing_that_does_nothing(
    tab: Tab, pages: dict[str, Path]
) -> None:
    tab.open(pages["digits"], script=False)
    # Expressions can still be evaluated, although the page may not run scripts.
    seen = "[...document.querySelectorAll('%s')].filter(e => e.checkVisibility()).length"
    for what, least in (("section", 9), ("section svg", 80), ("tbody tr", 60), (".curve", 2)):
        assert tab.ask(seen % what) >= least, what
    assert tab.ask(seen % "button") == 0
    assert tab.ask(seen % ".hint") == 0
    assert tab.troubles() == []


def test_on_paper_tables_are_whole_and_buttons_are_gone(page: Tab) -> None:
    assert page.paper().startswith(b"%PDF")
    page.prefer("dark")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.send("Emulation.setEmulatedMedia", media="print", features=features)
    try:
        seen = "[...document.querySelectorAll('%s')].filter(e => e.checkVisibility()).length"
        for what in ("nav", ".theme", ".copy", ".hint"):
            assert page.ask(seen % what) == 0, what
        assert page.ask(BACKGROUND) == "rgb(255, 255, 255)"
        frames = "[...document.querySelectorAll('.frame')]"
        assert page.ask(f"{frames}.every(f => f.scrollHeight <= f.clientHeight + 2)")
        assert page.ask(seen % "section svg") > 80
    finally:
        page.send("Emulation.setEmulatedMedia", media="", features=[])


def test_on_paper_wide_tables_fit_the_sheet(tab: Tab, pages: dict[str, Path]) -> None:
    sheet = 680  # pixels: the width of A4 in CSS, without the margins that the style sets
    tab.open(pages["wide"], width=sheet)
    tab.send("Emulation.setEmulatedMedia", media="print", features=[])
    try:
        tables = "[...document.querySelectorAll('table')].map(t => t.getBoundingClientRect().right)"
        assert max(tab.ask(tables)) <= sheet + 1
    finally:
        tab.send("Emulation.setEmulatedMedia", media="", features=[])


def test_everything_that_can_be_pressed_or_reached_has_a_name(page: Tab) -> None:
    nameless = """
    [...document.querySelectorAll('button, a, [tabindex], summary')]
      .filter(e => !(e.getAttribute('aria-label') || e.textContent).trim()).length
    """
    assert page.ask(nameless) == 0

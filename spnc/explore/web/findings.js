// What is found out after every change of the evidence, in slices between events: the columns that
// changed most, and a likely row.

const ROW_CELLS = 24; // of the likely row, before "and … more"
const SLICE = 12; // milliseconds of a search between two events
const PATIENCE = 150; // milliseconds without a change before a search begins

class Findings {
  constructor(explorer) {
    this.explorer = explorer;
    this.likely = new LikelyRow(explorer.circuit);
    this.changes = new Changes(explorer);
    this.moved = make("p", { class: "moved" });
    this.title = make("h3", {}, "A likely row");
    this.note = make("span", { class: "facts" });
    this.list = make("dl", { class: "cells-list" });
    this.elements = [this.moved,
      make("div", { class: "likely" }, make("div", { class: "title" }, this.title, this.note), this.list)];
  }

  // Begin anew, since the evidence has changed.
  look() {
    const { now } = this.explorer;
    clearTimeout(this.looking);
    if (!now.isPossible) { this.showRow(null); this.showChanges(); return; }
    const work = this.likely.search(now.evidence.slice(), (column) => this.explorer.range(column));
    const go = () => {
      const start = performance.now();
      let step;
      do {
        step = work.next();
        if (step.value) this.showRow(step.value);
      } while (!step.done && performance.now() - start < SLICE);
      if (!step.done) this.looking = setTimeout(go, 0);
    };
    this.looking = setTimeout(() => { this.showChanges(); go(); }, PATIENCE);
  }

  // Name the columns that have changed most; a press leads to their cards.
  showChanges() {
    if (this.explorer.board) return;
    const columns = this.changes.largest();
    this.moved.replaceChildren(columns.length ? "Changed most: " : "", ...columns.map((column) =>
      this.explorer.button(column.shown, () => this.explorer.goTo(column.index))));
  }

  showRow(found) {
    const { circuit, now, board } = this.explorer;
    const noun = board ? "picture" : "row";
    const title = found && found.exact ? `The most likely ${noun}` : `A likely ${noun}`;
    const words = found ? this.words(found) : "The evidence is impossible.";
    if (board) { board.show(found && found.row, `${title}: ${words}`); return; }
    this.title.textContent = title;
    this.note.textContent = words;
    this.list.replaceChildren();
    if (!found) return;
    const cells = circuit.columns.slice(0, ROW_CELLS).map((column) => make("div",
      now.evidence[column.index] ? { class: "given" } : {},
      make("dt", {}, column.shown), make("dd", {}, valueText(column, found.row[column.index]))));
    this.list.append(...cells);
    const rest = circuit.columns.length - ROW_CELLS;
    if (rest > 0) this.list.append(make("div", {}, make("dt", {}, `and ${rest.toLocaleString("en-US")} more`), make("dd", {}, "…")));
  }

  words({ logValue, exact }) {
    const { circuit, now } = this.explorer;
    const log = logValue - now.logProbability;
    const real = circuit.columns.some((column) => !column.isFinite && !column.isCount);
    const value = real ? `log density ${logText(log, 3)}` : `probability ${chanceText(Math.exp(log), log)}`;
    return `${value} given the evidence${exact ? "" : "; others may be more likely"}`;
  }
}

// A card of a column with states: one bar, which is a button, for each.

const FEW_STATES = 8; // that are shown until all are asked for
const MOST_LETTERS = 16; // of a label, before its middle is left out

class BarCard {
  constructor(explorer, column) {
    [this.explorer, this.column] = [explorer, column];
    this.chances = new Float64Array(column.states);
    this.element = make("div", { class: "bars" });
    const longest = Math.max(...column.labels.map((label) => label.length));
    this.element.style.setProperty("--label", `${Math.min(Math.max(longest, 2), MOST_LETTERS) + 1}ch`);
    this.prior = explorer.before.states(column.index);
    const order = [...this.prior.keys()];
    const cut = column.states > FEW_STATES + 2;
    // Of many states, the most likely ones come first.
    if (cut) order.sort((a, b) => this.prior[b] - this.prior[a]);
    this.bars = order.map((state) => this.bar(state));
    this.element.append(...this.bars.map((bar) => bar.button));
    if (cut) this.fold();
  }

  bar(state) {
    const label = this.column.labels[state];
    const [was, now] = [make("i", { class: "was" }), make("i", { class: "now" })];
    const share = make("span", { class: "share" });
    const name = make("span", { class: "label", title: label }, label === "" ? "(empty)" : shortened(label, MOST_LETTERS));
    const button = make("button", { type: "button", class: "bar", "aria-pressed": "false" },
      name, make("span", { class: "track" }, was, now), share);
    was.style.width = `${100 * this.prior[state]}%`;
    button.addEventListener("click", (event) => this.press(state, event.shiftKey || event.ctrlKey || event.metaKey));
    return { state, button, now, share, name };
  }

  fold() {
    const rest = this.bars.slice(FEW_STATES).map((bar) => bar.button);
    const more = make("button", { type: "button", class: "more", "aria-expanded": "false" });
    const show = (open) => {
      rest.forEach((button) => { button.hidden = !open; });
      more.textContent = open ? "Show fewer" : `Show all ${this.column.states.toLocaleString("en-US")}`;
      more.setAttribute("aria-expanded", String(open));
    };
    more.addEventListener("click", () => show(rest[0].hidden));
    show(false);
    this.element.append(more);
  }

  // A press takes one state as known, or takes it back; with Shift, it changes a set of states.
  press(state, add) {
    const { column, explorer } = this;
    const known = explorer.now.evidence[column.index];
    const states = new Uint8Array(column.states);
    if (add && known) states.set(known.states);
    const alone = known && known.states[state] && known.states.reduce((a, b) => a + b, 0) === 1;
    states[state] = add ? 1 - states[state] : Number(!alone);
    const count = states.reduce((a, b) => a + b, 0);
    explorer.change(column.index, count === 0 || count === column.states ? null : { states });
  }

  draw() {
    const { now } = this.explorer;
    const known = now.evidence[this.column.index];
    now.states(this.column.index, this.chances);
    for (const bar of this.bars) {
      const p = this.chances[bar.state];
      const text = now.isPossible ? chanceText(p) : "–";
      bar.now.style.width = `${100 * p}%`;
      bar.share.textContent = text;
      bar.button.setAttribute("aria-pressed", String(Boolean(known && known.states[bar.state])));
      bar.button.setAttribute("aria-label", `${this.column.labels[bar.state]}, ${text}`);
    }
  }
}

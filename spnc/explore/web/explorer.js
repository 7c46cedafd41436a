// The explorer: evidence and its history, the status line, and one card for each column.

const CHIPS = 12; // shown before "and … more"
const BEYOND = 0.25; // of the distance of the outer quantiles, that a chart shows beyond them
const SEARCH_FROM = 9; // columns from which a search field helps

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function draw(tag, attributes = {}) {
  const made = document.createElementNS("http" + "://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

class Explorer {
  constructor(root, source) {
    this.root = root;
    this.circuit = new Circuit(source);
    this.before = new Evaluator(this.circuit); // without evidence
    this.now = new Evaluator(this.circuit);
    this.findings = new Findings(this);
    this.history = [];
    this.ranges = new Map();
    const finite = this.circuit.columns.every((column) => column.isFinite);
    this.board = source.image && finite ? new PixelBoard(this, source.image) : null;
    this.build();
    this.update();
  }

  // ---- evidence ----

  change(column, evidence, goOn = false) { this.changeAll([[column, evidence]], goOn); }

  // Change the evidence of some columns; with `goOn`, as a part of the last change.
  changeAll(changes, goOn = false) {
    if (!goOn) this.history.push(this.now.evidence.slice());
    for (const [column, evidence] of changes) {
      this.now.observe(column, this.circuit.columns[column].recorded(evidence));
    }
    this.quick = goOn;
    this.schedule();
  }

  restore(evidence) {
    const changes = [];
    evidence.forEach((known, column) => {
      if (known !== this.now.evidence[column]) changes.push([column, known]);
    });
    this.changeAll(changes, true);
    this.settle();
  }

  undo() { if (this.history.length) this.restore(this.history.pop()); }

  reset() {
    if (!this.now.evidence.some(Boolean)) return;
    this.history.push(this.now.evidence.slice());
    this.restore(this.circuit.columns.map(() => null));
  }

  // The end of a drag: draw everything exactly.
  settle() {
    this.quick = false;
    this.schedule();
  }

  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.update(); });
  }

  update() {
    const start = performance.now();
    this.now.run();
    this.drawStatus();
    if (this.board) this.board.draw();
    for (const card of this.visible) this.drawCard(card);
    this.milliseconds = performance.now() - start;
    this.speed.textContent = `answered in ${this.milliseconds.toFixed(this.milliseconds < 10 ? 1 : 0)} ms`;
    this.findings.look();
  }

  // Return the values of a numeric column between which its chart is drawn.
  range(index) {
    if (!this.ranges.has(index)) this.ranges.set(index, this.findRange(this.circuit.columns[index]));
    return this.ranges.get(index);
  }

  findRange(column) {
    const { before } = this;
    const { scale, index } = column;
    const ends = before.bounds(index);
    const tolerance = scale ? 1e-4 * (scale.high - scale.low) : 1e-9;
    const [first, last] = [0.005, 0.995].map((share) => before.quantile(index, share, null, tolerance));
    // The values of the training table, but not so far out that the rest would have no room.
    const room = BEYOND * (last - first);
    let [low, high] = scale ? [Math.max(scale.low, first - room), Math.min(scale.high, last + room)] : [first, last];
    if (column.isCount) return [Math.max(0, Math.floor(low)), Math.max(Math.ceil(high), Math.floor(low) + 1)];
    const pad = high > low ? 0.03 * (high - low) : Math.max(column.resolution, 1e-9 * Math.abs(low));
    // Numbers that are never negative begin at zero.
    const least = low >= 0 && low < pad ? Math.max(0, ends[0]) : ends[0];
    [low, high] = [Math.max(low - pad, least), Math.min(high + pad, ends[1])];
    if (!(low < high)) [low, high] = ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : [ends[0], ends[0] + 1];
    return [low, high];
  }

  // ---- the page ----

  build() {
    const { circuit, root } = this;
    this.probability = make("strong", { class: "probability" });
    this.logarithm = make("span", { class: "logarithm" });
    this.chips = make("ul", { class: "chips", "aria-label": "Evidence" });
    this.undoButton = this.button("Undo", () => this.undo());
    this.resetButton = this.button("Reset", () => this.reset());
    this.question = make("code", { class: "question", tabindex: "0" });
    this.copyButton = this.button("Copy", () => this.copy());
    this.live = make("p", { class: "sr", role: "status", "aria-live": "polite" });
    this.speed = make("span", {});
    const status = make("div", { class: "status" },
      make("div", { class: "answer" }, make("span", { class: "what" }, "Probability of the evidence"), this.probability, this.logarithm),
      make("div", { class: "known" }, this.chips,
        make("div", { class: "asked" }, this.question, this.copyButton)),
      make("div", { class: "actions" }, this.undoButton, this.resetButton));
    this.list = make("ul", { class: "columns" });
    this.none = make("p", { class: "hint", hidden: "" }, "No column has such a name.");
    this.visible = new Set();
    this.cards = circuit.columns.map((column) => this.card(column));
    this.list.append(...this.cards.map((card) => card.item));
    const count = (n, noun) => `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;
    const size = make("p", { class: "facts" },
      `${count(circuit.columns.length, "column")}, ${count(circuit.edgeCount, "edge")}; `, this.speed);
    const hint = make("p", { class: "hint" }, "Click a bar or drag across a curve to say what is known; all other " +
      "columns answer. Shift-click adds a value to a set. Outlines show the columns without evidence.");
    root.append(status, this.live, hint, ...(this.board ? [this.board.element] : this.findings.elements),
      ...(circuit.columns.length >= SEARCH_FROM ? [this.search()] : []), this.list, this.none, size);
    root.addEventListener("keydown", (event) => {
      const typing = event.target.tagName === "INPUT";
      if ((event.ctrlKey || event.metaKey) && event.key === "z" && !typing) { event.preventDefault(); this.undo(); }
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.schedule());
    new MutationObserver(() => this.schedule()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  button(text, act) {
    const made = make("button", { type: "button" }, text);
    made.addEventListener("click", act);
    return made;
  }

  search() {
    const field = make("input", { type: "search", placeholder: "Find a column", "aria-label": "Find a column" });
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      let found = 0;
      for (const card of this.cards) {
        card.item.hidden = !card.column.shown.toLowerCase().includes(wanted);
        found += card.item.hidden ? 0 : 1;
      }
      this.none.hidden = found > 0;
    });
    return make("div", { class: "find" }, field);
  }

  // A card is filled when it comes into view.
  card(column) {
    const unit = column.unit && column.kind !== "date" ? ` (${column.unit})` : "";
    const title = make("h3", { title: column.shown }, column.shown, make("small", {}, unit));
    const item = make("li", { class: "card", role: "group", "aria-label": column.shown }, title);
    const card = { column, item, body: null };
    this.watcher = this.watcher || new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const own = this.cards[Number(entry.target.dataset.column)];
        if (entry.isIntersecting) { this.visible.add(own); this.drawCard(own); } else this.visible.delete(own);
      }
    }, { rootMargin: "300px" });
    item.dataset.column = column.index;
    this.watcher.observe(item);
    return card;
  }

  drawCard(card) {
    if (!card.body) {
      card.body = card.column.isFinite ? new BarCard(this, card.column) : new RangeCard(this, card.column);
      card.item.append(card.body.element);
    }
    card.item.classList.toggle("known", Boolean(this.now.evidence[card.column.index]));
    card.body.draw(this.quick);
  }

  goTo(index) {
    const card = this.cards[index];
    card.item.hidden = false;
    card.item.scrollIntoView({ block: "center" });
    this.drawCard(card);
    card.item.querySelector("button, [tabindex]").focus({ preventScroll: true });
  }

  drawStatus() {
    const { now, circuit } = this;
    const p = Math.exp(now.logProbability);
    const text = now.isPossible ? chanceText(p, now.logProbability) : "impossible";
    this.probability.textContent = text;
    this.logarithm.textContent = now.isPossible ? `log ${logText(now.logProbability, 4)}` : "";
    this.root.classList.toggle("impossible", !now.isPossible);
    this.undoButton.disabled = this.history.length === 0;
    const known = circuit.columns.filter((column) => now.evidence[column.index]);
    this.resetButton.disabled = known.length === 0;
    const question = questionText(circuit.columns, now.evidence);
    this.question.textContent = question || "Nothing is known yet.";
    this.question.classList.toggle("empty", !question);
    this.copyButton.hidden = !question;
    this.drawChips(known);
    clearTimeout(this.telling);
    this.telling = setTimeout(() => { this.live.textContent = `Probability of the evidence: ${text}`; }, 400);
  }

  drawChips(known) {
    const pixels = this.board && known.length > 3;
    const shown = pixels ? [] : known.slice(0, CHIPS);
    const focused = document.activeElement && this.chips.contains(document.activeElement);
    this.chips.replaceChildren(...shown.map((column) => {
      const text = eventText(column, this.now.evidence[column.index], true);
      return make("li", {}, this.chip(text, () => this.change(column.index, null)));
    }));
    if (pixels) this.chips.append(make("li", {}, this.chip(`${known.length} pixels`, () => this.reset())));
    else if (known.length > CHIPS) this.chips.append(make("li", {}, `and ${known.length - CHIPS} more`));
    if (focused) (this.chips.querySelector("button") || this.resetButton).focus();
  }

  chip(text, act) {
    const made = this.button(text, act);
    made.className = "chip";
    made.setAttribute("aria-label", `Remove ${text}`);
    return made;
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.question.textContent);
      this.copyButton.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(this.question);
      this.copyButton.textContent = "Selected";
    }
    setTimeout(() => { this.copyButton.textContent = "Copy"; }, 2000);
  }
}

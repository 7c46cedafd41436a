// A card of a numeric column or a date: a curve, or bars for counts, and a range with two ends.

const BINS = 64;
const MANY_LEAVES = 2000; // from here on, quantiles are read off the bins while a range is dragged
const [WIDE, TALL] = [320, 84]; // of the chart, in its own units
const STEPS = 50; // of the arrow keys, from end to end of the chart

class RangeCard {
  constructor(explorer, column) {
    [this.explorer, this.column, this.index] = [explorer, column, column.index];
    [this.low, this.high] = explorer.range(this.index);
    this.findBins();
    this.prior = this.heights(explorer.before, null);
    this.build();
  }

  // Cut the chart into bins and find the probability of each under every leaf, once.
  findBins() {
    const { column, explorer: { circuit } } = this;
    const span = this.high - this.low;
    this.bins = column.isCount ? Math.min(BINS, span + 1) : BINS;
    const each = column.isCount ? Math.ceil((span + 1) / this.bins) : span / this.bins;
    if (column.isCount) {
      this.bins = Math.ceil((span + 1) / each);
      this.high = this.low + each * this.bins - 1;
    }
    this.each = each;
    const leaves = circuit.leavesOf[this.index];
    this.masses = new Float32Array(leaves.length * this.bins);
    leaves.forEach((leaf, i) => circuit.numeric(leaf, (kind, t, o, width, low, high, allowed) => {
      const cdf = (x) => kind.cdf(t, o, Math.min(Math.max(x, column.isCount ? low - 1 : low), high), column.isCount, width);
      let before = cdf(this.edge(0) - (column.isCount ? 1 : 0));
      for (let b = 0; b < this.bins; b++) {
        const next = cdf(this.edge(b + 1) - (column.isCount ? 1 : 0));
        this.masses[i * this.bins + b] = (next - before) / allowed;
        before = next;
      }
    }));
  }

  edge(b) { return this.low + b * this.each; }

  // Return the probability of each bin, within the evidence.
  heights(state, known) {
    const { bins, masses, column } = this;
    const { circuit, flows, chances } = state;
    const found = new Float64Array(bins);
    circuit.leavesOf[this.index].forEach((leaf, i) => {
      if (flows[leaf] === 0) return;
      const share = flows[leaf] / chances[leaf];
      for (let b = 0; b < bins; b++) found[b] += share * masses[i * bins + b];
    });
    if (!known) return found;
    for (let b = 0; b < bins; b++) {
      const [first, last] = [this.edge(b), column.isCount ? this.edge(b + 1) - 1 : this.edge(b + 1)];
      if (last <= known.low && last < known.high && !(column.isCount && last === known.low)) found[b] = 0;
      else if (first >= known.high && !(column.isCount && first === known.high)) found[b] = 0;
      else if (first < known.low || last > known.high) found[b] = state.within(this.index, first, last);
    }
    return found;
  }

  x(value) {
    const span = this.column.isCount ? this.high - this.low + 1 : this.high - this.low;
    return Math.min(Math.max((value - this.low) / span, 0), 1);
  }

  build() {
    const { column } = this;
    const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.outline = draw("path", { class: "was" });
    this.area = draw("path", { class: "now" });
    this.shades = [draw("rect", { class: "outside", y: 0, height: TALL }), draw("rect", { class: "outside", y: 0, height: TALL })];
    svg.append(this.area, this.outline, ...this.shades);
    this.handles = ["low", "high"].map((end) => this.handle(end));
    this.chart = make("div", { class: "chart" }, svg, ...this.handles);
    this.facts = make("p", { class: "facts" });
    this.element = make("div", { class: "range" }, this.chart, this.axis(), this.facts);
    this.chart.addEventListener("pointerdown", (event) => this.begin(event));
    this.handles[0].setAttribute("aria-label", `${column.shown}, at least`);
    this.handles[1].setAttribute("aria-label", `${column.shown}, at most`);
  }

  axis() {
    const axis = make("div", { class: "axis", "aria-hidden": "true" });
    for (const share of [0, 0.5, 1]) {
      const value = this.low + share * (this.high - this.low);
      axis.append(make("span", {}, this.text(this.column.isCount ? Math.round(value) : value)));
    }
    return axis;
  }

  handle(end) {
    const made = make("div", { class: `handle ${end}`, role: "slider", tabindex: "0" });
    made.addEventListener("keydown", (event) => this.key(end, event));
    return made;
  }

  // The step to which dragged ends are rounded, so that they read well.
  get step() {
    const { column } = this;
    if (column.isCount) return 1;
    const fine = (this.high - this.low) / 200;
    if (column.kind === "date" && SECONDS[column.unit] !== undefined && column.unit !== "days") {
      const seconds = fine * SECONDS[column.unit];
      const round = [1, 60, 600, 3600, 21600, 86400].filter((s) => s <= Math.max(seconds, 1)).pop();
      return round / SECONDS[column.unit];
    }
    if (column.kind === "date") return Math.max(1, Math.round(fine));
    const power = 10 ** Math.floor(Math.log10(fine));
    const nice = [5, 2, 1].map((m) => m * power).find((s) => s <= fine * 1.0001);
    return column.scale ? Math.max(nice, column.resolution) : nice;
  }

  rounded(value) {
    const step = this.step;
    return Number((Math.round(value / step) * step).toPrecision(12));
  }

  valueAt(event) {
    const frame = this.chart.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - frame.left) / frame.width, 0), 1);
    if (this.column.isCount) return Math.min(this.high, Math.floor(this.low + share * (this.high - this.low + 1)));
    return this.low + share * (this.high - this.low);
  }

  // Return the range that is chosen, in recorded values; null if none is.
  get known() {
    const known = this.explorer.now.evidence[this.index];
    return (known && known.shown) || known;
  }

  // Drag a new range, or one end of the present one; a click without moving selects a count, or takes
  // the range back.
  begin(event) {
    if (event.button > 0) return;
    event.preventDefault();
    const { explorer, column, chart } = this;
    const known = this.known;
    const end = event.target.classList.contains("low") ? "low" : event.target.classList.contains("high") ? "high" : null;
    const start = this.valueAt(event);
    const from = event.clientX;
    let moved = false;
    chart.setPointerCapture(event.pointerId);
    if (end) event.target.focus({ preventScroll: true });
    const move = (now) => {
      if (!moved && Math.abs(now.clientX - from) < 3) return;
      const at = this.valueAt(now);
      if (end) {
        const fixed = known || column.everything;
        this.set(end === "low" ? this.pulled(at, "low") : fixed.low, end === "high" ? this.pulled(at, "high") : fixed.high, moved);
      } else {
        const [a, b] = [Math.min(start, at), Math.max(start, at)];
        this.set(this.pulled(a, "low"), this.pulled(b, "high"), moved);
      }
      moved = true;
    };
    const done = () => {
      chart.removeEventListener("pointermove", move);
      chart.removeEventListener("pointerup", done);
      chart.removeEventListener("pointercancel", done);
      explorer.settle();
      if (moved || end) return;
      const first = this.low + Math.floor((start - this.low) / this.each) * this.each;
      const last = first + this.each - 1;
      if (column.isCount && !(known && known.low === first && known.high === last)) this.set(first, last, false);
      else if (known) explorer.change(this.index, null);
    };
    chart.addEventListener("pointermove", move);
    chart.addEventListener("pointerup", done);
    chart.addEventListener("pointercancel", done);
  }

  // Return an end rounded to a step; at the end of the chart there is no bound.
  pulled(value, end) {
    const every = this.column.everything;
    if (end === "low") return value <= this.low ? every.low : this.rounded(value);
    return value >= this.high ? every.high : this.rounded(value);
  }

  set(low, high, goOn) {
    const every = this.column.everything;
    if (low > high) [low, high] = [high, low];
    if (low === high && !this.column.isCount) return;
    const open = low <= every.low && high >= every.high;
    this.explorer.change(this.index, open ? null : { low, high }, goOn);
  }

  key(end, event) {
    const known = this.known || this.column.everything;
    const unit = Math.max(this.step, this.column.isCount ? Math.round(this.each) : this.rounded((this.high - this.low) / STEPS));
    const by = { ArrowLeft: -unit, ArrowDown: -unit, ArrowRight: unit, ArrowUp: unit, PageDown: -5 * unit, PageUp: 5 * unit }[event.key];
    let next = null;
    if (by) {
      const edge = end === "low" ? this.low : this.high;
      const now = Number.isFinite(known[end]) ? known[end] : edge;
      next = this.pulled(Math.min(Math.max(now + by, this.low), this.high), end);
    } else if (event.key === "Home") next = end === "low" ? this.column.everything.low : this.rounded(this.low + unit);
    else if (event.key === "End") next = end === "high" ? this.column.everything.high : this.rounded(this.high - unit);
    else if (["Delete", "Backspace", "Escape"].includes(event.key)) {
      event.preventDefault();
      this.explorer.change(this.index, null);
      return;
    } else return;
    event.preventDefault();
    if (end === "low" ? next > known.high : next < known.low) return; // the ends do not cross
    this.set(end === "low" ? next : known.low, end === "high" ? next : known.high, false);
  }

  // Return the path of a curve through bins, from `first` to `last`, or of bars for counts.
  path(heights, top, known, closed) {
    const { column, bins } = this;
    const y = (h) => (TALL - (TALL - 3) * h / top).toFixed(2);
    const x = (value) => (WIDE * this.x(value)).toFixed(2);
    let text = "";
    if (column.isCount) {
      const gap = bins > 40 || !closed ? 0 : 0.12 * WIDE / bins;
      for (let b = 0; b < bins; b++) {
        const [a, z] = [WIDE * b / bins + gap, WIDE * (b + 1) / bins - gap];
        text += closed ? `M${a} ${TALL}V${y(heights[b])}H${z}V${TALL}Z` : `${b ? "L" : "M"}${a} ${y(heights[b])}H${z}`;
      }
      return text;
    }
    const ends = known ? [Math.max(known.low, this.low), Math.min(known.high, this.high)] : [this.low, this.high];
    const points = [];
    for (let b = 0; b < bins; b++) {
      const [a, z] = [Math.max(this.edge(b), ends[0]), Math.min(this.edge(b + 1), ends[1])];
      if (a < z) points.push([0.5 * (a + z), heights[b] * this.each / (z - a)]);
    }
    if (!points.length) return "";
    points.unshift([ends[0], points[0][1]]);
    points.push([ends[1], points[points.length - 1][1]]);
    text = points.map(([value, h], i) => `${i ? "L" : "M"}${x(value)} ${y(Math.min(h, top))}`).join("");
    return closed ? `${text}L${x(ends[1])} ${TALL}L${x(ends[0])} ${TALL}Z` : text;
  }

  draw(quick) {
    const { explorer: { now }, column } = this;
    const known = now.evidence[this.index];
    const heights = this.heights(now, known);
    let top = Math.max(...this.prior, 1e-300);
    if (now.isPossible) top = Math.max(top, ...heights);
    this.area.setAttribute("d", now.isPossible ? this.path(heights, top, known, true) : "");
    this.outline.setAttribute("d", this.path(this.prior, top, null, false));
    const shown = this.known;
    const low = shown ? this.x(shown.low) : 0;
    const high = shown ? this.x(column.isCount ? shown.high + 1 : shown.high) : 1;
    this.place(this.shades[0], 0, low);
    this.place(this.shades[1], high, 1);
    this.chart.classList.toggle("known", Boolean(known));
    [low, high].forEach((at, i) => {
      const handle = this.handles[i];
      handle.style.left = `${100 * at}%`;
      const value = (shown || column.everything)[i ? "high" : "low"];
      const bound = Number.isFinite(value) && (i || value > column.everything.low);
      handle.setAttribute("aria-valuemin", this.low);
      handle.setAttribute("aria-valuemax", this.high);
      handle.setAttribute("aria-valuenow", bound ? value : i ? this.high : this.low);
      handle.setAttribute("aria-valuetext", bound ? withUnit(column, numberText(column, value)) : "no limit");
    });
    const parts = now.isPossible ? this.factParts(heights, quick) : ["–"];
    this.facts.replaceChildren(...parts.flatMap((part, i) => [i ? " · " : "", make("span", {}, part)]));
  }

  place(shade, from, to) {
    shade.setAttribute("x", WIDE * from);
    shade.setAttribute("width", Math.max(0, WIDE * (to - from)));
  }

  factParts(heights, quick) {
    const { column, explorer: { now } } = this;
    const [low, median, high] = [0.05, 0.5, 0.95].map((share) => this.quantile(heights, share, quick));
    const mean = column.kind === "date" ? [] : [`mean ${this.text(now.mean(this.index))}`];
    return [`median ${withUnit(column, this.text(median))}`, ...mean, `90 % in ${this.text(low)} … ${this.text(high)}`];
  }

  // Return a number of this chart in words; what rounding has left of zero is zero.
  text(value) {
    return numberText(this.column, Math.abs(value) < 1e-6 * (this.high - this.low) ? 0 : value);
  }

  // Return a quantile: from its bin, exactly, or by interpolation while a large column is dragged.
  quantile(heights, share, quick) {
    const { explorer: { now, circuit } } = this;
    let sum = now.cdf(this.index, this.column.isCount ? this.low - 1 : this.low);
    for (let b = 0; b < this.bins; b++) {
      if (sum < share && sum + heights[b] >= share) {
        if (quick && circuit.leavesOf[this.index].length > MANY_LEAVES) {
          return this.edge(b) + this.each * (share - sum) / heights[b];
        }
        return now.quantile(this.index, share, [this.edge(b), this.edge(b + 1)], 1e-6 * (this.high - this.low));
      }
      sum += heights[b];
    }
    return now.quantile(this.index, share);
  }
}

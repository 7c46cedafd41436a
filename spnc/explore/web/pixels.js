// A board for rows that are pictures: draw some pixels, and the others show their probabilities in grey.

const CELL = 16; // canvas pixels of a pixel's side

class PixelBoard {
  constructor(explorer, image) {
    [this.explorer, this.image] = [explorer, image];
    this.columnAt = new Int32Array(image.height * image.width);
    image.places.forEach((place, column) => { this.columnAt[place] = column; });
    this.tool = "ink";
    this.cursor = null;
    this.canvas = make("canvas", { class: "board", tabindex: "0", role: "application",
      "aria-label": "The picture. Arrow keys move, space draws, Delete forgets a pixel.",
      width: image.width * CELL, height: image.height * CELL });
    this.small = make("canvas", { class: "board small", role: "img", width: image.width * CELL, height: image.height * CELL });
    this.caption = make("p", { class: "facts" });
    this.readout = make("p", { class: "facts", "aria-live": "polite" });
    this.tools = ["ink", "paper", "forget"].map((tool) => {
      const button = make("button", { type: "button", "aria-pressed": String(tool === this.tool) },
        { ink: "Ink", paper: "Paper", forget: "Forget" }[tool]);
      button.addEventListener("click", () => this.take(tool));
      return button;
    });
    const hint = make("p", { class: "hint" }, "Draw on the picture: known pixels have a mark, all others " +
      "show how likely they are to be inked.");
    this.element = make("div", { class: "pixels-panel" }, this.canvas,
      make("div", { class: "side" }, hint, make("div", { class: "tools", role: "group", "aria-label": "Draw with" },
        ...this.tools), this.small, this.caption, this.readout));
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => { this.cursor = null; this.draw(); });
  }

  take(tool) {
    this.tool = tool;
    this.tools.forEach((button, i) => button.setAttribute("aria-pressed", String(["ink", "paper", "forget"][i] === tool)));
  }

  // Return what a tool says about a pixel: dark, light or nothing.
  evidence(column, tool) {
    const { states } = this.explorer.circuit.columns[column];
    if (tool === "forget") return null;
    const allowed = new Uint8Array(states);
    if (tool === "ink") allowed.fill(1, Math.max(1, Math.ceil(states / 2)));
    else allowed[0] = 1;
    return { states: allowed };
  }

  placeAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const { width, height } = this.image;
    const x = Math.min(Math.max(Math.floor((event.clientX - frame.left) / frame.width * width), 0), width - 1);
    const y = Math.min(Math.max(Math.floor((event.clientY - frame.top) / frame.height * height), 0), height - 1);
    return [x, y];
  }

  begin(event) {
    if (event.button > 0) return;
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    let from = this.placeAt(event);
    this.paint([from], false);
    const move = (now) => {
      const to = this.placeAt(now);
      if (to[0] === from[0] && to[1] === from[1]) return;
      const steps = Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]));
      const line = [...Array(steps).keys()].map((i) => [0, 1].map((k) =>
        Math.round(from[k] + (to[k] - from[k]) * (i + 1) / steps)));
      this.paint(line, true);
      from = to;
    };
    const done = () => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", done);
      this.canvas.removeEventListener("pointercancel", done);
      this.explorer.settle();
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", done);
    this.canvas.addEventListener("pointercancel", done);
  }

  paint(places, goOn, tool = this.tool) {
    const changes = places.map(([x, y]) => this.columnAt[y * this.image.width + x])
      .map((column) => [column, this.evidence(column, tool)]);
    this.explorer.changeAll(changes, goOn);
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const at = this.cursor || [0, 0];
    if (step) {
      const limits = [this.image.width - 1, this.image.height - 1];
      this.cursor = this.cursor ? [0, 1].map((k) => Math.min(Math.max(at[k] + step[k], 0), limits[k])) : at;
    } else if (event.key === " " || event.key === "Enter") this.paint([this.cursor = at], false);
    else if (event.key === "Delete" || event.key === "Backspace") this.paint([this.cursor = at], false, "forget");
    else return;
    event.preventDefault();
    this.draw();
  }

  // Show a row as a small picture, with words about it.
  show(row, words) {
    this.small.hidden = !row;
    this.caption.textContent = words;
    if (row) this.fill(this.small, (column) => row[column] / Math.max(1, this.explorer.circuit.columns[column].states - 1));
    this.small.setAttribute("aria-label", words);
    this.shown = [row, words];
  }

  // Fill a canvas with the darkness of every pixel. Return its pen.
  fill(canvas, darkness) {
    const { width, height } = this.image;
    const style = getComputedStyle(canvas);
    const pen = canvas.getContext("2d");
    pen.globalAlpha = 1;
    pen.fillStyle = style.getPropertyValue("--board");
    pen.fillRect(0, 0, width * CELL, height * CELL);
    pen.fillStyle = style.color;
    this.columnAt.forEach((column, place) => {
      pen.globalAlpha = Math.min(1, darkness(column)); // rounding may lead above one, which is ignored
      pen.fillRect(place % width * CELL, Math.floor(place / width) * CELL, CELL, CELL);
    });
    pen.globalAlpha = 1;
    pen.fillStyle = pen.strokeStyle = style.getPropertyValue("--mark-ink");
    return pen;
  }

  // Return the expected darkness of a pixel, from 0 to 1.
  darkness(column) {
    const chances = this.explorer.now.states(column);
    return chances.reduce((sum, p, state) => sum + p * state, 0) / Math.max(1, chances.length - 1);
  }

  draw() {
    const { width } = this.image;
    const { now } = this.explorer;
    const pen = this.fill(this.canvas, (column) => (now.isPossible ? this.darkness(column) : 0));
    this.columnAt.forEach((column, place) => {
      if (!now.evidence[column]) return;
      const [x, y] = [place % width * CELL, Math.floor(place / width) * CELL];
      pen.fillRect(x + CELL / 2 - 2, y + CELL / 2 - 2, 4, 4);
    });
    if (this.shown) this.show(...this.shown); // in the colours of now
    if (this.cursor === null) { this.readout.textContent = ""; return; }
    const [x, y] = this.cursor;
    const column = this.columnAt[y * width + x];
    pen.lineWidth = 2;
    pen.strokeRect(x * CELL + 1, y * CELL + 1, CELL - 2, CELL - 2);
    const known = now.evidence[column] ? "known, " : "";
    this.readout.textContent = `Line ${y + 1}, column ${x + 1}: ${known}` +
      `${chanceText(now.isPossible ? this.darkness(column) : 0)} ink`;
  }
}

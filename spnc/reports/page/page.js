// Interaction: sorting tables, reading and zooming charts, copying the recipe.
// The page shows everything without this script.
(() => {
  "use strict";
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const svgElement = (name, attributes) => {
    const made = document.createElementNS("http" + "://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const number = (value, digits) =>
    value === null ? "–" : (value || 0).toLocaleString("en-US", {
      minimumFractionDigits: digits, maximumFractionDigits: digits,
    }).replace("-", "\u2212");

  // ---- mark the current section in the navigation ----
  const links = new Map(all("nav a").map((a) => [a.getAttribute("href").slice(1), a]));
  if ("IntersectionObserver" in window) {
    const seen = new Set();
    const watcher = new IntersectionObserver((entries) => {
      for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
      const here = [...links.keys()].find((id) => seen.has(id));
      for (const [id, a] of links) {
        if (id === here) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
      }
    }, { rootMargin: "-10% 0px -60% 0px" });
    all("main section").forEach((s) => watcher.observe(s));
  }

  // ---- sorting ----
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.replaceAll("\u2212", "-").replace(/[,\u202f%]/g, "").trim();
    const value = Number(text);
    return text !== "" && !Number.isNaN(value) ? value : text;
  };
  const before = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((head, column) => {
      const press = document.createElement("button");
      press.type = "button";
      press.append(...head.childNodes);
      head.append(press);
      press.addEventListener("click", () => {
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        all("thead th", table).forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const body = table.tBodies[0];
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
        rows.sort((a, b) => sign * before(a[0], b[0]));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
  }

  // ---- tooltips ----
  const tip = document.querySelector(".tip");
  document.addEventListener("pointermove", (event) => {
    const on = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !on;
    if (!on) return;
    tip.textContent = on.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - width - 8);
    const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${y}px`;
  });
  document.addEventListener("pointerleave", () => { tip.hidden = true; });

  // ---- frames that scroll can be focused by keyboard; the others are skipped ----
  if ("ResizeObserver" in window) {
    const frames = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const wide = target.scrollWidth > target.clientWidth;
        target.classList.toggle("wide", wide);
        if (wide || target.scrollHeight > target.clientHeight) target.tabIndex = 0; else target.removeAttribute("tabindex");
      }
    });
    all(".frame").forEach((frame) => frames.observe(frame));
  }

  // ---- copying ----
  const copy = document.querySelector(".copy");
  const text = document.getElementById("recipe-text");
  if (copy && text) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        copy.textContent = "Copied";
      } catch {
        const range = document.createRange();
        range.selectNodeContents(text);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        copy.textContent = "Selected";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
  }

  // ---- the learning curve ----
  const ticks = (low, high, count, least = 0) => {
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = Math.max(least, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999));
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) found.push(k * step);
    return [found, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))];
  };
  const curves = (box) => {
    const source = JSON.parse(document.getElementById(box.dataset.source).textContent);
    const svg = box.querySelector("svg");
    const [axes, lines] = [svg.querySelector(".axes"), svg.querySelector(".lines")];
    const names = all("text.axis", axes);
    const reset = box.querySelector(".reset");
    const readout = box.querySelector(".readout");
    const home = source.frame;
    const view = { ...home };
    let at = null;
    const right = home.width - home.right;
    const base = home.height - home.bottom;
    const X = (v) => home.left + (right - home.left) * (v - view.x0) / (view.x1 - view.x0);
    const Y = (v) => base - (base - home.top) * (v - view.y0) / (view.y1 - view.y0);
    const valueAt = (px) => view.x0 + (view.x1 - view.x0) * (px - home.left) / (right - home.left);
    const write = (value, x, y, anchor) => {
      const made = svgElement("text", { x, y, "text-anchor": anchor });
      made.textContent = value;
      return made;
    };
    const draw = () => {
      const [ys, yDigits] = ticks(view.y0, view.y1, 5);
      const [xs, xDigits] = ticks(view.x0, view.x1, 6, 1);
      const made = ys.flatMap((v) => [
        svgElement("line", { x1: home.left, x2: right, y1: Y(v), y2: Y(v) }),
        write(number(v, yDigits), home.left - 8, Y(v) + 4, "end"),
      ]);
      for (const v of xs) made.push(write(number(v, xDigits), X(v), base + 18, "middle"));
      axes.replaceChildren(...made, ...names);
      const drawn = [];
      if (source.second !== null) {
        const x = X(source.second - 0.5);
        drawn.push(svgElement("line", { x1: x, x2: x, y1: 0, y2: home.height, class: "second" }));
      }
      for (const series of source.series) {
        let d = "", pen = "M";
        source.x.forEach((x, i) => {
          if (series.y[i] === null) { pen = "M"; return; }
          d += `${pen}${X(x).toFixed(1)} ${Y(series.y[i]).toFixed(1)}`;
          pen = "L";
        });
        drawn.push(svgElement("path", { d, class: `curve ${series.class}` }));
      }
      const judge = source.series[source.series.length - 1];
      const kept = source.x.indexOf(source.kept);
      if (kept >= 0 && judge.y[kept] !== null) {
        drawn.push(svgElement("circle", {
          cx: X(source.kept), cy: Y(judge.y[kept]), r: 6, class: `kept ${judge.class}`,
        }));
      }
      if (at !== null) {
        const x = X(source.x[at]);
        drawn.push(svgElement("line", { x1: x, x2: x, y1: 0, y2: base, class: "guide" }));
        for (const series of source.series) {
          if (series.y[at] !== null) {
            drawn.push(svgElement("circle", { cx: x, cy: Y(series.y[at]), r: 3.5, class: `kept ${series.class}` }));
          }
        }
      }
      lines.replaceChildren(...drawn);
    };
    const read = (i) => {
      at = i === null ? null : Math.min(Math.max(0, i), source.x.length - 1);
      readout.textContent = at === null ? "" : `iteration ${number(source.x[at], 0)}: ` +
        source.series.map((s) => `${s.name} ${number(s.y[at], 4)}`).join(", ") +
        (source.x[at] === source.kept ? " (kept)" : "");
      draw();
    };
    const least = Math.min(2, home.x1 - home.x0);  // so that at least two iterations are labelled
    const zoom = (x0, x1) => {  // returns whether the view changed
      x0 = Math.max(home.x0, x0);
      x1 = Math.min(home.x1, x1);
      if (x1 - x0 < least) {
        x0 = Math.min(Math.max(home.x0, (x0 + x1 - least) / 2), home.x1 - least);
        x1 = x0 + least;
      }
      if (Math.abs(x0 - view.x0) + Math.abs(x1 - view.x1) < 1e-6) return false;
      const whole = x0 <= home.x0 && x1 >= home.x1;
      const values = source.series.flatMap((s) =>
        s.y.filter((v, i) => v !== null && source.x[i] >= x0 && source.x[i] <= x1));
      if (!values.length) return false;
      const [low, high] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
      const room = high - low > 1e-9 ? 0.06 * (high - low) : 0.5;
      Object.assign(view, whole ? home : { x0, x1, y0: low - room, y1: high + room });
      reset.hidden = whole;
      draw();
      return true;
    };
    const place = (event) => {
      const frame = svg.getBoundingClientRect();
      return (event.clientX - frame.left) * home.width / frame.width;
    };
    const nearest = (px) => {
      const wanted = valueAt(px);
      return source.x.reduce((best, x, i) => Math.abs(x - wanted) < Math.abs(source.x[best] - wanted) ? i : best, 0);
    };
    let from = null;
    const band = svgElement("rect", { y: 0, height: base, class: "select" });
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") return;
      from = place(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      read(nearest(place(event)));
      if (from === null) return;
      const to = place(event);
      band.setAttribute("x", Math.min(from, to));
      band.setAttribute("width", Math.abs(to - from));
      svg.append(band);
    });
    svg.addEventListener("pointerup", (event) => {
      band.remove();
      const to = place(event);
      if (from !== null && Math.abs(to - from) > 8) {
        zoom(valueAt(Math.min(from, to)), valueAt(Math.max(from, to)));
      }
      from = null;
    });
    svg.addEventListener("pointercancel", () => { band.remove(); from = null; });
    svg.addEventListener("pointerleave", () => { if (from === null) read(null); });
    svg.addEventListener("dblclick", () => zoom(home.x0, home.x1));
    svg.addEventListener("wheel", (event) => {
      // The wheel scrolls the page, unless Ctrl is held or the chart has focus, and zooming is possible.
      if (!event.deltaY || !(event.ctrlKey || event.metaKey || document.activeElement === box)) return;
      const span = view.x1 - view.x0;
      const wanted = span * (event.deltaY < 0 ? 0.8 : 1.25);
      const next = Math.min(home.x1 - home.x0, Math.max(least, wanted));
      if (Math.abs(next - span) < 1e-6) return;
      const middle = valueAt(place(event));
      const x0 = Math.max(home.x0, Math.min(middle - (middle - view.x0) * next / span, home.x1 - next));
      if (zoom(x0, x0 + next)) event.preventDefault();
    }, { passive: false });
    reset.addEventListener("click", () => zoom(home.x0, home.x1));
    box.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step && event.target === box) {
        event.preventDefault();
        read(at === null ? Math.max(0, source.x.indexOf(source.kept)) : at + step);
      } else if (event.key === "Escape") zoom(home.x0, home.x1);
    });
    box.addEventListener("blur", () => read(null));
  };
  all(".curves").forEach(curves);

  // ---- the matrix of pairs ----
  const pairs = (box) => {
    const source = JSON.parse(document.getElementById(box.dataset.source).textContent);
    const n = source.names.length;
    const cells = box.querySelector(".cells");
    const cursor = cells.querySelector(".cursor");
    const readout = box.querySelector(".readout");
    let [row, column] = [-1, -1];
    const brief = (v) => Number(v.toPrecision(3)).toString();
    const read = (i, j) => {
      [row, column] = [i, j];
      const inside = i >= 0 && j >= 0 && i < n && j < n;
      cursor.setAttribute("x", inside ? j : -1);
      cursor.setAttribute("y", inside ? i : -1);
      cursor.style.visibility = inside ? "visible" : "hidden";
      if (!inside || i === j) { readout.textContent = inside ? source.names[i] : ""; return; }
      const [a, b] = [Math.min(i, j), Math.max(i, j)];
      const k = a * n - a * (a + 1) / 2 + b - a - 1;
      readout.textContent = `${source.names[a]} and ${source.names[b]}: ` +
        `data ${brief(source.data[k])}, model ${brief(source.model[k])} nats`;
    };
    read(-1, -1);
    const locate = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(cells.getScreenCTM().inverse());
      read(Math.floor(point.y), Math.floor(point.x));
    };
    box.querySelector("svg").addEventListener("pointermove", locate);
    box.querySelector("svg").addEventListener("pointerleave", () => read(-1, -1));
    box.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      const clamp = (v) => Math.min(n - 1, Math.max(0, v));
      if (row < 0) read(1, 0); else read(clamp(row + step[0]), clamp(column + step[1]));
    });
    box.addEventListener("blur", () => read(-1, -1));
  };
  all(".pairs").forEach(pairs);
})();

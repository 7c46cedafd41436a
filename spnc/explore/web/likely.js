// The most likely row given the evidence: the row of the single most probable way down the circuit,
// then one column after the other set to its most likely value given all others, while that helps.
// It is exact where all rows can be compared, and otherwise a lower bound.

const ENUMERATED = 4096; // rows up to which all are compared …
const ENUMERATED_EDGES = 4e7; // … unless that passes over more edges than this
const ROUNDS = 20; // of improving a row column by column
const CANDIDATES = 40; // leaves whose modes are tried for a number
const GRID = 33; // values between which the highest density of a number is looked for

class LikelyRow {
  constructor(circuit) {
    this.circuit = circuit;
    this.rows = new Evaluator(circuit); // without evidence: values are set as densities
    this.best = new Float64Array(circuit.nodeCount); // the best log value below each node
    this.modes = new Float64Array(circuit.leafCount);
  }

  // Search; yield between passes, so that the page stays responsive, and the best row so far now and
  // then. Return the row, its log density and whether no row has a higher one. The evidence must be
  // possible.
  *search(evidence, ranges) {
    this.evidence = evidence;
    this.ranges = ranges;
    yield* this.trace();
    const { circuit, rows } = this;
    circuit.columns.forEach((_, c) => rows.fix(c, this.row[c]));
    rows.upward();
    this.value = rows.logProbability;
    yield this.found(false);
    const joint = this.jointStates();
    if (joint * circuit.edgeCount <= ENUMERATED_EDGES && joint <= ENUMERATED) {
      yield* this.enumerate(joint);
      return this.found(true);
    }
    yield* this.improve();
    return this.found(false);
  }

  found(exact) { return { row: this.row, logValue: this.value, exact }; }

  allows(column, state) { return !this.evidence[column] || this.evidence[column].states[state]; }

  clipped(column, value) {
    const { low, high } = this.evidence[column] || this.circuit.columns[column].everything;
    return Math.min(Math.max(value, low), high);
  }

  // Set `modes` and `row`: a traceback of the most probable way down.
  *trace() {
    const { circuit, best, modes } = this;
    for (const column of circuit.columns) {
      for (const leaf of circuit.leavesOf[column.index]) {
        modes[leaf] = column.isFinite ? this.bestState(leaf, column) : this.bestNumber(leaf, column);
        best[leaf] = Math.log(circuit.density(leaf, modes[leaf]));
      }
      yield;
    }
    const { starts, children, logWeights, isSum, leafCount } = circuit;
    const chosen = new Int32Array(isSum.length); // of a sum, its best edge
    for (let k = 0; k < isSum.length; k++) {
      let found = isSum[k] ? -Infinity : 0;
      chosen[k] = starts[k];
      for (let e = starts[k]; e < starts[k + 1]; e++) {
        const value = best[children[e]] + logWeights[e];
        if (!isSum[k]) found += value;
        else if (value > found) [found, chosen[k]] = [value, e];
      }
      best[leafCount + k] = found;
    }
    this.row = new Float64Array(circuit.columns.length);
    const stack = [circuit.root];
    while (stack.length) {
      const node = stack.pop();
      if (node < leafCount) {
        this.row[circuit.tables[circuit.tableOf[node]].variables[circuit.rowOf[node]]] = modes[node];
      } else if (isSum[node - leafCount]) {
        stack.push(children[chosen[node - leafCount]]);
      } else {
        for (let e = starts[node - leafCount]; e < starts[node - leafCount + 1]; e++) stack.push(children[e]);
      }
    }
  }

  bestState(leaf, column) {
    let found = -1;
    for (let state = 0; state < column.states; state++) {
      if (!this.allows(column.index, state)) continue;
      if (found < 0 || this.circuit.density(leaf, state) > this.circuit.density(leaf, found)) found = state;
    }
    return found;
  }

  bestNumber(leaf, column) {
    return this.circuit.numeric(leaf, (kind, t, o, width, low, high) => {
      const mode = kind.mode(t, o, column, width);
      return this.clipped(column.index, Math.min(Math.max(mode, low), high));
    });
  }

  jointStates() {
    let found = 1;
    for (const column of this.circuit.columns) {
      if (!column.isFinite) return Infinity;
      let own = 0;
      for (let state = 0; state < column.states; state++) own += this.allows(column.index, state) ? 1 : 0;
      found *= own;
    }
    return found;
  }

  *enumerate(joint) {
    const { circuit, rows } = this;
    const allowed = circuit.columns.map((column) =>
      [...Array(column.states).keys()].filter((state) => this.allows(column.index, state)));
    const at = allowed.map(() => 0);
    const fixed = allowed.map(() => -1);
    for (let n = 0; n < joint; n++) {
      at.forEach((place, c) => {
        if (fixed[c] !== allowed[c][place]) rows.fix(c, fixed[c] = allowed[c][place]);
      });
      rows.upward();
      if (rows.logProbability > this.value) [this.value, this.row] = [rows.logProbability, Float64Array.from(fixed)];
      for (let c = 0; c < at.length && ++at[c] === allowed[c].length; c++) at[c] = 0;
      yield;
    }
  }

  *improve() {
    const { circuit, rows } = this;
    for (let round = 0; round < ROUNDS; round++) {
      const before = this.value;
      for (const column of circuit.columns) {
        const c = column.index;
        const known = this.evidence[c];
        if (known && known.states && known.states.reduce((a, b) => a + b, 0) === 1) continue;
        rows.observe(c, null);
        rows.run();
        const [value, density] = column.isFinite ? this.likelyState(column) : this.likelyNumber(column);
        const gained = rows.logProbability + Math.log(density);
        if (gained > this.value) [this.row[c], this.value] = [value, gained];
        rows.fix(c, this.row[c]);
        yield;
      }
      if (!(this.value > before + 1e-12 * Math.abs(before))) return;
      yield this.found(false);
    }
  }

  likelyState(column) {
    const chances = this.rows.states(column.index);
    let found = -1;
    chances.forEach((p, state) => {
      if (this.allows(column.index, state) && (found < 0 || p > chances[found])) found = state;
    });
    return [found, chances[found]];
  }

  likelyNumber(column) {
    const c = column.index;
    const { circuit, rows } = this;
    const leaves = [...circuit.leavesOf[c]].filter((leaf) => rows.flows[leaf] > 0);
    leaves.sort((a, b) => rows.flows[b] - rows.flows[a]);
    const tried = new Set([this.row[c], ...leaves.slice(0, CANDIDATES).map((leaf) => this.modes[leaf])]);
    const [low, high] = this.ranges(c).map((end) => this.clipped(c, end));
    for (let i = 0; i < GRID; i++) {
      const value = low + (high - low) * i / (GRID - 1);
      tried.add(column.isCount ? Math.round(value) : value);
    }
    let [best, density] = [this.row[c], 0];
    for (let round = 0; round < 4; round++) {
      const values = [...tried].sort((a, b) => a - b);
      for (const value of values) {
        const own = rows.density(c, value);
        if (own > density) [best, density] = [value, own];
      }
      const place = values.indexOf(best);
      const [left, right] = [values[Math.max(place - 1, 0)], values[Math.min(place + 1, values.length - 1)]];
      tried.clear();
      tried.add(best);
      for (let i = 0; i <= 8; i++) {
        const value = left + (right - left) * i / 8;
        tried.add(column.isCount ? Math.round(value) : value);
      }
    }
    return [best, density];
  }
}

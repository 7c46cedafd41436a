// Evaluation of a circuit: log values upward, then the probability with which each node is used
// ("flow") downward, and the distribution of every column from the flows of its leaves.

// The circuit given evidence. The evidence of a column is null, { states } with a flag for each state,
// or { low, high }, both included.
class Evaluator {
  constructor(circuit) {
    this.circuit = circuit;
    this.evidence = circuit.columns.map(() => null);
    this.chances = new Float64Array(circuit.leafCount).fill(1); // of the evidence, at each leaf
    this.values = new Float64Array(circuit.nodeCount); // logarithms
    this.flows = new Float64Array(circuit.nodeCount);
    this.logProbability = 0;
    this.run();
  }

  // Set the evidence of a column; `run` brings everything else up to date.
  observe(column, evidence) {
    const { circuit, chances, values } = this;
    this.evidence[column] = evidence;
    const { isCount } = circuit.columns[column];
    for (const leaf of circuit.leavesOf[column]) {
      let chance = 1;
      if (evidence && evidence.states) {
        const table = circuit.tables[circuit.tableOf[leaf]];
        const o = circuit.rowOf[leaf] * table.width;
        chance = 0;
        for (let state = 0; state < table.width; state++) if (evidence.states[state]) chance += table.numbers[o + state];
        chance = Math.min(chance, 1);
      } else if (evidence) {
        chance = circuit.mass(leaf, evidence.low, evidence.high, isCount);
      }
      chances[leaf] = chance;
      values[leaf] = Math.log(chance);
    }
  }

  // Set a leaf column to one value, by its density; for rows.
  fix(column, value) {
    for (const leaf of this.circuit.leavesOf[column]) {
      this.values[leaf] = Math.log(this.circuit.density(leaf, value));
    }
  }

  run() {
    this.upward();
    this.downward();
  }

  upward() {
    const { starts, children, logWeights, isSum, leafCount, root } = this.circuit;
    const { values } = this;
    for (let k = 0; k < isSum.length; k++) {
      const [start, stop] = [starts[k], starts[k + 1]];
      let found = 0;
      if (isSum[k]) {
        let top = -Infinity;
        for (let e = start; e < stop; e++) {
          const term = values[children[e]] + logWeights[e];
          if (term > top) top = term;
        }
        found = top;
        if (top > -Infinity) {
          let sum = 0;
          for (let e = start; e < stop; e++) sum += Math.exp(values[children[e]] + logWeights[e] - top);
          found += Math.log(sum);
        }
      } else {
        for (let e = start; e < stop; e++) found += values[children[e]];
      }
      values[leafCount + k] = found;
    }
    // Weights add up to one only up to rounding; if every leaf is certain, so is the whole.
    this.logProbability = this.isCertain() ? 0 : values[root];
  }

  isCertain() {
    for (let leaf = 0; leaf < this.circuit.leafCount; leaf++) if (this.values[leaf] !== 0) return false;
    return true;
  }

  downward() {
    const { starts, children, logWeights, isSum, leafCount, root } = this.circuit;
    const { values, flows } = this;
    flows.fill(0);
    if (!(values[root] > -Infinity)) return;
    flows[root] = 1;
    for (let k = isSum.length - 1; k >= 0; k--) {
      const flow = flows[leafCount + k];
      if (flow === 0) continue;
      const stop = starts[k + 1];
      if (isSum[k]) {
        const own = values[leafCount + k];
        for (let e = starts[k]; e < stop; e++) {
          const child = children[e];
          flows[child] += flow * Math.exp(values[child] + logWeights[e] - own);
        }
      } else {
        for (let e = starts[k]; e < stop; e++) flows[children[e]] += flow;
      }
    }
  }

  get isPossible() { return this.logProbability > -Infinity; }

  // Return the probability of each state of a column.
  states(column, found = new Float64Array(this.circuit.columns[column].states)) {
    const { circuit, flows, chances } = this;
    const known = this.evidence[column];
    found.fill(0);
    for (const leaf of circuit.leavesOf[column]) {
      if (flows[leaf] === 0) continue;
      const table = circuit.tables[circuit.tableOf[leaf]];
      const o = circuit.rowOf[leaf] * table.width;
      const share = flows[leaf] / chances[leaf];
      for (let state = 0; state < found.length; state++) {
        if (!known || known.states[state]) found[state] += share * table.numbers[o + state];
      }
    }
    return found;
  }

  // Return the probability that a numeric column is between low and high.
  within(column, low, high) {
    const { circuit, flows, chances } = this;
    const known = this.evidence[column] || circuit.columns[column].everything;
    const { isCount } = circuit.columns[column];
    [low, high] = [Math.max(low, known.low), Math.min(high, known.high)];
    if (!(low <= high)) return 0;
    let sum = 0;
    for (const leaf of circuit.leavesOf[column]) {
      if (flows[leaf] > 0) sum += flows[leaf] / chances[leaf] * circuit.mass(leaf, low, high, isCount);
    }
    return Math.min(1, sum);
  }

  cdf(column, value) { return this.within(column, -Infinity, value); }

  // Return the density of a numeric column at a value; of a count, its probability.
  density(column, value) {
    const { circuit, flows, chances } = this;
    const known = this.evidence[column];
    if (known && !(known.low <= value && value <= known.high)) return 0;
    let sum = 0;
    for (const leaf of circuit.leavesOf[column]) {
      if (flows[leaf] > 0) sum += flows[leaf] / chances[leaf] * circuit.density(leaf, value);
    }
    return sum;
  }

  // Return the expectation of a numeric column; infinite or NaN if there is none.
  mean(column) {
    const { circuit, flows } = this;
    const known = this.evidence[column];
    const { isCount } = circuit.columns[column];
    let sum = 0;
    for (const leaf of circuit.leavesOf[column]) {
      if (flows[leaf] === 0) continue;
      sum += flows[leaf] * circuit.numeric(leaf, (kind, t, o, width, low, high, allowed) => {
        if (known) [low, high] = [Math.max(low, known.low), Math.min(high, known.high)];
        if (low === -Infinity && high === Infinity) {
          return kind === KINDS.histogram ? kind.mean(t, o, width) : kind.mean(t, o);
        }
        return meanWithin(kind, t, o, low, high, this.chances[leaf] * allowed, isCount, width);
      });
    }
    return sum;
  }

  // Return the least value that is not exceeded with a probability of `share`. `near` is an interval
  // that is likely to hold it, `tolerance` an error that does not matter.
  quantile(column, share, near = null, tolerance = 0) {
    const { columns } = this.circuit;
    const { isCount, scale } = columns[column];
    const ends = this.bounds(column);
    let [low, high] = near || (scale ? [scale.low, scale.high] : [-1, 1]);
    if (isCount) [low, high] = [Math.floor(low) - 1, Math.ceil(high)];
    let step = high - low || 1;
    [low, high] = [Math.max(low, isCount ? -1 : ends[0]), Math.min(high, ends[1])];
    if (low > high) [low, high] = [ends[0], ends[1]].map((end) => (Number.isFinite(end) ? end : low));
    let [below, above] = [this.cdf(column, low) - share, this.cdf(column, high) - share];
    while (below >= 0 && low > (isCount ? -1 : ends[0])) {
      [high, above] = [low, below];
      low = Math.max(low - step, isCount ? -1 : ends[0]);
      step *= 2;
      below = this.cdf(column, low) - share;
    }
    while (above < 0 && high < ends[1]) {
      [low, below] = [high, above];
      high = Math.min(high + step, ends[1]);
      step *= 2;
      above = this.cdf(column, high) - share;
    }
    // Regula falsi with halved sides (Illinois), and halving where that is slow.
    let side = 0;
    for (let round = 0; round < 200; round++) {
      let middle = round % 4 === 3 ? low + 0.5 * (high - low) : low + (high - low) * below / (below - above);
      if (isCount) middle = Math.min(Math.max(Math.floor(middle), low + 1), high - 1);
      if (!(low < middle && middle < high)) middle = isCount ? high : low + 0.5 * (high - low);
      if (isCount ? high - low <= 1 : !(low < middle && middle < high) || high - low <= Math.max(tolerance, 4e-16 * Math.abs(high))) break;
      const value = this.cdf(column, middle) - share;
      if (value >= 0) {
        [high, above] = [middle, value];
        if (side === 1) below *= 0.5;
        side = 1;
      } else {
        [low, below] = [middle, value];
        if (side === -1) above *= 0.5;
        side = -1;
      }
    }
    return high;
  }

  // Return the least and the largest possible value of a numeric column.
  bounds(column) {
    const { circuit, flows } = this;
    const known = this.evidence[column] || circuit.columns[column].everything;
    const { isCount } = circuit.columns[column];
    let [least, most] = [Infinity, -Infinity];
    for (const leaf of circuit.leavesOf[column]) {
      if (flows[leaf] === 0) continue;
      circuit.numeric(leaf, (kind, t, o, width, low, high) => {
        const [first, last] = kind.bounds(t, o, isCount, width);
        least = Math.min(least, Math.max(first, low));
        most = Math.max(most, Math.min(last, high));
      });
    }
    return [Math.max(least, known.low), Math.min(most, known.high)];
  }
}

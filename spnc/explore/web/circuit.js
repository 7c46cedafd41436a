// The circuit: flat arrays of nodes, in which children come before parents and leaves come first.

// Return the typed array that a text in base64 holds.
function decoded(text, Type) {
  const bytes = atob(text);
  const found = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) found[i] = bytes.charCodeAt(i);
  return new Type(found.buffer);
}

// Return a function that returns the functions of a table's leaves; those on the same warp have the same.
function leafKinds(warps) {
  const knots = warps.map((warp) => [decoded(warp.values, Float64Array), decoded(warp.places, Float64Array)]);
  const made = new Map();
  return (leaf) => {
    if (!WARPED[leaf.kind]) return KINDS[leaf.kind];
    const key = `${leaf.kind} ${leaf.warp}`;
    if (!made.has(key)) made.set(key, WARPED[leaf.kind](...knots[leaf.warp]));
    return made.get(key);
  };
}

class Circuit {
  constructor(source) {
    this.columns = source.columns.map((column, index) => new Column(column, index));
    this.root = source.root;
    const kindOf = leafKinds(source.warps);
    this.tables = source.leaves.map((leaf) => ({
      kind: kindOf(leaf), // undefined for a table of the probabilities of states
      width: leaf.width,
      restricted: leaf.restricted,
      variables: decoded(leaf.columns, Int32Array),
      numbers: decoded(leaf.table, Float64Array),
    }));
    const parts = source.segments.map((segment) => ({
      isSum: segment.sum,
      starts: decoded(segment.starts, Int32Array),
      children: decoded(segment.children, Int32Array),
      weights: segment.sum ? decoded(segment.weights, Float64Array) : null,
    }));
    this.leafCount = this.tables.reduce((sum, table) => sum + table.variables.length, 0);
    this.edgeCount = parts.reduce((sum, part) => sum + part.children.length, 0);
    const inner = parts.reduce((sum, part) => sum + part.starts.length - 1, 0);
    this.nodeCount = this.leafCount + inner;
    // The children of inner node k, counted from the first one, are children[starts[k] … starts[k + 1]].
    this.starts = new Int32Array(inner + 1);
    this.children = new Int32Array(this.edgeCount);
    this.logWeights = new Float64Array(this.edgeCount);
    this.isSum = new Uint8Array(inner);
    let [node, edge] = [0, 0];
    for (const part of parts) {
      this.children.set(part.children, edge);
      if (part.isSum) part.weights.forEach((weight, i) => { this.logWeights[edge + i] = Math.log(weight); });
      for (let i = 1; i < part.starts.length; i++) {
        this.isSum[node] = Number(part.isSum);
        this.starts[++node] = edge + part.starts[i];
      }
      edge += part.children.length;
    }
    this.findLeaves();
  }

  // List the leaves of every column, and find the probability of what a restricted leaf allows.
  findLeaves() {
    this.tableOf = new Int32Array(this.leafCount);
    this.rowOf = new Int32Array(this.leafCount);
    this.allowed = new Float64Array(this.leafCount).fill(1);
    const lists = this.columns.map(() => []);
    let leaf = 0;
    this.tables.forEach((table, number) => {
      table.variables.forEach((variable, row) => {
        this.tableOf[leaf] = number;
        this.rowOf[leaf] = row;
        lists[variable].push(leaf);
        if (table.restricted) {
          const o = row * table.width;
          const [low, high] = [table.numbers[o + table.width - 2], table.numbers[o + table.width - 1]];
          const isCount = this.columns[variable].isCount;
          this.allowed[leaf] = interval(table.kind, table.numbers, o, low, high, isCount, table.width - 2);
        }
        leaf++;
      });
    });
    this.leavesOf = lists.map((list) => Int32Array.from(list));
  }

  // Call visit(kind, table, offset, width, low, high, allowed) with a numeric leaf and its restriction.
  numeric(leaf, visit) {
    const table = this.tables[this.tableOf[leaf]];
    const o = this.rowOf[leaf] * table.width;
    if (!table.restricted) return visit(table.kind, table.numbers, o, table.width, -Infinity, Infinity, 1);
    const width = table.width - 2;
    return visit(table.kind, table.numbers, o, width, table.numbers[o + width], table.numbers[o + width + 1],
      this.allowed[leaf]);
  }

  // Return the probability of an interval under a numeric leaf.
  mass(leaf, low, high, isCount) {
    const table = this.tables[this.tableOf[leaf]];
    const o = this.rowOf[leaf] * table.width;
    if (!table.restricted) return interval(table.kind, table.numbers, o, low, high, isCount, table.width);
    const width = table.width - 2;
    const [first, last] = [Math.max(low, table.numbers[o + width]), Math.min(high, table.numbers[o + width + 1])];
    return Math.min(1, interval(table.kind, table.numbers, o, first, last, isCount, width) / this.allowed[leaf]);
  }

  // Return the density of a leaf at a value: for states, the probability of the state.
  density(leaf, value) {
    const table = this.tables[this.tableOf[leaf]];
    const o = this.rowOf[leaf] * table.width;
    if (!table.kind) return table.numbers[o + value];
    return this.numeric(leaf, (kind, t, at, width, low, high, allowed) =>
      (value < low || value > high ? 0 : kind.density(t, at, value, width) / allowed));
  }
}

// A column: what its values are.
class Column {
  constructor(source, index) {
    Object.assign(this, source);
    this.index = index;
    this.isFinite = source.states > 0;
    this.isCount = source.kind === "count";
    this.resolution = source.scale ? source.scale.resolution : 1;
  }

  // Return evidence with an interval of recorded values as the numbers that these stand for, which is what the
  // question language means: with a resolution of 0.1, "from 1.4" begins at 1.35. `shown` keeps the former.
  recorded(evidence) {
    if (!evidence || evidence.states || evidence.shown || this.isCount || !this.scale) return evidence;
    const step = this.resolution;
    const isMultiple = (value) => Math.abs(value / step - Math.round(value / step)) <= 1e-9 * Math.max(1, Math.abs(value / step));
    if (!isMultiple(this.scale.low) || !isMultiple(this.scale.high)) return evidence;
    const cut = (value, side) => {
      if (!Number.isFinite(value)) return value;
      return isMultiple(value) ? value + side * 0.5 * step : (Math.floor(value / step) + 0.5) * step;
    };
    return { low: cut(evidence.low, -1), high: cut(evidence.high, 1), shown: evidence };
  }

  get everything() { return { low: this.isCount ? 0 : -Infinity, high: Infinity }; }
}

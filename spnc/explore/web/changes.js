// How much the evidence has changed each column: the largest difference between the probabilities of
// an event of that column, with and without the evidence; of a number, of events "at most x".

const CUTS = 19; // values x of a number that are compared, across its chart
const LEAST_CHANGE = 0.01; // that is worth a mention
const MENTIONED = 6; // columns

class Changes {
  constructor(explorer) {
    this.explorer = explorer;
    this.usual = new Map(); // probabilities without evidence, by column
  }

  probabilities(state, column) {
    if (column.isFinite) return state.states(column.index);
    const [low, high] = this.explorer.range(column.index);
    return Float64Array.from({ length: CUTS }, (_, i) =>
      state.cdf(column.index, low + (high - low) * (i + 1) / (CUTS + 1)));
  }

  change(column) {
    const { before, now } = this.explorer;
    if (!this.usual.has(column.index)) this.usual.set(column.index, this.probabilities(before, column));
    const usual = this.usual.get(column.index);
    const apart = this.probabilities(now, column).map((p, i) => Math.abs(p - usual[i]));
    // Of states, an event may be any set of them; so half of all differences count.
    return column.isFinite ? apart.reduce((a, b) => a + b, 0) / 2 : Math.max(...apart);
  }

  // Return the columns that the evidence is not about and has changed most, the largest change first.
  largest() {
    const { circuit, now } = this.explorer;
    if (!now.isPossible || !now.evidence.some(Boolean)) return [];
    return circuit.columns.filter((column) => !now.evidence[column.index])
      .map((column) => [this.change(column), column])
      .filter(([change]) => change >= LEAST_CHANGE)
      .sort((a, b) => b[0] - a[0]).slice(0, MENTIONED).map(([, column]) => column);
  }
}

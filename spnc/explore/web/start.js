// Start the explorer, and offer the same answers to scripts as `spnc.ask`.

function question(circuit, given) {
  const evidence = circuit.columns.map(() => null);
  for (const [name, value] of Object.entries(given)) {
    const column = circuit.columns.find((each) => each.name === name);
    if (!column) throw new Error(`there is no column ${JSON.stringify(name)}`);
    if (!column.isFinite) {
      const { low = -Infinity, high = Infinity } = typeof value === "number" ? { low: value, high: value } : value;
      const every = column.everything;
      evidence[column.index] = { low: Math.max(low ?? -Infinity, every.low), high: high ?? Infinity };
      continue;
    }
    const states = new Uint8Array(column.states);
    for (const each of [value].flat()) {
      const state = typeof each === "number" ? each : column.values.indexOf(each);
      if (!(state >= 0 && state < column.states)) throw new Error(`${JSON.stringify(name)} is never ${JSON.stringify(each)}`);
      states[state] = 1;
    }
    evidence[column.index] = { states };
  }
  return evidence;
}

// Return all answers given evidence, such as { species: "Adelie", body_mass: { low: 3500, high: 4200 } }: a
// value, a list of values (labels, or codes as numbers) or an interval by column. `more.cdf` lists values
// by column, whose probabilities "at most" are added; `more.likely` adds the most likely row.
function answers(explorer, given, more = {}) {
  const { circuit } = explorer;
  explorer.asking = explorer.asking || new Evaluator(circuit);
  const state = explorer.asking;
  question(circuit, given).forEach((evidence, column) => state.observe(column, evidence));
  state.run();
  if (!state.isPossible) return { possible: false, logProbability: null };
  const columns = circuit.columns.map((column) => {
    const { name, index } = column;
    if (column.isFinite) return { name, probabilities: [...state.states(index)] };
    const quantiles = [0.05, 0.25, 0.5, 0.75, 0.95].map((share) => state.quantile(index, share));
    const wanted = (more.cdf || {})[name] || [];
    return { name, mean: state.mean(index), quantiles, cdf: wanted.map((value) => state.cdf(index, value)) };
  });
  const found = { possible: true, logProbability: state.logProbability, columns };
  if (more.likely) {
    explorer.searching = explorer.searching || new LikelyRow(circuit); // not the one that the page uses
    const work = explorer.searching.search(state.evidence.slice(), (column) => explorer.range(column));
    let step = work.next();
    while (!step.done) step = work.next();
    const { row, logValue, exact } = step.value;
    found.likely = { row: [...row], logValue, exact };
  }
  return found;
}

function start(root) {
  const source = JSON.parse(document.getElementById(root.dataset.explore).textContent);
  const explorer = new Explorer(root, source);
  window.spnc = {
    ask: (given = {}, more = {}) => answers(explorer, given, more),
    question: () => questionText(explorer.circuit.columns, explorer.now.evidence),
    update: () => { explorer.update(); return explorer.milliseconds; },
  };
}

for (const root of document.querySelectorAll("[data-explore]")) {
  const folded = root.closest("details");
  if (!folded || folded.open) start(root);
  else folded.addEventListener("toggle", () => start(root), { once: true });
}

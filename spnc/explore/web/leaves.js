// Leaf distributions over numbers. The parameters of a leaf are t[o], t[o + 1], … of a table.
//
// Each kind has `cdf` and `above`, the probabilities of at most and of more than x; `density`, which
// is a probability for counts; `mode`; `mean`; `bounds`, the least and the largest possible value; and
// `meanWithin`, the mean given low <= x <= high. The `scale` of a density is how fast it changes.

// Return the probability of low <= x <= high under a leaf, from the smaller of the two tails.
function interval(kind, t, o, low, high, isCount, width) {
  if (!(low <= high)) return 0;
  const before = isCount ? Math.ceil(low) - 1 : low;
  const below = kind.cdf(t, o, before, isCount, width);
  const found = below > 0.5
    ? kind.above(t, o, before, isCount, width) - kind.above(t, o, high, isCount, width)
    : kind.cdf(t, o, high, isCount, width) - below;
  return Math.min(1, Math.max(0, found));
}

// Half of the nodes and weights of Gauss-Legendre quadrature with 32 nodes; the rest is symmetric.
const [NODES, NODE_WEIGHTS] = (() => {
  const n = 32;
  const nodes = [];
  const weights = [];
  for (let i = 0; i < n / 2; i++) {
    let x = Math.cos(Math.PI * (i + 0.75) / (n + 0.5));
    let slope = 1;
    for (let round = 0; round < 20; round++) {
      let [before, now] = [1, x];
      for (let k = 2; k <= n; k++) [before, now] = [now, ((2 * k - 1) * x * now - (k - 1) * before) / k];
      slope = n * (x * now - before) / (x * x - 1);
      x -= now / slope;
    }
    nodes.push(x);
    weights.push(2 / ((1 - x * x) * slope * slope));
  }
  return [nodes, weights];
})();

// Return the mean of x - low given low <= x <= high by quadrature, for a density that is smooth there.
function smoothMean(density, low, high) {
  const half = 0.5 * (high - low);
  let [mass, sum] = [0, 0];
  for (let i = 0; i < NODES.length; i++) {
    const [near, far] = [half * (1 - NODES[i]), half * (1 + NODES[i])];
    const [a, b] = [NODE_WEIGHTS[i] * density(low + near), NODE_WEIGHTS[i] * density(low + far)];
    mass += a + b;
    sum += a * near + b * far;
  }
  return sum / mass;
}

const normalDensity = (z) => Math.exp(-0.5 * z * z - LOG_ROOT);
const logOf = (x) => (x > 0 ? Math.log(x) : -Infinity);
const never = () => [-Infinity, Infinity];

const KINDS = {
  gaussian: {
    cdf: (t, o, x) => normalCdf((x - t[o]) / t[o + 1]),
    above: (t, o, x) => normalCdf((t[o] - x) / t[o + 1]),
    density: (t, o, x) => normalDensity((x - t[o]) / t[o + 1]) / t[o + 1],
    mode: (t, o) => t[o],
    mean: (t, o) => t[o],
    bounds: never,
    scale: (t, o) => t[o + 1],
    meanWithin(t, o, low, high, mass) {
      const [a, b] = [(low - t[o]) / t[o + 1], (high - t[o]) / t[o + 1]];
      return t[o] + t[o + 1] * (normalDensity(a) - normalDensity(b)) / mass;
    },
  },
  "log-normal": {
    cdf: (t, o, x) => normalCdf((logOf(x) - t[o]) / t[o + 1]),
    above: (t, o, x) => normalCdf((t[o] - logOf(x)) / t[o + 1]),
    density: (t, o, x) => (x > 0 ? normalDensity((Math.log(x) - t[o]) / t[o + 1]) / (t[o + 1] * x) : 0),
    mode: (t, o) => Math.exp(t[o] - t[o + 1] ** 2),
    mean: (t, o) => Math.exp(t[o] + 0.5 * t[o + 1] ** 2),
    bounds: () => [0, Infinity],
    scale: (t, o, low) => Math.min(1, t[o + 1]) * low,
    meanWithin(t, o, low, high, mass) {
      // The values of a log-normal distribution, weighted by themselves, are log-normal again.
      const moved = [t[o] + t[o + 1] ** 2, t[o + 1]];
      return this.mean(t, o) * interval(this, moved, 0, low, high, false) / mass;
    },
  },
  gamma: {
    cdf: (t, o, x) => incompleteGamma(t[o], t[o + 1] * x, false),
    above: (t, o, x) => incompleteGamma(t[o], t[o + 1] * x, true),
    density(t, o, x) {
      if (!(x > 0)) return 0;
      const ratio = x * t[o + 1] / t[o];
      return Math.exp(-t[o] * logDeficit(ratio - 1, ratio) + stirlingRest(t[o])) / x;
    },
    mode: (t, o, column) => Math.max((t[o] - 1) / t[o + 1], column.resolution),
    mean: (t, o) => t[o] / t[o + 1],
    bounds: () => [0, Infinity],
    scale: (t, o, low) => Math.min(low, Math.sqrt(t[o]) / t[o + 1]),
    meanWithin(t, o, low, high, mass) {
      const moved = [t[o] + 1, t[o + 1]];
      return this.mean(t, o) * interval(this, moved, 0, low, high, false) / mass;
    },
  },
  exponential: {
    cdf: (t, o, x) => -Math.expm1(-t[o] * Math.max(x, 0)),
    above: (t, o, x) => Math.exp(-t[o] * Math.max(x, 0)),
    density: (t, o, x) => (x >= 0 ? t[o] * Math.exp(-t[o] * x) : 0),
    mode: () => 0,
    mean: (t, o) => 1 / t[o],
    bounds: () => [0, Infinity],
    scale: (t, o) => 1 / t[o],
    meanWithin(t, o, low, high) {
      const wide = high - low; // what is above low does not remember it
      return low + 1 / t[o] - (wide === Infinity ? 0 : wide / Math.expm1(t[o] * wide));
    },
  },
  "student-t": {
    cdf: (t, o, x) => studentCdf(t[o + 2], (x - t[o]) / t[o + 1]),
    above: (t, o, x) => studentCdf(t[o + 2], (t[o] - x) / t[o + 1]),
    density(t, o, x) {
      const [df, z] = [t[o + 2], (x - t[o]) / t[o + 1]];
      return Math.exp(this.constant(df) - 0.5 * (df + 1) * Math.log1p(z * z / df)) / t[o + 1];
    },
    constant: (df) => logGamma(0.5 * (df + 1)) - logGamma(0.5 * df) - 0.5 * Math.log(Math.PI * df),
    mode: (t, o) => t[o],
    mean: (t, o) => (t[o + 2] > 1 ? t[o] : NaN),
    bounds: never,
    scale: (t, o) => t[o + 1],
    meanWithin(t, o, low, high, mass) {
      const [df, power] = [t[o + 2], 0.5 * (1 - t[o + 2])];
      const [a, b] = [(low - t[o]) / t[o + 1], (high - t[o]) / t[o + 1]];
      const log = (z) => Math.log1p(z * z / df);
      let integral; // of z (1 + z²/df)^(-(df + 1) / 2)
      if (Number.isFinite(a) && Number.isFinite(b)) {
        const rise = log(b) - log(a);
        const start = 0.5 * df * Math.exp(power * log(a));
        integral = power === 0 ? start * rise : start * Math.expm1(power * rise) / power;
      } else {
        if (df <= 1) return a === -Infinity && b === Infinity ? NaN : a === -Infinity ? -Infinity : Infinity;
        const at = (z) => (Number.isFinite(z) ? Math.exp(power * log(z)) : 0);
        integral = 0.5 * df * (at(b) - at(a)) / power;
      }
      return t[o] + t[o + 1] * Math.exp(this.constant(df)) * integral / mass;
    },
  },
  poisson: {
    cdf: (t, o, x) => (x < 0 ? 0 : t[o] === 0 || x > 1e15 ? 1 : incompleteGamma(Math.floor(x) + 1, t[o], true)),
    above: (t, o, x) => (x < 0 ? 1 : t[o] === 0 || x > 1e15 ? 0 : incompleteGamma(Math.floor(x) + 1, t[o], false)),
    density(t, o, x) {
      if (x < 0 || x !== Math.floor(x)) return 0;
      if (t[o] === 0) return x === 0 ? 1 : 0;
      return Math.exp(x * Math.log(t[o]) - t[o] - logGamma(x + 1));
    },
    mode: (t, o) => Math.floor(t[o]),
    mean: (t, o) => t[o],
    bounds: (t, o) => [0, t[o] > 0 ? Infinity : 0],
    meanWithin(t, o, low, high, mass) {
      return t[o] * interval(this, t, o, low - 1, high - 1, true) / mass;
    },
  },
  "negative-binomial": {
    cdf: (t, o, x) => (x < 0 ? 0 : x > 1e15 ? 1 : incompleteBeta(t[o], Math.floor(x) + 1, t[o + 1], 1 - t[o + 1])),
    above: (t, o, x) => (x < 0 ? 1 : x > 1e15 ? 0 : incompleteBeta(Math.floor(x) + 1, t[o], 1 - t[o + 1], t[o + 1])),
    density(t, o, x) {
      const [size, p] = [t[o], t[o + 1]];
      if (x < 0 || x !== Math.floor(x)) return 0;
      if (p === 1) return x === 0 ? 1 : 0;
      return Math.exp(logGamma(x + size) - logGamma(size) - logGamma(x + 1) +
        size * Math.log(p) + x * Math.log1p(-p));
    },
    mode: (t, o) => Math.floor(Math.max(t[o] - 1, 0) * (1 - t[o + 1]) / t[o + 1]),
    mean: (t, o) => t[o] * (1 - t[o + 1]) / t[o + 1],
    bounds: (t, o) => [0, t[o + 1] < 1 ? Infinity : 0],
    meanWithin(t, o, low, high, mass) {
      return this.mean(t, o) * interval(this, [t[o] + 1, t[o + 1]], 0, low - 1, high - 1, true) / mass;
    },
  },
  uniform: {
    cdf: (t, o, x) => (Math.min(Math.max(x, t[o]), t[o + 1]) - t[o]) / (t[o + 1] - t[o]),
    above: (t, o, x) => (t[o + 1] - Math.min(Math.max(x, t[o]), t[o + 1])) / (t[o + 1] - t[o]),
    density: (t, o, x) => (t[o] <= x && x <= t[o + 1] ? 1 / (t[o + 1] - t[o]) : 0),
    mode: (t, o) => t[o] + 0.5 * (t[o + 1] - t[o]),
    mean: (t, o) => t[o] + 0.5 * (t[o + 1] - t[o]),
    bounds: (t, o) => [t[o], t[o + 1]],
    meanWithin: (t, o, low, high) => low + 0.5 * (high - low),
  },
  point: {
    cdf: (t, o, x, isCount) => (isCount ? Number(x >= t[o]) : Math.min(1, Math.max(0, (x - t[o]) / t[o + 1] + 0.5))),
    above(t, o, x, isCount) { return 1 - this.cdf(t, o, x, isCount); },
    density: (t, o, x) => (Math.abs(x - t[o]) <= 0.5 * t[o + 1] ? 1 / t[o + 1] : 0),
    mode: (t, o) => t[o],
    mean: (t, o) => t[o],
    bounds: (t, o, isCount) => (isCount ? [t[o], t[o]] : [t[o] - 0.5 * t[o + 1], t[o] + 0.5 * t[o + 1]]),
    meanWithin: (t, o, low, high) => low + 0.5 * (high - low),
  },
  // Edges and probabilities of bins in turn, from an edge to an edge.
  histogram: {
    cdf(t, o, x, isCount, width) {
      const at = isCount ? Math.floor(x) + 0.5 : x;
      let sum = 0;
      for (let i = o; i + 2 < o + width && t[i] < at; i += 2) {
        sum += t[i + 1] * Math.min(1, (at - t[i]) / (t[i + 2] - t[i]));
      }
      return Math.min(1, sum);
    },
    above(t, o, x, isCount, width) { return 1 - this.cdf(t, o, x, isCount, width); },
    density(t, o, x, width) {
      const last = o + width - 1;
      if (x < t[o] || x > t[last]) return 0;
      let i = o;
      while (i + 4 <= last && x >= t[i + 2]) i += 2;
      return t[i + 1] / (t[i + 2] - t[i]);
    },
    mode(t, o, column, width) {
      let best = o;
      const height = (i) => t[i + 1] / (t[i + 2] - t[i]);
      for (let i = o; i + 2 < o + width; i += 2) if (height(i) > height(best)) best = i;
      const centre = 0.5 * (t[best] + t[best + 2]);
      return column.isCount ? Math.floor(centre) : centre;
    },
    mean(t, o, width) { return this.meanWithin(t, o, t[o], t[o + width - 1], 1, false, width); },
    bounds(t, o, isCount, width) {
      const half = isCount ? 0.5 : 0;
      let [first, last] = [o, o + width - 1];
      while (first < last - 2 && t[first + 1] === 0) first += 2;
      while (last > first + 2 && t[last - 1] === 0) last -= 2;
      return [t[first] + half, t[last] - half];
    },
    meanWithin(t, o, low, high, mass, isCount, width) {
      const [first, last] = isCount ? [Math.ceil(low) - 0.5, Math.floor(high) + 0.5] : [low, high];
      let [total, sum] = [0, 0];
      for (let i = o; i + 2 < o + width; i += 2) {
        const [a, b] = [Math.max(first, t[i]), Math.min(last, t[i + 2])];
        if (!(a < b)) continue;
        const share = t[i + 1] * (b - a) / (t[i + 2] - t[i]);
        total += share;
        sum += share * (0.5 * (a - t[o]) + 0.5 * (b - t[o]));
      }
      return t[o] + sum / total;
    },
  },
};

// Return the kind of leaves that are normal at the places of a column's values: these are the knots of a map that
// is linear between them and goes on beyond its ends.
function warpedGaussian(values, places) {
  const pieces = values.length - 1;
  const slopes = new Float64Array(pieces).map((_, i) => (places[i + 1] - places[i]) / (values[i + 1] - values[i]));
  const logSlopes = slopes.map(Math.log);
  const steepest = logSlopes.reduce((most, each) => Math.max(most, each), -Infinity);
  const pieceOf = (knots, x) => {
    let [low, high] = [0, pieces - 1]; // the piece is among these
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (knots[middle] <= x) low = middle; else high = middle - 1;
    }
    return low;
  };
  const placeOf = (x) => {
    const i = pieceOf(values, x);
    return places[i] + (x - values[i]) * slopes[i];
  };
  const start = (i) => (i === 0 ? -Infinity : places[i]);
  const end = (i) => (i === pieces - 1 ? Infinity : places[i + 1]);
  return {
    cdf: (t, o, x) => normalCdf((placeOf(x) - t[o]) / t[o + 1]),
    above: (t, o, x) => normalCdf((t[o] - placeOf(x)) / t[o + 1]),
    density: (t, o, x) => normalDensity((placeOf(x) - t[o]) / t[o + 1]) / t[o + 1] * slopes[pieceOf(values, x)],
    mode(t, o) {
      let [best, top] = [NaN, -Infinity];
      // No piece further away is steep enough to be higher than the one at the mean.
      const reach = t[o + 1] * Math.sqrt(2 * (steepest - logSlopes[pieceOf(places, t[o])])) * (1 + 1e-9);
      const last = pieceOf(places, t[o] + reach);
      for (let i = pieceOf(places, t[o] - reach); i <= last; i++) {
        const place = Math.min(Math.max(t[o], start(i)), end(i));
        const height = logSlopes[i] - 0.5 * ((place - t[o]) / t[o + 1]) ** 2;
        if (height > top) [best, top] = [values[i] + (place - places[i]) / slopes[i], height];
      }
      return best;
    },
    mean(t, o) { return this.meanWithin(t, o, -Infinity, Infinity); },
    bounds: never,
    meanWithin(t, o, low, high) {
      const [least, most] = [placeOf(low), placeOf(high)];
      const origin = Number.isFinite(low) ? low : values[0];
      // Where the density is exp(-50) of that at the peak, it is left out.
      const peak = (Math.min(Math.max(t[o], least), most) - t[o]) / t[o + 1];
      const reach = t[o + 1] * Math.sqrt(peak * peak + 100);
      const [from, to] = [Math.max(least, t[o] - reach), Math.min(most, t[o] + reach)];
      const last = pieceOf(places, to);
      let [total, sum] = [0, 0];
      for (let i = pieceOf(places, from); i <= last; i++) {
        const [a, b] = [(Math.max(start(i), least) - t[o]) / t[o + 1], (Math.min(end(i), most) - t[o]) / t[o + 1]];
        if (!(a < b)) continue;
        // The difference of two densities has no digits left in a narrow piece, where they are about equal.
        const isNarrow = b - a < 1e-4;
        let mass;
        if (isNarrow) mass = (b - a) * normalDensity(0.5 * (a + b));
        else mass = a > 0 ? normalCdf(-a) - normalCdf(-b) : normalCdf(b) - normalCdf(a);
        if (!(mass > 0)) continue;
        const apart = isNarrow ? 0.5 * (a + b) : (normalDensity(a) - normalDensity(b)) / mass;
        total += mass;
        sum += mass * (values[i] - origin + (t[o] + t[o + 1] * apart - places[i]) / slopes[i]);
      }
      return total > 0 ? origin + sum / total : NaN;
    },
  };
}

// Leaves on the warp of their column: functions that make a kind of leaf for a warp.
const WARPED = { "warped-gaussian": warpedGaussian };

const NARROW = 2; // intervals of up to this many scales of a leaf are integrated numerically
const FEW = 64; // counts that are summed one by one

// Return the mean of a leaf given low <= x <= high, where its probability `mass` is above zero.
// Closed forms lose digits where the interval is narrow, so its values are summed there.
function meanWithin(kind, t, o, low, high, mass, isCount, width) {
  const [least, most] = kind.bounds(t, o, isCount, width);
  [low, high] = [Math.max(low, least), Math.min(high, most)];
  if (isCount) {
    [low, high] = [Math.ceil(low), Math.floor(high)];
    if (high - low < FEW) {
      let [total, sum] = [0, 0];
      for (let x = low; x <= high; x++) {
        const p = kind.density(t, o, x, width);
        total += p;
        sum += p * (x - low);
      }
      return low + sum / total;
    }
  } else if (kind.scale && high - low <= NARROW * kind.scale(t, o, low)) {
    return low + smoothMean((x) => kind.density(t, o, x), low, high);
  }
  return kind.meanWithin(t, o, low, high, mass, isCount, width);
}

// Special functions without a loss of digits: relative errors are about 1e-13.

const LOG_ROOT = 0.5 * Math.log(2 * Math.PI); // log of sqrt(2 pi)
const TINY = 1e-300; // in place of a zero in a continued fraction
const EPSILON = 1e-16;
const LARGE = 50; // from here on, the series of Stirling's remainder is exact to about 1e-16
const NEAR = 0.2; // below, t - log(1 + t) is a series: the difference would lose digits

// Return t - log(ratio) for ratio = 1 + t, which is about t²/2 for small t.
function logDeficit(t, ratio) {
  if (Math.abs(t) >= NEAR) return t - Math.log(ratio);
  // log(1 + t) = 2 artanh(w) with w = t / (2 + t), and t - 2 w = t w.
  const w = t / (2 + t);
  const square = w * w;
  let tail = 0;
  for (let power = 19; power > 1; power -= 2) tail = tail * square + 1 / power;
  return t * w - 2 * w * square * tail;
}

// Return log Gamma(a) for a > 0: Stirling's series, after moving up to where it is exact.
function logGamma(a) {
  let product = 1;
  let shift = 0;
  while (a < 15) {
    product *= a;
    if (product > 1e250) { shift += Math.log(product); product = 1; }
    a += 1;
  }
  const inverse = 1 / a;
  const square = inverse * inverse;
  const series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 -
    square * (1 / 1188 - square * 691 / 360360)))));
  return (a - 0.5) * Math.log(a) - a + LOG_ROOT + series - Math.log(product) - shift;
}

// Return a log(a) - a - log Gamma(a) for a > 0.
function stirlingRest(a) {
  if (a < LARGE) return a * Math.log(a) - a - logGamma(a);
  const inverse = 1 / a;
  const square = inverse * inverse;
  return 0.5 * Math.log(a) - LOG_ROOT - inverse * (1 / 12 - square * (1 / 360 - square / 1260));
}

// Return the standard normal probability of at most z.
function normalCdf(z) {
  const x = Math.abs(z) * Math.SQRT1_2;
  const tail = 0.5 * upperErf(x);
  return z < 0 ? tail : 1 - tail;
}

// Return erfc(x) for x >= 0: a series of positive terms near zero, else a continued fraction.
function upperErf(x) {
  const square = x * x;
  if (x < 2) {
    let term = x;
    let sum = x;
    for (let n = 1; term > EPSILON * sum; n++) {
      term *= 2 * square / (2 * n + 1);
      sum += term;
    }
    return 1 - 2 / Math.sqrt(Math.PI) * Math.exp(-square) * sum;
  }
  if (x > 27.3) return 0;
  // The even part of Laplace's continued fraction, by Lentz's method.
  let b = square + 0.5;
  let c = 1 / TINY;
  let d = 1 / b;
  let h = d;
  for (let n = 1; n < 500; n++) {
    const a = -n * (n - 0.5);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    const step = c * d;
    h *= step;
    if (Math.abs(step - 1) < EPSILON) break;
  }
  // exp(-x²) from a rounded x and the rest, since x² has more digits than a double.
  const head = Math.round(x * 1024) / 1024;
  return h * x / Math.sqrt(Math.PI) * Math.exp(-head * head) * Math.exp(-(x - head) * (x + head));
}

// Return the regularised lower incomplete gamma function P(a, x), or Q(a, x) if `upper`.
function incompleteGamma(a, x, upper) {
  if (!(x > 0)) return upper ? 1 : 0;
  if (x === Infinity) return upper ? 0 : 1;
  // x^a exp(-x) / Gamma(a), in the relative distance from a: large powers would cancel.
  const front = Math.exp(-a * logDeficit((x - a) / a, x / a) + stirlingRest(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; term > EPSILON * sum; n++) {
      term *= x / (a + n);
      sum += term;
    }
    const found = Math.min(1, front * sum);
    return upper ? 1 - found : found;
  }
  let b = x + 1 - a;
  let c = 1 / TINY;
  let d = 1 / b;
  let h = d;
  for (let n = 1; n < 100000; n++) {
    const an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (Math.abs(d) < TINY) d = TINY;
    c = b + an / c;
    if (Math.abs(c) < TINY) c = TINY;
    d = 1 / d;
    const step = d * c;
    h *= step;
    if (Math.abs(step - 1) < EPSILON) break;
  }
  const found = Math.min(1, front * h);
  return upper ? found : 1 - found;
}

// Return the regularised incomplete beta function I_x(a, b), where y = 1 - x has all its digits.
function incompleteBeta(a, b, x, y) {
  if (!(x > 0)) return 0;
  if (!(y > 0)) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaFraction(b, a, y, x);
  return betaFraction(a, b, x, y);
}

function betaFraction(a, b, x, y) {
  // x^a y^b / B(a, b), again in relative distances: with the mean a / (a + b) of x.
  const apart = b * x - a * y;
  const front = Math.exp(-a * logDeficit(apart / a, (a + b) * x / a) -
    b * logDeficit(-apart / b, (a + b) * y / b) +
    stirlingRest(a) + stirlingRest(b) - stirlingRest(a + b));
  let c = 1;
  let d = 1 - (a + b) * x / (a + 1);
  if (Math.abs(d) < TINY) d = TINY;
  d = 1 / d;
  let h = d;
  for (let m = 1; m < 100000; m++) {
    let term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + term * d;
    if (Math.abs(d) < TINY) d = TINY;
    c = 1 + term / c;
    if (Math.abs(c) < TINY) c = TINY;
    d = 1 / d;
    h *= d * c;
    term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + term * d;
    if (Math.abs(d) < TINY) d = TINY;
    c = 1 + term / c;
    if (Math.abs(c) < TINY) c = TINY;
    d = 1 / d;
    const step = d * c;
    h *= step;
    if (Math.abs(step - 1) < EPSILON) break;
  }
  return Math.min(1, front * h / a);
}

// Return the probability of at most t under Student's t distribution.
function studentCdf(df, t) {
  if (t === Infinity || t === -Infinity) return t > 0 ? 1 : 0;
  const square = t * t;
  const total = df + square;
  const tail = total === Infinity ? 0 : 0.5 * incompleteBeta(0.5 * df, 0.5, df / total, square / total);
  return t < 0 ? tail : 1 - tail;
}

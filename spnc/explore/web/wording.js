// Values, probabilities and questions in words.

const MINUS = "\u2212";
const SECONDS = { days: 86400, seconds: 1, milliseconds: 1e-3, microseconds: 1e-6, nanoseconds: 1e-9 };
// Words of the question language that would not be read as a name.
const RESERVED = new Set(["P", "E", "SD", "Var", "H", "MI", "median", "quantile", "most", "likely", "sample", "of",
  "density", "by", "except", "in", "or", "and", "not", "is"]);

// Return the decimals of the multiples of a step: 1 for 0.5, 2 for 0.25, 0 for 25.
function decimals(step) {
  const least = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  for (let places = least; places < Math.min(least + 3, 13); places++) {
    const scaled = step * 10 ** places;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return places;
  }
  return Math.min(least, 12);
}

// Return a number of a column, without its unit; `plain` for questions, else for people.
function numberText(column, value, plain = false) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : `${MINUS}∞`;
  if (column.kind === "date") return dateText(column, value);
  if (plain) return String(Number(value.toPrecision(12)));
  let text;
  if (column.isCount) text = Number.isInteger(value) ? String(value) : value.toFixed(1);
  else if (column.scale && Math.abs(value) < 1e12) {
    const { resolution, sd } = column.scale;
    let places = decimals(resolution);
    if (sd > 1000 * resolution) places = Math.min(places, Math.max(0, Math.ceil(-Math.log10(sd / 1000))));
    text = places > 8 ? String(Number(value.toPrecision(6))) : value.toFixed(places);
  } else text = String(Number(value.toPrecision(5)));
  if (Math.abs(value) >= 1e4 && !text.includes("e")) {
    const [whole, part] = text.split(".");
    text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
  }
  return text.replace(/^-/, MINUS);
}

// Return a date in ISO 8601, as exact as its column.
function dateText(column, value) {
  if (column.unit === "years") return String(Math.round(value));
  const two = (n) => String(n).padStart(2, "0");
  if (column.unit === "months") {
    const months = Math.round(value);
    return `${1970 + Math.floor(months / 12)}-${two(months - 12 * Math.floor(months / 12) + 1)}`;
  }
  const unit = SECONDS[column.unit] || 86400;
  const date = new Date((unit === 86400 ? Math.round(value) * unit : value * unit) * 1000);
  if (Number.isNaN(date.getTime())) return String(Number(value.toPrecision(6)));
  const text = date.toISOString();
  const step = column.resolution * unit;
  if (step >= 86400 && step % 86400 === 0) return text.slice(0, 10);
  return text.slice(0, step % 60 === 0 ? 16 : step >= 1 ? 19 : 23).replace("T", " ");
}

function withUnit(column, text) { return column.unit && column.kind !== "date" ? `${text} ${column.unit}` : text; }

// Return a value of a row in words.
function valueText(column, value) {
  return column.isFinite ? column.labels[value] : withUnit(column, numberText(column, value));
}

// Return a label without its middle if it is too long: labels often differ only at their ends.
function shortened(label, limit) {
  const letters = [...label];
  if (letters.length <= limit) return label;
  const after = Math.floor(limit / 2);
  return `${letters.slice(0, limit - 1 - after).join("")}…${letters.slice(letters.length - after).join("")}`;
}

// Return a probability as a share in percent, or as a power of ten.
function chanceText(p, log = Math.log(p)) {
  if (!(log > -Infinity)) return "0 %";
  if (p >= 1 - 1e-12) return "100 %"; // less only by rounding
  if (p >= 0.9995) return `${(100 * p).toFixed(p >= 0.999995 ? 6 : 4)} %`;
  if (p >= 0.001) return `${(100 * p).toFixed(p >= 0.0995 ? 1 : 2)} %`;
  const power = Math.floor(log / Math.LN10);
  return `${Math.exp(log - power * Math.LN10).toFixed(2)} · 10${raised(power)}`;
}

// Return a logarithm with this many decimals.
function logText(value, digits) { return value.toFixed(digits).replace(/^-(?=0\.0*$)/, "").replace("-", MINUS); }

function raised(power) {
  return String(power).replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
}

// Return a name or label as the question language reads it.
function quoted(text) {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && !RESERVED.has(text)) return text;
  if (/^-?[0-9]+(\.[0-9]+)?$/.test(text)) return text;
  if (/^[^\p{C}\u2028\u2029]*$/u.test(text)) return `"${text.replaceAll('"', '""')}"`;
  const escaped = JSON.stringify(text).replace(/[\p{C}\u2028\u2029]/gu, (c) =>
    [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""));
  return `e${escaped}`;
}

// Return the evidence of one column as an event of the question language, or in words for people.
function eventText(column, evidence, people = false) {
  const name = people ? column.shown : quoted(column.name);
  if (evidence.states) {
    const texts = people ? column.labels : column.values.map(quoted);
    const allowed = texts.filter((_, state) => evidence.states[state]);
    return allowed.length === 1 ? `${name} = ${allowed[0]}` : `${name} in {${allowed.join(", ")}}`;
  }
  evidence = evidence.shown || evidence;
  const [low, high] = [evidence.low, evidence.high].map((end) => numberText(column, end, !people));
  const unit = people ? withUnit(column, "").trim() : "";
  const after = unit ? ` ${unit}` : "";
  if (evidence.low === evidence.high) return `${name} = ${low}${after}`;
  if (!(evidence.low > column.everything.low)) return `${name} ${people ? "≤" : "<="} ${high}${after}`;
  if (evidence.high === Infinity) return `${name} ${people ? "≥" : ">="} ${low}${after}`;
  return people ? `${name} from ${low} to ${high}${after}` : `${name} in ${low}..${high}`;
}

// Return the question whose answer is the probability of all evidence.
function questionText(columns, evidence) {
  const parts = columns.filter((c) => evidence[c.index]).map((c) => eventText(c, evidence[c.index]));
  return parts.length ? `P(${parts.join(", ")})` : "";
}

// Numbers as people read them. A value that is not known is shown as a dash.

const unknown = "\u2013";

function known(value) {
  return typeof value === "number" && Number.isFinite(value);
}

// Not Math.min with all values at once: a function takes only so many arguments.
function least(values) {
  return values.reduce((best, value) => Math.min(best, value), Infinity);
}

function greatest(values) {
  return values.reduce((best, value) => Math.max(best, value), -Infinity);
}

function significant(value, digits) {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(12, Math.max(0, digits - 1 - size)));
}

function scaled(value, steps, digits) {
  if (!known(value)) return unknown;
  const size = Math.abs(value);
  for (const [unit, factor] of steps) {
    // Rounded up to the next unit: 999.96 is written as 1.00 of it.
    if (size * (1 + 0.5 * 10 ** -digits) >= factor) {
      return significant(value / factor, digits) + unit;
    }
  }
  const [unit, factor] = steps[steps.length - 1];
  return significant(value / factor, digits) + unit;
}

const time_steps = [[" s", 1e9], [" ms", 1e6], [" \u00b5s", 1e3], [" ns", 1]];
const count_steps = [[" T", 1e12], [" G", 1e9], [" M", 1e6], [" k", 1e3], ["", 1]];
const byte_steps = [
  [" TiB", 2 ** 40], [" GiB", 2 ** 30], [" MiB", 2 ** 20], [" KiB", 2 ** 10], [" B", 1],
];

function formatNanos(value, digits = 3) {
  return scaled(value, time_steps, digits);
}

function formatCount(value, digits = 3) {
  return scaled(value, count_steps, digits);
}

function formatBytes(value, digits = 3) {
  return scaled(value, byte_steps, digits);
}

function formatRate(value, digits = 3) {
  return known(value) ? formatCount(value, digits) + (value < 1e3 ? " /s" : "/s") : unknown;
}

function formatPlain(value) {
  return known(value) ? significant(value, 3) : unknown;
}

function formatRatio(value) {
  if (!known(value)) return unknown;
  if (value > 0 && value < 0.01) return `1/${Math.round(1 / value).toLocaleString("en")}`;
  const digits = value < 1 ? 2 : 3;
  return (value >= 100 ? Math.round(value).toLocaleString("en") : significant(value, digits)) +
      "\u00d7";
}

function formatShare(value) {
  if (!known(value)) return unknown;
  if (value > 0 && value < 0.0001) return "< 0.01 %";
  return significant(value * 100, 3) + " %";
}

function formatPercent(percent) {
  return "p" + String(Number(percent.toFixed(6)));
}

// On an axis zeros behind the point say nothing.
function tickText(words) {
  return words.replace(/\.0+(?!\d)/, "").replace(/(\.\d*?[1-9])0+(?!\d)/, "$1");
}

function plural(count, one, many) {
  return count.toLocaleString("en") + " " + (count === 1 ? one : many);
}

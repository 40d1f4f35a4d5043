// @ts-check
// Quantities in words.

/** @param {number | null} bytes */
function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  let value = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1000 || unit === "GB") return `${unit === "B" ? value : value.toPrecision(4)} ${unit}`;
    value /= 1000;
  }
  return "";
}
/** @param {number | null} ns */
const ms = (ns) => (ns === null || ns === undefined ? "–" : `${(ns / 1e6).toPrecision(4)} ms`);

/** @param {number} ns @param {number} digits */
const seconds = (ns, digits = 6) => `${(ns / 1e9).toFixed(digits)} s`;

/** @param {number} ns */
function span(ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(4)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(4)} ms`;
  return `${(ns / 1e9).toPrecision(4)} s`;
}

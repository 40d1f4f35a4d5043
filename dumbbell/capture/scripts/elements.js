// @ts-check
// What the parts of the page are made of. They stand in one module: see page.py for their order.
/* global uPlot */

/** @typedef {Record<string, any>} Row */
/** What a packet was, in the order of drawing: colours of light and dark ground. */
const KINDS = {
  new: ["sent", "#0b6fb8", "#63b3f2"],
  reordered: ["reordered", "#7a3fb0", "#c9a0f5"],
  copy: ["copy made on the way", "#7b8794", "#9aa6b5"],
  "keep-alive": ["keep-alive", "#7b8794", "#9aa6b5"],
  fast: ["retransmission: fast", "#c2251c", "#ff8a7a"],
  "time-out": ["retransmission: time-out", "#8a5a00", "#f0ad3d"],
  "tail loss probe": ["retransmission: tail loss probe", "#b8007a", "#ff8fd0"],
};
const OTHERS = {
  ack: ["acknowledged", "#00734f", "#4fd1a1"],
  window: ["window", "#98a2ad", "#5d6b7b"],
  sack: ["SACK block", "#5b8f00", "#a5d64c"],
};
const LADDER_MAX = 160;

const root = document.documentElement;
const main = /** @type {HTMLElement} */ (document.querySelector("#page"));
/** @type {Row[]} */
const files = JSON.parse(document.querySelector("#data")?.textContent ?? "[]");

const dark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
/** @param {string[]} entry */
const colour = (entry) => entry[dark() ? 2 : 1];
/** @param {string} name */
const themed = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/**
 * @param {string} name
 * @param {Row} attributes
 * @param {...(Node | string)} children
 */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** @param {number | null} bytes */
function size(bytes) {
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
/** @param {string} address @param {number | null} port */
const end = (address, port) =>
  port === null ? address : address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;

/** @type {(() => void)[]} What draws itself anew in another theme or width. */
let redraws = [];

/**
 * A chart of uPlot in a holder.
 * @param {HTMLElement} holder @param {Row} options @param {any[]} data
 */
function chart(holder, options, data) {
  /** @type {any} */
  let plot = null;
  const draw = () => {
    const scales = plot && { x: { ...plot.scales.x }, y: { ...plot.scales.y } };
    plot?.destroy();
    const axis = { stroke: themed("--faint"), grid: { stroke: themed("--line"), width: 1 }, ticks: { stroke: themed("--line") } };
    plot = new /** @type {any} */ (window).uPlot(
      {
        width: Math.max(320, holder.clientWidth),
        height: 300,
        ms: 1e-3,
        ...options,
        scales: { x: { time: false }, ...options.scales },
        axes: (options.axes ?? [{}, {}]).map((/** @type {Row} */ one) => ({ ...axis, ...one })),
        series: options.series.map((/** @type {any} */ one) => (typeof one === "function" ? one() : one)),
      },
      data,
      holder,
    );
    if (scales && options.keep) plot.setScale("x", { min: scales.x.min, max: scales.x.max });
  };
  draw();
  redraws.push(draw);
  return () => plot;
}

// @ts-check
// Colours of the theme that is shown. Series and algorithms are those of figures (figures/theme.py).

const asksDark = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : asksDark.matches);
/** A colour of the style. @param {string} name */
const themed = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/** @type {{series: {light: string[], dark: string[]}, algorithms: Record<string, {title: string, colour: number, dash: number[]}>}} */
const figureColours = JSON.parse(document.querySelector("#face")?.textContent ?? '{"series":{"light":[],"dark":[]},"algorithms":{}}');
const seriesColours = () => figureColours.series[dark() ? "dark" : "light"];

/**
 * Colour, dashes and title of a congestion control or kind of traffic, as in figures; undefined for other names.
 * @param {string} name
 */
function algorithmStyle(name) {
  const found = figureColours.algorithms[name];
  return found && { title: found.title, stroke: seriesColours()[found.colour], dash: found.dash };
}

/** Colours of flows on light and on dark ground, where they are told apart by flow. */
const PALETTE = [
  ["#0b6fb8", "#63b3f2"],
  ["#c05a00", "#ffa14a"],
  ["#00734f", "#4fd1a1"],
  ["#a12a7e", "#f08fd0"],
  ["#6a51c9", "#b5a3ff"],
  ["#7d6600", "#e0c64a"],
  ["#00707d", "#5fd0de"],
  ["#9a3a3a", "#f29a9a"],
];
/** @param {number} flow */
const flowColour = (flow) => PALETTE[flow % PALETTE.length][dark() ? 1 : 0];

/** Calls a function when the theme changes. @param {() => void} draw */
function onTheme(draw) {
  addEventListener("themechange", draw);
  asksDark.addEventListener("change", draw);
}
/** Calls a function some time after the width has changed. @param {() => void} draw */
function onWidth(draw) {
  /** @type {number | undefined} */
  let waiting;
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
}

// @ts-check
// Lines over time in step below the packets.
/* global uPlot */

/** @typedef {{plot: any, mark: HTMLElement}} Chart */

/**
 * @param {HTMLElement} place
 * @param {(time: number) => void} seek
 * @returns {{redraw: () => void, at: (time: number) => void}}
 */
function charts(place, seek) {
  /** @type {Chart[]} */
  let made = [];
  let now = 0;
  const css = (/** @type {string} */ name) => getComputedStyle(root).getPropertyValue(name).trim();
  const pipeByName = new Map(pipes.map((pipe, number) => [pipe.name, number]));

  function redraw() {
    for (const { plot } of made) plot.destroy();
    place.replaceChildren();
    made = header.charts.map((/** @type {Row} */ chart) => {
      const title = element("h3", {}, chart.title);
      const holder = element("div", { class: "chart" });
      place.append(title, holder);
      const lines = chart.lines.map((/** @type {Row} */ line, /** @type {number} */ number) => {
        const flow = flows.findIndex((one) => one.name === line.flow);
        const label = line.flow ?? pipeName(pipeByName.get(line.pipe) ?? 0);
        const stroke = flow >= 0 ? flowColour(flow) : flowColour(number);
        return { label, stroke, width: 1.4, points: { show: false }, value: (/** @type {any} */ _, /** @type {number} */ v) => (v === null || v === undefined ? "–" : String(+v.toPrecision(4))) };
      });
      const axis = { stroke: css("--faint") || css("--text"), grid: { stroke: css("--line") || "#8883", width: 1 }, ticks: { show: false } };
      const options = {
        width: Math.max(280, place.clientWidth),
        height: 150,
        scales: { x: { time: false, range: () => [header.from_ns / 1e9, header.to_ns / 1e9] }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, Math.max(most * 1.06, 1e-3)] } },
        axes: [{ ...axis, size: 26 }, { ...axis, size: 52 }],
        series: [{ label: "s", value: (/** @type {any} */ _, /** @type {number} */ v) => (v === null || v === undefined ? "–" : v.toFixed(3)) }, ...lines],
        cursor: { drag: { x: false, y: false }, y: false },
        legend: { live: true },
        hooks: { draw: [() => follow()] },
      };
      // @ts-expect-error uPlot is a script of its own
      const plot = new uPlot(options, [chart.time_s, ...chart.lines.map((/** @type {Row} */ line) => line.values)], holder);
      const mark = element("div", { class: "now" });
      plot.over.append(mark);
      plot.over.addEventListener("click", (/** @type {MouseEvent} */ event) => {
        const box = plot.over.getBoundingClientRect();
        seek(plot.posToVal(event.clientX - box.left, "x") * 1e9);
      });
      return { plot, mark };
    });
  }
  /** The line of the time that the picture shows. */
  function follow() {
    for (const { plot, mark } of made) mark.style.transform = `translateX(${plot.valToPos(now / 1e9, "x")}px)`;
  }
  redraw();
  return {
    redraw,
    at(time) {
      now = time;
      follow();
    },
  };
}

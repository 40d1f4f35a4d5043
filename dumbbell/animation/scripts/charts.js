// @ts-check
// Lines over time in step below the packets.

/** @typedef {{plot: () => any, mark: HTMLElement}} Chart */

/**
 * @param {HTMLElement} place
 * @param {(time: number) => void} seek
 * @returns {{at: (time: number) => void}}
 */
function charts(place, seek) {
  let now = 0;
  const pipeByName = new Map(pipes.map((pipe, number) => [pipe.name, number]));
  /** @type {Chart[]} */
  const made = [];
  const rounded = (/** @type {any} */ _, /** @type {number} */ v) => (v === null || v === undefined ? "–" : String(+v.toPrecision(4)));
  for (const one of /** @type {Row[]} */ (header.charts)) {
    const holder = element("div", { class: "chart" });
    place.append(element("h3", {}, one.title), holder);
    const mark = element("div", { class: "now" });
    const lines = one.lines.map((/** @type {Row} */ line, /** @type {number} */ number) => {
      const flow = flows.findIndex((other) => other.name === line.flow);
      const label = line.flow ?? pipeName(pipeByName.get(line.pipe) ?? 0);
      return () => ({ label, stroke: flowColour(flow >= 0 ? flow : number), width: 1.4, points: { show: false }, value: rounded });
    });
    const options = {
      height: 150,
      scales: { x: { range: () => [header.from_ns / 1e9, header.to_ns / 1e9] }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, Math.max(most * 1.06, 1e-3)] } },
      axes: [{ size: 26, ticks: { show: false } }, { size: 52, ticks: { show: false } }],
      series: [{ label: "s", value: (/** @type {any} */ _, /** @type {number} */ v) => (v === null || v === undefined ? "–" : v.toFixed(3)) }, ...lines],
      cursor: { drag: { x: false, y: false }, y: false },
      legend: { live: true },
      hooks: {
        ready: [
          (/** @type {any} */ plot) => {
            plot.over.append(mark);
            plot.over.addEventListener("click", (/** @type {MouseEvent} */ event) => {
              const box = plot.over.getBoundingClientRect();
              seek(plot.posToVal(event.clientX - box.left, "x") * 1e9);
            });
          },
        ],
        draw: [() => follow()],
      },
    };
    made.push({ plot: chart(holder, options, [one.time_s, ...one.lines.map((/** @type {Row} */ line) => line.values)]), mark });
  }
  /** The line of the time that the picture shows. */
  function follow() {
    for (const { plot, mark } of made) if (plot()) mark.style.transform = `translateX(${plot().valToPos(now / 1e9, "x")}px)`;
  }
  follow();
  return {
    at(time) {
      now = time;
      follow();
    },
  };
}

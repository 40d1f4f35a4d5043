// @ts-check
// Charts of uPlot in the colours of the page.
/* global uPlot */

/** @type {(() => void)[]} What draws itself anew in another theme or width. */
let redraws = [];
const redrawAll = () => redraws.forEach((draw) => draw());

/**
 * A chart in a holder. Series may be functions, called for the colours of the theme. Returns the function that
 * gives the present plot.
 * @param {HTMLElement} holder @param {Row} options as uPlot's; `keep`: the section shown outlives a redraw
 * @param {any[]} data
 * @returns {() => any}
 */
function chart(holder, options, data) {
  /** @type {any} */
  let plot = null;
  const draw = () => {
    const scales = plot && { x: { ...plot.scales.x }, y: { ...plot.scales.y } };
    const now = plot ? plot.data : data;
    plot?.destroy();
    const axis = { stroke: themed("--faint"), grid: { stroke: themed("--line"), width: 1 }, ticks: { stroke: themed("--line") } };
    plot = new /** @type {any} */ (window).uPlot(
      {
        width: Math.max(280, holder.clientWidth),
        height: 300,
        ms: 1e-3,
        ...options,
        scales: { ...options.scales, x: { time: false, ...options.scales?.x } },
        axes: (options.axes ?? [{}, {}]).map((/** @type {Row} */ one) => ({ ...axis, ...one })),
        series: options.series.map((/** @type {any} */ one) => (typeof one === "function" ? one() : one)),
      },
      now,
      holder,
    );
    if (scales && options.keep) plot.setScale("x", { min: scales.x.min, max: scales.x.max });
  };
  draw();
  redraws.push(draw);
  return () => plot;
}

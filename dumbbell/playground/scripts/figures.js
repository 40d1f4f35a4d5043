// @ts-check
// Charts of a run over time, with one cursor for all.

/** Most flows of a chart: more lines cannot be told apart. */
const MOST_LINES = 12;

/** Colour and dashes of each flow: those of its congestion control, unless several share it. @param {Row[]} flows */
function looks(flows) {
  /** @type {Record<string, number>} */
  const count = {};
  for (const flow of flows) count[flow.algorithm] = (count[flow.algorithm] ?? 0) + 1;
  return flows.map((flow, i) => () => {
    const style = count[flow.algorithm] === 1 ? algorithmStyle(flow.algorithm) : undefined;
    return { label: flow.name, stroke: style?.stroke ?? flowColour(i), dash: style?.dash, width: 1.6, spanGaps: true };
  });
}

/** Charts as descriptions: title, unit, names, data. @param {Row} answer @param {Row[]} flows @param {Row[]} pipes */
function described(answer, flows, pipes) {
  const shown = flows.slice(0, MOST_LINES);
  const look = looks(shown);
  const { samples, queues, probes } = answer.tables;
  /** @type {Row[]} */
  const charts = [];
  /** @param {string} title @param {string} unit @param {{name: string, times: number[], values: (number | null)[], look: any}[]} series */
  const add = (title, unit, series) => {
    const filled = series.filter((one) => one.values.some((value) => value !== null));
    if (filled.length) charts.push({ title, unit, names: filled.map((one) => one.name), looks: filled.map((one) => one.look), data: aligned(filled) });
  };
  const of = shown.map((flow, i) => ({ flow, look: look[i], rows: samples ? seriesOf(samples, "flow", flow.name, flow.end_ns) : null }));
  const sampled = of.filter((one) => one.rows);
  const tcp = sampled.filter((one) => one.flow.kind === "tcp");
  add("Congestion window", "packets", tcp.map((one) => ({ name: one.flow.name, times: one.rows?.times ?? [], values: one.rows?.of("cwnd_packets") ?? [], look: one.look })));
  add(
    "Goodput",
    "Mbit/s",
    sampled.filter((one) => one.flow.kind !== "ping").map((one) => {
      const times = one.rows?.times ?? [];
      const bytes = one.rows?.of("delivered_bytes") ?? [];
      // Over about a hundredth of the run: single samples hold few packets.
      const step = Math.max(1, Math.round(times.length / 100));
      const values = bytes.map((/** @type {number | null} */ now, /** @type {number} */ i) => {
        const before = bytes[i - step];
        if (i < step || now === null || before === null || before === undefined) return null;
        return ((now - before) * 8e-6) / (times[i] - times[i - step]);
      });
      return { name: one.flow.name, times, values, look: one.look };
    }),
  );
  add("Round-trip time", "ms", [
    ...tcp.map((one) => ({ name: one.flow.name, times: one.rows?.times ?? [], values: one.rows?.of("srtt_ns", 1e-6) ?? [], look: one.look })),
    ...of
      .filter((one) => one.flow.kind === "ping" && probes)
      .map((one) => {
        const rows = seriesOf(probes, "flow", one.flow.name);
        return { name: one.flow.name, times: rows.times, values: rows.of("rtt_ns", 1e-6), look: one.look };
      }),
  ]);
  add(
    "Queue",
    "packets",
    pipes.slice(0, MOST_LINES).filter(() => queues).map((pipe, i) => {
      const rows = seriesOf(queues, "pipe", pipe.pipe);
      const line = () => ({ label: pipe.name, stroke: flowColour(i), width: 1.6, spanGaps: true });
      return { name: pipe.name, times: rows.times, values: rows.of("queued_packets"), look: line };
    }),
  );
  return charts;
}

/** Draws charts in place of those before. @param {HTMLElement} place @param {Row[]} charts */
function drawCharts(place, charts) {
  redraws = [];
  const holders = charts.map((one) => {
    const holder = element("div", { class: "plot", role: "img", "aria-label": `${one.title} over time, ${one.unit}: ${one.names.join(", ")}` });
    return { one, holder, whole: element("div", {}, element("h3", {}, `${one.title} (${one.unit})`), holder) };
  });
  place.replaceChildren(...holders.map((one) => one.whole));
  for (const { one, holder } of holders) {
    chart(
      holder,
      {
        height: 210,
        cursor: { sync: { key: "playground" }, drag: { x: true, y: false } },
        scales: { y: { range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => [0, high > 0 ? high * 1.05 : 1] } },
        axes: [{}, { size: 56 }],
        series: [{ label: "s" }, ...one.looks],
      },
      one.data,
    );
  }
}

// @ts-check
// Numbers of a run, with the formulas of docs/metrics.md.

/** Known values: what is unknown is -1 or null. @param {number | null | undefined} value */
const known = (value) => (value === null || value === undefined || value < 0 ? null : value);

/** Rows of a table that is given by columns. @param {Row | undefined} table @returns {Row[]} */
function rowsOf(table) {
  if (!table) return [];
  const names = Object.keys(table);
  const count = names.length ? table[names[0]].length : 0;
  return Array.from({ length: count }, (_, i) => Object.fromEntries(names.map((name) => [name, table[name][i]])));
}

/** Quantile of sorted values, linear between two. @param {number[]} sorted @param {number} share */
function quantile(sorted, share) {
  if (!sorted.length) return null;
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** Flows with what the table shows. @param {Row} answer */
function flowsOf(answer) {
  const flows = rowsOf(answer.tables.flows).map((flow) => {
    const life = flow.end_ns - flow.established_ns;
    const counts = flow.kind !== "ping" && known(flow.established_ns) !== null && life > 0;
    return {
      name: flow.flow,
      kind: flow.kind,
      algorithm: flow.congestion_control || flow.kind,
      mbps: counts && flow.delivered_bytes >= 0 ? (8e3 * flow.delivered_bytes) / life : null,
      rtt: known(flow.rtt_mean_ns) ?? known(flow.srtt_mean_ns),
      retransmitted: flow.kind === "tcp" && flow.data_packets > 0 ? (100 * flow.retransmitted_packets) / flow.data_packets : null,
      lost: known(flow.dropped_packets),
      share: /** @type {number | null} */ (null),
    };
  });
  const total = flows.reduce((sum, flow) => sum + (flow.mbps ?? 0), 0);
  for (const flow of flows) flow.share = flow.mbps === null || !total ? null : (100 * flow.mbps) / total;
  return flows;
}

/** Rate of a direction of a link in bit/s; null if it has none. @param {Row} answer @param {string} name */
function rateOf(answer, name) {
  const [link, way] = [name.slice(0, name.lastIndexOf("/")), name.slice(name.lastIndexOf("/") + 1)];
  const pipe = answer.scenario.links.find((/** @type {Row} */ one) => one.name === link)?.[way];
  if (!pipe) return null;
  return pipe.shaper.serial?.rate_bps ?? pipe.shaper.tbf?.rate_bps ?? pipe.queue.htb?.rate_bps ?? (pipe.queue.cake?.bandwidth_bps || null);
}

/** Directions of links that were used for a fifth of their rate or dropped packets. @param {Row} answer */
function bottlenecksOf(answer) {
  const queues = answer.tables.queues;
  return rowsOf(answer.tables.pipes)
    .map((pipe) => {
      const rate = rateOf(answer, pipe.pipe);
      /** @type {number[]} */
      const delays = [];
      queues?.pipe.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
        if (name !== pipe.pipe) return;
        const waited = known(queues.sojourn_mean_ns[i]);
        if (waited !== null) delays.push(waited / 1e6);
        else if (rate) delays.push((queues.queued_bytes[i] * 8e3) / rate);
      });
      delays.sort((a, b) => a - b);
      const dropped = (known(pipe.dropped_overflow_packets) ?? 0) + (known(pipe.dropped_aqm_packets) ?? 0);
      const mbps = (8e3 * pipe.left_bytes) / answer.duration_ns;
      return {
        name: pipe.pipe.replace(/\/forward$/, " →").replace(/\/backward$/, " ←"),
        pipe: pipe.pipe,
        mbps,
        used: rate ? (100e6 * mbps) / rate : null,
        p50: quantile(delays, 0.5),
        p95: quantile(delays, 0.95),
        lost: pipe.arrived_packets > 0 ? (100 * dropped) / pipe.arrived_packets : null,
        marked: known(pipe.marked_packets),
        counts: rate !== null && (dropped > 0 || (100e6 * mbps) / rate >= 20),
      };
    })
    .filter((pipe) => pipe.counts);
}

/** A number with three digits; – if there is none. @param {number | null} value @param {string} unit */
function figure(value, unit = "") {
  if (value === null || !Number.isFinite(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit}`;
}

/** Times in s, and a column of values, of the rows of a name. @param {Row} table @param {string} by @param {string} name */
function seriesOf(table, by, name) {
  const picked = table[by].flatMap((/** @type {string} */ one, /** @type {number} */ i) => (one === name ? [i] : []));
  return {
    times: picked.map((/** @type {number} */ i) => table.time_ns[i] / 1e9),
    /** @param {string} column @param {number} scale */
    of: (column, scale = 1) => picked.map((/** @type {number} */ i) => (known(table[column][i]) === null ? null : table[column][i] * scale)),
  };
}

/** Series on one axis of time: uPlot's data. @param {{times: number[], values: (number | null)[]}[]} series */
function aligned(series) {
  const times = [...new Set(series.flatMap((one) => one.times))].sort((a, b) => a - b);
  const place = new Map(times.map((time, i) => [time, i]));
  const columns = series.map((one) => {
    /** @type {(number | null | undefined)[]} */
    const column = new Array(times.length).fill(undefined);
    one.times.forEach((time, i) => (column[/** @type {number} */ (place.get(time))] = one.values[i]));
    return column;
  });
  return [times, ...columns];
}

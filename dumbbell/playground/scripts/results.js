// @ts-check
// Numbers of a run, with the formulas of docs/metrics.md.

/** Known values: what is unknown is -1 or null. @param {number | null | undefined} value */
const known = (value) => (value === null || value === undefined || value < 0 ? null : value);

const TCP = ["tcp", "mptcp", "subflow"];

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
      end_ns: flow.end_ns,
      rtt: flow.kind === "ping" ? known(flow.rtt_mean_ns) : known(flow.srtt_mean_ns),
      retransmitted: TCP.includes(flow.kind) && flow.data_packets > 0 && flow.retransmitted_packets >= 0 ? (100 * flow.retransmitted_packets) / flow.data_packets : null,
      lost: known(flow.dropped_packets),
      part: /** @type {number | null} */ (null),
    };
  });
  // A Multipath TCP connection is the sum of its subflows.
  const whole = flows.filter((flow) => flow.kind !== "subflow");
  const total = whole.reduce((sum, flow) => sum + (flow.mbps ?? 0), 0);
  for (const flow of whole) flow.part = flow.mbps === null || !total ? null : (100 * flow.mbps) / total;
  return flows;
}

/** Time in which flows are under way: from the first start to the last end, ns. @param {Row} answer */
function activeOf(answer) {
  const started = rowsOf(answer.tables.flows).filter((flow) => flow.start_ns >= 0);
  return { begin: Math.min(...started.map((flow) => flow.start_ns)), end: Math.max(...started.map((flow) => flow.end_ns)) };
}

/** Time in which all TCP flows are under way; the whole run if there is none, ns. @param {Row} answer */
function loadOf(answer) {
  const flows = rowsOf(answer.tables.flows);
  const tcp = flows.filter((flow) => flow.kind === "tcp" || flow.kind === "mptcp");
  const begin = Math.max(...tcp.map((flow) => flow.start_ns));
  const end = Math.min(...tcp.map((flow) => flow.end_ns));
  return end > begin ? { begin, end } : { begin: 0, end: Math.max(...flows.map((flow) => flow.end_ns)) };
}

/** Bits that a direction of a link could carry in a time; null without a rate. @param {Row} answer @param {string} name @param {{begin: number, end: number}} time */
function capacityOf(answer, name, { begin, end }) {
  const rate = rateOf(answer, name);
  if (!rate) return null;
  const changes = pipeOf(answer, name)?.changes ?? [];
  const steps = [{ at: 0, rate }, ...changes.filter((/** @type {Row} */ one) => one.rate_bps).map((/** @type {Row} */ one) => ({ at: one.at_ns, rate: one.rate_bps }))];
  return steps.reduce((bits, step, i) => bits + (step.rate * Math.max(0, Math.min(steps[i + 1]?.at ?? end, end) - Math.max(step.at, begin))) / 1e9, 0);
}

/** A direction of a link in the scenario. @param {Row} answer @param {string} name @returns {Row | undefined} */
function pipeOf(answer, name) {
  const [link, way] = [name.slice(0, name.lastIndexOf("/")), name.slice(name.lastIndexOf("/") + 1)];
  return answer.scenario.links.find((/** @type {Row} */ one) => one.name === link)?.[way];
}

/** Rate of a direction of a link in bit/s; null if it has none. @param {Row} answer @param {string} name */
function rateOf(answer, name) {
  const pipe = pipeOf(answer, name);
  if (!pipe) return null;
  return pipe.shaper.serial?.rate_bps ?? pipe.shaper.tbf?.rate_bps ?? pipe.queue.htb?.rate_bps ?? (pipe.queue.cake?.bandwidth_bps || null);
}

/**
 * Metric link_use in percent, null where it is not known: with cells or frames shorter on the wire than their
 * length, and where more may leave than the rate allows in a time (a burst, a delay that shrinks, an outage).
 * @param {Row} answer @param {Row} row @param {{begin: number, end: number}} time
 */
function useOf(answer, row, time) {
  const pipe = pipeOf(answer, row.pipe);
  const bits = capacityOf(answer, row.pipe, time);
  if (!pipe || !bits) return null;
  const { framing, policer, queue, shaper } = pipe;
  const cake = queue.cake?.bandwidth_bps ? queue.cake : null;
  const short = cake ? cake.overhead_bytes < 14 && cake.atm !== "atm" : framing.overhead_bytes < 0;
  const moves = pipe.slots || pipe.jitter_ns || pipe.reordering || queue.netem?.jitter_ns || (pipe.changes ?? []).some((/** @type {Row} */ one) => one.state || known(one.delay_ns) !== null);
  const classes = queue.htb?.classes ?? [];
  const burst = (shaper.tbf?.burst_bytes ?? 0) + (queue.htb?.burst_bytes ?? 0) + classes.reduce((/** @type {number} */ sum, /** @type {Row} */ one) => sum + one.cburst_bytes, 0);
  if (framing.atm || short || moves || 8 * burst > 0.05 * bits) return null;
  const onWire = row.left_bytes + framing.overhead_bytes * row.left_packets;
  const admitted = policer ? (policer.rate_bps * (time.end - time.begin)) / 1e9 + 8 * policer.burst_bytes : Infinity;
  return Math.max((800 * onWire) / bits, (800 * row.left_bytes) / admitted);
}

/** Directions of links that were used for a fifth of their rate or dropped packets. @param {Row} answer */
function bottlenecksOf(answer) {
  const queues = answer.tables.queues;
  const [active, load] = [activeOf(answer), loadOf(answer)];
  return rowsOf(answer.tables.pipes)
    .map((pipe) => {
      const rate = rateOf(answer, pipe.pipe);
      /** @type {number[]} */
      const delays = [];
      queues?.pipe.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
        if (name !== pipe.pipe || queues.time_ns[i] < load.begin || queues.time_ns[i] > load.end) return;
        const waited = known(queues.sojourn_mean_ns[i]);
        if (waited !== null) delays.push(waited / 1e6);
        else if (rate) delays.push((queues.queued_bytes[i] * 8e3) / rate);
      });
      delays.sort((a, b) => a - b);
      const dropped = Object.keys(pipe).reduce((sum, name) => sum + (/^dropped_.*_packets$/.test(name) ? (known(pipe[name]) ?? 0) : 0), 0);
      const mbps = (8e3 * pipe.left_bytes) / (active.end - active.begin);
      const bits = capacityOf(answer, pipe.pipe, active);
      const busy = bits !== null && (800 * pipe.left_bytes) / bits >= 20;
      const used = useOf(answer, pipe, active);
      return {
        name: pipe.pipe.replace(/\/forward$/, " →").replace(/\/backward$/, " ←"),
        pipe: pipe.pipe,
        mbps,
        used,
        p50: quantile(delays, 0.5),
        p95: quantile(delays, 0.95),
        lost: pipe.arrived_packets > 0 ? (100 * dropped) / pipe.arrived_packets : null,
        marked: known(pipe.marked_packets),
        counts: bits !== null && (dropped > 0 || busy),
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

/** Times in s, and a column of values, of the rows of a name, up to an end in ns. @param {Row} table @param {string} by @param {string} name */
function seriesOf(table, by, name, end = -1) {
  const alive = (/** @type {number} */ i) => end < 0 || table.time_ns[i] <= end;
  const picked = table[by].flatMap((/** @type {string} */ one, /** @type {number} */ i) => (one === name && alive(i) ? [i] : []));
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

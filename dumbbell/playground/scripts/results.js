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
  return rowsOf(answer.tables.flows).map((flow) => {
    const life = known(flow.established_ns) === null ? 0 : flow.end_ns - flow.established_ns;
    const counts = flow.kind !== "ping" && flow.start_ns >= 0 && flow.delivered_bytes >= 0;
    return {
      name: flow.flow,
      kind: flow.kind,
      algorithm: flow.congestion_control || flow.kind,
      mbps: counts ? (life > 0 ? (8e3 * flow.delivered_bytes) / life : 0) : null,
      end_ns: flow.end_ns,
      rtt: flow.kind === "ping" ? known(flow.rtt_mean_ns) : known(flow.srtt_mean_ns),
      retransmitted: TCP.includes(flow.kind) && flow.data_packets > 0 && flow.retransmitted_packets >= 0 ? (100 * flow.retransmitted_packets) / flow.data_packets : null,
      lost: known(flow.dropped_packets),
    };
  });
}

/** Time in which flows are under way: from the first start to the last end, ns. @param {Row} answer */
function activeOf(answer) {
  const started = rowsOf(answer.tables.flows).filter((flow) => flow.start_ns >= 0 && flow.kind !== "subflow");
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

/** Bits that a direction of a link could carry in a time while it is up; null without a rate. @param {Row} answer @param {string} name @param {{begin: number, end: number}} time */
function capacityOf(answer, name, { begin, end }) {
  const steps = ratesOf(answer, name);
  const pipe = pipeOf(answer, name);
  if (!pipe || !steps.length) return null;
  /** @param {number} from @param {number} to */
  const shaped = (from, to) => steps.reduce((bits, step, i) => bits + (step.rate * Math.max(0, Math.min(steps[i + 1]?.at ?? to, to) - Math.max(step.at, from))) / 1e9, 0);
  const down = outagesOf(pipe, end).map((one) => shaped(Math.max(one.begin, begin), Math.max(one.begin, begin, Math.min(one.end, end))));
  return down.reduce((bits, lost) => bits - lost, shaped(begin, end));
}

/** Times from which on a direction of a link has which rate; empty without one. @param {Row} answer @param {string} name */
function ratesOf(answer, name) {
  const rate = rateOf(answer, name);
  if (!rate) return [];
  const changes = (pipeOf(answer, name)?.changes ?? []).filter((/** @type {Row} */ one) => one.rate_bps);
  return [{ at: 0, rate }, ...changes.map((/** @type {Row} */ one) => ({ at: one.at_ns, rate: one.rate_bps }))];
}

/** Times in which a direction of a link is down, ns. @param {Row} pipe @param {number} last */
function outagesOf(pipe, last) {
  /** @type {{begin: number, end: number}[]} */
  const found = [];
  for (const one of pipe.changes ?? []) {
    if (one.state === "down") found.push({ begin: one.at_ns, end: last });
    else if (one.state === "up" && found.length) found[found.length - 1].end = Math.min(one.at_ns, found[found.length - 1].end);
  }
  return found.filter((one) => one.begin < one.end);
}

/** Bits that may leave a direction of a link beyond its capacity: a frame, bursts, and what was under way where the delay shrinks. @param {Row} answer @param {string} name */
function surplusOf(answer, name) {
  const pipe = pipeOf(answer, name);
  if (!pipe) return Infinity;
  const { netem, drop_tail: tail, htb } = pipe.queue;
  const { slots, shaper } = pipe;
  const [changes, full] = [pipe.changes ?? [], 8 * 1514];
  const longest = 8 * (14 + Math.max(...answer.scenario.nodes.filter((/** @type {Row} */ one) => one.tcp).map((/** @type {Row} */ one) => one.tcp.mtu_bytes)));
  const most = Math.max(...ratesOf(answer, name).map((one) => one.rate));
  const delays = [pipe.delay_ns + (netem?.delay_ns ?? 0), ...changes.map((/** @type {Row} */ one) => known(one.delay_ns)).filter((/** @type {number | null} */ one) => one !== null)];
  let shrinks = delays.reduce((sum, now, i) => sum + (i ? Math.max(0, delays[i - 1] - now) : 0), 0);
  shrinks += pipe.jitter_ns + (netem?.jitter_ns ?? 0) + (pipe.reordering?.extra_delay_ns ?? 0) + (slots ? slots.max_ns + slots.pause_ns : 0);
  let underWay = shrinks ? (most * shrinks) / 1e9 : 0;
  if (slots && (slots.packets || slots.bytes)) underWay += Math.min(tail?.limit_packets ? longest * tail.limit_packets : Infinity, tail?.limit_bytes ? 8 * tail.limit_bytes : Infinity);
  const plain = pipe.duplication === 0 && pipe.framing.mpu_bytes === 0 && !tail?.limit_bytes && !changes.some((/** @type {Row} */ one) => one.rate_bps);
  let burst = shaper.serial && !(tail ? plain : netem) ? full : 0;
  burst += 8 * (shaper.tbf?.burst_bytes ?? 0);
  if (slots && !tail) burst += full + (most * slots.max_ns) / 1e9;
  if (htb) burst += 8 * htb.classes.reduce((/** @type {number} */ sum, /** @type {Row} */ one) => sum + one.cburst_bytes, htb.burst_bytes);
  const ups = changes.filter((/** @type {Row} */ one) => one.state === "up").length;
  return longest + burst * (1 + ups) + underWay;
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
 * length, and where much more may leave than the rate allows in a time (surplusOf).
 * @param {Row} answer @param {Row} row @param {{begin: number, end: number}} time
 */
function useOf(answer, row, time) {
  const pipe = pipeOf(answer, row.pipe);
  const bits = capacityOf(answer, row.pipe, time);
  if (!pipe || !bits) return null;
  const { framing, policer, queue } = pipe;
  const cake = queue.cake?.bandwidth_bps ? queue.cake : null;
  const short = cake ? cake.overhead_bytes < 14 && cake.atm !== "atm" : framing.overhead_bytes < 0;
  if (framing.atm || short || surplusOf(answer, row.pipe) > 0.05 * bits) return null;
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
      const setting = pipeOf(answer, pipe.pipe);
      const outages = setting ? outagesOf(setting, answer.scenario.duration_ns) : [];
      const down = (/** @type {number} */ at) => outages.some((one) => at > one.begin && at <= one.end);
      queues?.pipe.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
        if (name !== pipe.pipe || queues.time_ns[i] < load.begin || queues.time_ns[i] > load.end) return;
        const waited = known(queues.sojourn_mean_ns[i]);
        if (waited !== null) delays.push(waited / 1e6);
        else if (rate && !down(queues.time_ns[i])) delays.push((queues.queued_bytes[i] * 8e3) / rate);
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

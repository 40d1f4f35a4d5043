// @ts-check
// What is animated: the header, and columns of numbers that were packed (pack.py says how).

/** @typedef {{name: string, from: number, to: number, rate_bps: number, overhead_bytes: number, limit_packets: number, words: string, down_ns: [number, number][]}} Pipe */
/** @typedef {{name: string, kind: string, from: string, to: string}} Flow */

/** @type {Row} */
const header = JSON.parse(document.querySelector("#header")?.textContent ?? "{}");

/** @type {Flow[]} */
const flows = header.flows;
/** @type {Row[]} */
const nodes = header.nodes;
const nodeNumber = new Map(nodes.map((node, number) => [node.name, number]));
/** @type {Pipe[]} */
const pipes = header.pipes.map((/** @type {Row} */ pipe) => ({
  ...pipe,
  from: nodeNumber.get(pipe.from) ?? 0,
  to: nodeNumber.get(pipe.to) ?? 0,
}));

const TYPES = { float64: Float64Array, uint32: Uint32Array, int32: Int32Array, uint16: Uint16Array, uint8: Uint8Array };

/** @returns {Promise<Record<string, any>>} */
async function unpacked() {
  const place = document.querySelector("#packed");
  const text = atob((place?.textContent ?? "").trim());
  place?.remove();
  const raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  /** @type {Record<string, any>} */
  const found = {};
  let at = 0;
  for (const [name, type, length] of header.columns) {
    const kind = TYPES[/** @type {keyof typeof TYPES} */ (type)];
    found[name] = new kind(buffer, at, length);
    at += Math.ceil((length * kind.BYTES_PER_ELEMENT) / 8) * 8;
  }
  return found;
}

if (typeof DecompressionStream === "undefined") {
  main.textContent = "This page needs a browser of 2023 or later.";
}
const column = await unpacked();
const hopCount = column.offered.length;
const packetCount = column.seq.length;
const NEVER = Infinity;

/** When a packet came to a link, left its queue, and was at the other end or dropped. */
const offered = new Float64Array(hopCount);
const leaves = new Float64Array(hopCount);
const ended = new Float64Array(hopCount);
/** Hops of a packet: the first, and after each the next; -1: none. */
const firstHop = new Int32Array(packetCount).fill(-1);
const nextHop = new Int32Array(hopCount).fill(-1);
/** @type {Int32Array} */
const dropHops = (() => {
  const last = new Int32Array(packetCount).fill(-1);
  const dropped = [];
  let now = 0;
  for (let hop = 0; hop < hopCount; hop++) {
    now += column.offered[hop];
    offered[hop] = now;
    const waited = column.waited[hop];
    const took = column.took[hop];
    leaves[hop] = waited < 0 ? NEVER : now + waited;
    ended[hop] = took < 0 ? NEVER : (waited < 0 ? now : now + waited) + took;
    const packet = column.packet[hop];
    if (last[packet] < 0) firstHop[packet] = hop;
    else nextHop[last[packet]] = hop;
    last[packet] = hop;
    if (column.dropped[hop]) dropped.push(hop);
  }
  return Int32Array.from(dropped).sort((a, b) => ended[a] - ended[b]);
})();

/** @param {number} hop */
const flowOf = (hop) => column.flow[column.packet[hop]];
const CAUSE = { fast: 1, timeout: 2, probe: 3, again: 4 };
const ACK = 1;

/** Less than the least time-out: Linux waits 200 ms. */
const SILENCE_NS = 190e6;

/**
 * Hops with which what a time-out sends first begins its way. After a time-out everything up to the
 * highest byte that had been sent may be sent again; it is another one if the first of that is sent once
 * more, if it is beyond, or if the flow had been silent for as long as a time-out.
 */
const timeoutHops = (() => {
  const found = [];
  /** @type {{first: number, beyond: number, highest: number, last: number}[]} */
  const state = flows.map(() => ({ first: Infinity, beyond: -1, highest: -1, last: -Infinity }));
  for (let hop = 0; hop < hopCount; hop++) {
    const packet = column.packet[hop];
    if (firstHop[packet] !== hop || column.back[packet] || column.kind[packet] === ACK) continue;
    const of = state[column.flow[packet]];
    const seq = column.seq[packet];
    if (column.cause[packet] === CAUSE.timeout) {
      if (seq <= of.first || seq > of.beyond || offered[hop] - of.last >= SILENCE_NS) {
        found.push(hop);
        of.first = seq;
        of.beyond = of.highest;
      }
    }
    of.highest = Math.max(of.highest, seq);
    of.last = offered[hop];
  }
  return Int32Array.from(found);
})();

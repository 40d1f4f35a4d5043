// @ts-check
// What is where at a moment. The picture depends on the time alone, so that it is the same whichever
// way the time was reached.

/** Hops between two places from which a moment is found. */
const STRIDE = 512;

/** Hops that are going on when the hop of a multiple of STRIDE begins. */
const goingOn = (() => {
  /** @type {Int32Array[]} */
  const kept = [];
  /** @type {number[]} */
  let active = [];
  for (let hop = 0; hop < hopCount; hop++) {
    if (hop % STRIDE === 0) {
      active = active.filter((one) => ended[one] > offered[hop]);
      kept.push(Int32Array.from(active));
    }
    active.push(hop);
  }
  return kept;
})();

/**
 * How many of the first so many values are not above: `at(i)` does not decrease.
 * @param {number} count
 * @param {(i: number) => number} at
 * @param {number} value
 */
function rank(count, at, value) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The hops that go on at a time: begun, and not ended.
 * @param {number} time
 * @returns {number[]}
 */
function hopsAt(time) {
  const begun = rank(hopCount, (i) => offered[i], time);
  if (begun === 0) return [];
  const mark = Math.floor((begun - 1) / STRIDE);
  const found = [];
  for (const hop of goingOn[mark]) if (ended[hop] > time) found.push(hop);
  for (let hop = mark * STRIDE; hop < begun; hop++) if (ended[hop] > time) found.push(hop);
  return found;
}

/**
 * Packets that wait in queues, by pipe, those that leave first in front.
 * @param {number[]} hops
 * @param {number} time
 */
function waitingAt(hops, time) {
  /** @type {Map<number, number[]>} */
  const waiting = new Map();
  for (const hop of hops) {
    if (leaves[hop] > time) {
      const pipe = column.pipe[hop];
      const queue = waiting.get(pipe);
      if (queue) queue.push(hop);
      else waiting.set(pipe, [hop]);
    }
  }
  for (const queue of waiting.values()) {
    // What is dropped later than it came waits as well; what never leaves is last.
    queue.sort((a, b) => Math.min(leaves[a], ended[a]) - Math.min(leaves[b], ended[b]) || a - b);
  }
  return waiting;
}

/** Drops up to a time. @param {number} time */
const dropsUntil = (time) => rank(dropHops.length, (i) => ended[dropHops[i]], time);

/**
 * How far a packet on the line is: where its last bit is and where its first, from 0 to 1.
 * @param {number} hop
 * @param {number} time
 * @returns {[number, number]}
 */
function onLine(hop, time) {
  const pipe = pipes[column.pipe[hop]];
  const bits = Math.max(0, column.bytes[column.packet[hop]] + pipe.overhead_bytes) * 8;
  const sent = pipe.rate_bps ? (bits / pipe.rate_bps) * 1e9 : 0;
  const total = ended[hop] - leaves[hop];
  if (total <= 0) return [1, 1];
  if (total === NEVER) return [0.5, 0.5]; // Under way at the end: nobody knows how far.
  const travel = total - Math.min(sent, total);
  const since = time - leaves[hop];
  if (travel <= 0) return [0, Math.min(1, since / total)];
  return [Math.max(0, (since - sent) / travel), Math.min(1, since / travel)];
}

/** Every time at which something happens, in order; made when it is asked for. @type {Float64Array | null} */
let everyTime = null;
function allTimes() {
  if (everyTime) return everyTime;
  const times = new Float64Array(3 * hopCount);
  let count = 0;
  for (let hop = 0; hop < hopCount; hop++) {
    times[count++] = offered[hop];
    if (leaves[hop] < NEVER) times[count++] = leaves[hop];
    if (ended[hop] < NEVER) times[count++] = ended[hop];
  }
  everyTime = times.subarray(0, count).sort();
  return everyTime;
}

/** Events to jump to, in order of time: time, flow, words. */
const JUMPS = {
  drop: { count: dropHops.length, time: (/** @type {number} */ i) => ended[dropHops[i]], flow: (/** @type {number} */ i) => flowOf(dropHops[i]) },
  timeout: { count: timeoutHops.length, time: (/** @type {number} */ i) => offered[timeoutHops[i]], flow: (/** @type {number} */ i) => flowOf(timeoutHops[i]) },
  state: {
    count: header.states.length,
    time: (/** @type {number} */ i) => header.states[i].time_ns,
    flow: (/** @type {number} */ i) => header.states[i].flow,
  },
};
/** @typedef {keyof typeof JUMPS} Jump */

/**
 * The number of the next event of a kind after a time, or the one before it; -1: there is none.
 * @param {Jump} kind
 * @param {number} time
 * @param {1 | -1} way
 * @param {number} flow only of this flow; -1: of any
 * @param {number} last the event at this time to which one has jumped; -1: none. Others may be at the
 * same time.
 */
function jump(kind, time, way, flow, last) {
  const { count, time: at, flow: of } = JUMPS[kind];
  let i = way > 0 ? rank(count, at, time) : rank(count, at, time) - 1;
  while (last < 0 && way < 0 && i >= 0 && at(i) >= time) i--;
  if (last >= 0) i = last + way;
  while (i >= 0 && i < count && flow >= 0 && of(i) !== flow) i += way;
  return i >= 0 && i < count ? i : -1;
}

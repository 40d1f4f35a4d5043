// @ts-check
// The packets of a connection, and what is computed of them.
/** The packets of one connection as rows, times in seconds since the file began. @param {Row} file @param {number} connection */
function packetsOf(file, connection) {
  const p = file.packets;
  const begin = file.file.first_ns ?? 0;
  /** @type {Row[]} */
  const rows = [];
  for (let n = 0; n < p.frame.length; n++) {
    if (p.connection[n] !== connection) continue;
    rows.push({
      frame: p.frame[n], t: p.time_ns[n] === null ? 0 : (p.time_ns[n] - begin) / 1e9, side: p.side[n], flags: p.flags[n], at: p.position_bytes[n],
      length: p.payload_bytes[n], ack: p.ack_bytes[n], window: p.window_bytes[n], sack: p.sack_ranges_bytes[n], flight: p.in_flight_bytes[n],
      what: p.what[n], kind: p.kind[n], evidence: p.evidence[n], spurious: p.spurious[n],
    });
  }
  return rows;
}

/** @param {Row} row */
const shade = (row) => (row.what === "retransmitted" ? row.kind : row.what);

/**
 * RTT samples as docs/metrics.md defines them: when, and how long in ms.
 * @param {Row[]} rows @param {number} side @returns {[number[], number[]]}
 */
function roundTrips(rows, side) {
  /** @type {{end: number, t: number, again: boolean}[]} */
  const waiting = [];
  const [x, y] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  let [next, acked] = [-Infinity, -Infinity];
  for (const row of rows) {
    if (row.side === side && row.length > 0) {
      const finish = row.at + row.length;
      if (row.at >= next) waiting.push({ end: finish, t: row.t, again: false });
      else {
        const seen = waiting.find((one) => one.end > row.at);
        if (seen && row.what !== "reordered") seen.again = true;
      }
      next = Math.max(next, finish);
    } else if (row.side !== side && row.ack !== null && row.ack > acked) {
      acked = row.ack;
      while (waiting.length && waiting[0].end <= acked) {
        const seen = /** @type {{end: number, t: number, again: boolean}} */ (waiting.shift());
        if (!seen.again) {
          x.push(row.t);
          y.push((row.t - seen.t) * 1e3);
        }
      }
    }
  }
  return [x, y];
}

/** A window so many times as high as what it stands beside gets a scale of its own. */
const WINDOW_BESIDE = 4;
/**
 * The upper ends of the scale of bytes in flight and of the window's, so that neither line is cut off: one
 * scale, or two if the window is much higher.
 * @param {number[]} flight @param {(number | null)[]} window_ @returns {{y: number, w: number | null}}
 */
function tops(flight, window_) {
  const y = flight.reduce((most, one) => Math.max(most, one), 1);
  const w = window_.reduce((/** @type {number} */ most, one) => Math.max(most, one ?? 0), 0);
  return w > WINDOW_BESIDE * y ? { y: y * 1.1, w: w * 1.1 } : { y: Math.max(y, w) * 1.1, w: null };
}

/**
 * Time, bytes in flight and window at each packet.
 * @param {Row[]} rows @param {number} side @returns {[number[], number[], (number | null)[]]}
 */
function flights(rows, side) {
  const [x, flight, window_] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([]), /** @type {(number|null)[]} */ ([])];
  /** @type {number | null} */
  let window = null;
  for (const row of rows) {
    const acknowledges = row.side !== side && row.length === 0;
    if (row.flight === null || (row.side === side ? row.length === 0 : !acknowledges)) continue;
    if (acknowledges) window = row.window;
    x.push(row.t);
    flight.push(row.flight);
    window_.push(window);
  }
  return [x, flight, window_];
}

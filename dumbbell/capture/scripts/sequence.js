// @ts-check
// The time–sequence graph.
/** Draws the time–sequence graph into a chart of uPlot. @param {any} u @param {Row[]} rows @param {number} side @param {Row[]} errors ICMP errors */
function drawSequence(u, rows, side, errors) {
  const g = u.ctx;
  const X = (/** @type {number} */ t) => u.valToPos(t, "x", true);
  const Y = (/** @type {number} */ bytes) => u.valToPos(bytes, "y", true);
  const { left, top, width, height } = u.bbox;
  const pixel = devicePixelRatio || 1;
  g.save();
  g.beginPath();
  g.rect(left, top, width, height);
  g.clip();
  const line = (/** @type {(row: Row) => number | null} */ value, /** @type {string} */ stroke) => {
    g.strokeStyle = stroke;
    g.lineWidth = 1.2 * pixel;
    g.beginPath();
    let last = null;
    for (const row of rows) {
      if (row.side === side) continue;
      const bytes = value(row);
      if (bytes === null) continue;
      const [x, y] = [X(row.t), Y(bytes)];
      if (last === null) g.moveTo(x, y);
      else {
        g.lineTo(x, last);
        g.lineTo(x, y);
      }
      last = y;
    }
    g.stroke();
  };
  let highest = -Infinity;
  line((row) => (row.ack === null ? null : row.ack + row.window), colour(OTHERS.window));
  line((row) => (row.ack === null ? null : (highest = Math.max(highest, row.ack))), colour(OTHERS.ack));
  g.lineWidth = 1.4 * pixel;
  g.strokeStyle = colour(OTHERS.sack);
  g.beginPath();
  for (const row of rows) {
    if (row.side === side) continue;
    for (const [from, to] of row.sack) {
      g.moveTo(X(row.t), Y(from));
      g.lineTo(X(row.t), Y(to));
    }
  }
  g.stroke();
  g.strokeStyle = colour(OTHERS.icmp);
  g.setLineDash([4 * pixel, 3 * pixel]);
  g.beginPath();
  for (const one of errors) {
    g.moveTo(X(one.t), top);
    g.lineTo(X(one.t), top + height);
  }
  g.stroke();
  g.setLineDash([]);
  for (const [kind, entry] of Object.entries(KINDS)) {
    g.strokeStyle = g.fillStyle = colour(entry);
    g.lineWidth = (kind === "new" ? 1.6 : 2.4) * pixel;
    g.beginPath();
    for (const row of rows) {
      if (row.side !== side || row.length === 0 || shade(row) !== kind) continue;
      const [x, from, to] = [X(row.t), Y(row.at), Y(row.at + row.length)];
      if (x < left - 5 || x > left + width + 5) continue;
      g.moveTo(x, from);
      g.lineTo(x, Math.min(to, from - pixel));
      if (from - to > 6 * pixel || kind !== "new") {
        g.moveTo(x - 2 * pixel, to);
        g.lineTo(x + 2 * pixel, to);
      }
    }
    g.stroke();
    if (kind === "new") continue;
    for (const row of rows) {
      if (row.side !== side || row.length === 0 || shade(row) !== kind || row.what !== "retransmitted") continue;
      const [x, y] = [X(row.t), Y(row.at + row.length)];
      g.beginPath();
      g.arc(x, y - 4 * pixel, 2.6 * pixel, 0, 7);
      if (row.spurious) g.stroke();
      else g.fill();
    }
  }
  g.restore();
}

/** @param {Record<string, string[]>} entries */
function legend(entries) {
  const spans = Object.values(entries).map((entry) => element("span", {}, swatchOf(colour(entry)), entry[0]));
  return element("div", { class: "legend" }, ...spans);
}

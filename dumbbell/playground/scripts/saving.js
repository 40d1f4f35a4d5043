// @ts-check
// What leaves the page: the experiment, its numbers, its figures, a link.

/** A field of CSV (RFC 4180). @param {any} value */
const field = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** A table by columns as CSV. @param {Row} table */
function csvOf(table) {
  const names = Object.keys(table);
  return [names, ...rowsOf(table).map((row) => names.map((name) => row[name]))].map((row) => row.map(field).join(",")).join("\n") + "\n";
}

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

/** Charts as one SVG on white ground. @param {Row[]} charts @param {string} title */
function svgOf(charts, title) {
  const [width, height, left, top] = [720, 220, 60, 30];
  const parts = charts.map((one, n) => {
    const [times, ...columns] = one.data;
    const most = Math.max(1e-9, ...columns.flat().filter((/** @type {any} */ v) => Number.isFinite(v))) * 1.05;
    const end = times[times.length - 1] || 1;
    /** @param {number} t */
    const x = (t) => left + (t / end) * (width - left - 20);
    /** @param {number} v */
    const y = (v) => height - 30 - (v / most) * (height - 30 - top);
    const lines = columns.map((/** @type {any[]} */ values, /** @type {number} */ i) => {
      const style = one.looks[i]();
      const points = values.flatMap((value, k) => (Number.isFinite(value) ? [`${x(times[k]).toFixed(1)},${y(value).toFixed(1)}`] : []));
      const dash = style.dash?.length ? ` stroke-dasharray="${style.dash.join(" ")}"` : "";
      return `<polyline fill="none" stroke="${style.stroke}" stroke-width="1.5"${dash} points="${points.join(" ")}"/><text x="${left + 8 + i * 110}" y="${top - 2}" fill="${style.stroke}">${escaped(one.names[i])}</text>`;
    });
    const ticks = [0, 0.25, 0.5, 0.75, 1].map(
      (share) =>
        `<text x="${x(share * end)}" y="${height - 14}" text-anchor="middle">${+(share * end).toPrecision(3)}</text><text x="${left - 6}" y="${y(share * most) + 4}" text-anchor="end">${+(share * most).toPrecision(3)}</text><line x1="${left}" x2="${width - 20}" y1="${y(share * most)}" y2="${y(share * most)}" stroke="#ddd"/>`,
    );
    return `<g transform="translate(0 ${30 + n * height})"><text x="${left}" y="${top - 16}" font-weight="bold">${escaped(one.title)} (${escaped(one.unit)})</text>${ticks.join("")}${lines.join("")}<text x="${width - 20}" y="${height}" text-anchor="end">s</text></g>`;
  });
  const whole = 40 + charts.length * height;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${whole}" viewBox="0 0 ${width} ${whole}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/><text x="${left}" y="22" font-size="15">${escaped(title)}</text>${parts.join("")}</svg>\n`;
}

/** Text and levels as they stand in an address. @param {string} text @param {Row} levels */
async function hashOf(text, levels) {
  const stream = new Blob([JSON.stringify({ text, levels })]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let held = "";
  for (const byte of bytes) held += String.fromCharCode(byte);
  return `#${btoa(held).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Text and levels of an address; null if it has none, or a damaged one. @param {string} hash @returns {Promise<Row | null>} */
async function ofHash(hash) {
  if (hash.length < 2 || hash.length > 200_000) return null;
  try {
    const held = atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(held, (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const found = JSON.parse(await new Response(stream).text());
    return typeof found.text === "string" ? { text: found.text, levels: found.levels ?? {} } : null;
  } catch {
    return null;
  }
}

// @ts-check
// The ladder of packets.
/** A ladder of packets at the tap: time downwards, each with its direction. @param {Row[]} rows @param {string[]} names */
function ladder(rows, names) {
  const [left, right, step, top] = [190, 470, 17, 26];
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const height = top + step * rows.length + 10;
  svg.setAttribute("width", "1000");
  svg.setAttribute("height", String(height));
  /** @param {string} name @param {Row} attributes @param {string} [text] */
  const add = (name, attributes, text) => {
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    if (text) made.textContent = text;
    svg.append(made);
  };
  for (const [x, name] of [[left, names[0]], [right, names[1]]]) {
    add("line", { x1: x, x2: x, y1: top - 8, y2: height, class: "rail" });
    add("text", { x, y: 12, "text-anchor": "middle" }, String(name));
  }
  rows.forEach((row, n) => {
    const y = top + step * n + 8;
    const [from, to] = row.side === 0 ? [left, right] : [right, left];
    const entry = /** @type {Record<string, string[]>} */ (KINDS)[shade(row)] ?? OTHERS.ack;
    const head = row.side === 0 ? -7 : 7;
    const stroke = colour(entry);
    add("text", { x: left - 12, y: y + 4, "text-anchor": "end", class: "time" }, `#${row.frame}  ${row.t.toFixed(6)}`);
    add("line", { x1: from, x2: to, y1: y, y2: y, stroke, "stroke-width": row.length ? 2 : 1 });
    add("path", { d: `M${to},${y} l${head},-3.5 v7 z`, fill: stroke });
    add("text", { x: right + 14, y: y + 4 }, describe(row));
  });
  return element("div", { class: "ladder", tabindex: 0 }, /** @type {any} */ (svg));
}

/** @param {Row} row */
function describe(row) {
  const flags = [[2, "SYN"], [1, "FIN"], [4, "RST"], [8, "PSH"], [64, "ECE"], [128, "CWR"]].filter(([bit]) => row.flags & Number(bit)).map(([, name]) => name);
  const words = [...flags];
  if (row.length) words.push(`${row.at}–${row.at + row.length} (${row.length})`);
  if (row.ack !== null) words.push(`ack ${row.ack}`);
  else if (row.flags & 16) words.push("ACK");
  if (row.sack.length) words.push(`sack ${row.sack.map((/** @type {number[]} */ b) => b.join("–")).join(" ")}`);
  if (row.what === "retransmitted") words.push(`retransmission: ${row.kind}${row.spurious ? ", spurious" : ""} [${row.evidence}]`);
  else if (row.what && row.what !== "new") words.push(row.what + (row.evidence ? ` [${row.evidence}]` : ""));
  return words.join(" ");
}

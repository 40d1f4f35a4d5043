// @ts-check
// The page of a file.
/** @param {Row} file */
function show(file) {
  redraws = [];
  const rate = element("div", { class: "plot" });
  const detail = element("div", { id: "connection" });
  const conversations = new Conversations(file, (number) => showConnection(detail, file, number));
  const classes = file.classes.map((/** @type {Row} */ row) => [row.class, `${row.from_bytes}–${row.to_bytes ?? ""}`, String(row.connections), `${(100 * row.share).toFixed(2)} %`, bytesText(row.bytes)]);
  const pings = file.pings.map((/** @type {Row} */ row) => [
    `${row.from_address} → ${row.to_address}`, String(row.interface), String(row.requests_odd), String(row.requests_even), String(row.replies_odd), String(row.replies_even), ms(row.rtt_min_ns), ms(row.rtt_mean_ns), ms(row.rtt_max_ns),
  ]);
  const chooser = files.length > 1 ? [element("div", { class: "controls" }, ...files.map((one) => element("button", { type: "button", onclick: () => show(one) }, one.file.name)))] : [];
  main.replaceChildren(
    ...chooser,
    element("h1", {}, file.file.name),
    ...totals(file),
    element("h2", {}, "Rate"), rate,
    element("h2", {}, "Lengths of packets"), lengthBars(file.lengths),
    element("h2", {}, "TCP connections by size"), plainTable(["class", "bytes", "connections", "share", "bytes in all"], classes),
    ...(pings.length ? [element("h2", {}, "Pings"), plainTable(["from → to", "interface", "requests odd", "even", "replies odd", "even", "RTT min", "mean", "max"], pings)] : []),
    element("h2", {}, "Conversations"), conversations.node,
    element("h2", {}, "Connection"), detail,
  );
  drawRate(rate, file);
  const first = [...conversations.rows].filter((row) => row.protocol === "tcp").sort((a, b) => b.bytes - a.bytes)[0];
  if (first) conversations.take(first.number);
  else detail.append(element("p", { class: "faint" }, "No TCP connection."));
}

onTheme(redrawAll);
onWidth(redrawAll);
if (files.length) show(files[0]);

// @ts-check
// A chosen connection.
/** @param {Row} row */
function facts(row) {
  const rare = [[row.path_mtu_retransmitted_packets, "path MTU"], [row.unreachable_retransmitted_packets, "unreachable"]].filter(([count]) => count).map(([count, word]) => `, ${count} ${word}`);
  const kinds = `${row.fast_retransmitted_packets} fast, ${row.timeout_retransmitted_packets} time-out, ${row.probe_retransmitted_packets} probe${rare.join("")}`;
  const pairs = [
    ["data packets", row.data_packets], ["unique bytes", bytesText(row.unique_bytes)],
    ["retransmitted", `${row.retransmitted_packets} (${kinds})`], ["spurious retransmissions", row.spurious_retransmitted_packets],
    ["retransmitted SYNs / FINs", `${row.retransmitted_syns} / ${row.retransmitted_fins}`],
    ["ICMP: too big / unreachable / time exceeded", `${row.icmp_too_big} / ${row.icmp_unreachable} / ${row.icmp_time_exceeded}`],
    ["path MTU reported", row.path_mtu_bytes === null ? "–" : `${row.path_mtu_bytes} bytes`],
    ["reordered", row.reordered_packets], ["duplicate frames (captured twice)", row.copied_packets],
    ["RTT of the handshake", ms(row.handshake_rtt_ns)], ["SYN to SYN/ACK", ms(row.syn_rtt_ns)],
    ["RTT min", ms(row.rtt_min_ns)], ["RTT mean", ms(row.rtt_mean_ns)], ["RTT max", ms(row.rtt_max_ns)],
    ["in flight, maximum", bytesText(row.in_flight_max_bytes)],
    ["window inferred, mean", row.window_inferred_mean_bytes === null ? "–" : bytesText(Math.round(row.window_inferred_mean_bytes))],
    ["slow start ended by", row.slow_start_end ? `${row.slow_start_end} at ${bytesText(row.slow_start_end_bytes)}` : "–"],
    ["ACKs", row.acks], ["with SACK", row.acks_with_sack], ["duplicate ACKs", row.duplicate_acks],
    ["DSACKs", row.dsacks ?? "–"], ["zero windows", row.zero_windows], ["delayed ACKs", row.acknowledges ?? "–"],
    ["quick ACKs", row.quick_acks], ["turns", row.turns], ["ECN: congested / echoed", `${row.ecn_congested_packets} / ${row.ecn_echo_packets}`],
    ["receive window, maximum", bytesText(row.window_max_bytes)], ["closed", row.closed],
  ];
  return factsGrid(/** @type {[string, any][]} */ (pairs));
}

/** The ICMP errors about packets of one direction, times in seconds since the file began. @param {Row} file @param {Row} row @returns {Row[]} */
function icmpOf(file, row) {
  const begin = file.file.first_ns ?? 0;
  return file.icmp
    .filter((/** @type {Row} */ one) => one.connection === row.connection && one.direction === row.direction)
    .map((/** @type {Row} */ one) => ({ ...one, t: one.time_ns === null ? 0 : (one.time_ns - begin) / 1e9 }));
}

/** @param {Row[]} errors */
function icmpList(errors) {
  if (!errors.length) return [];
  const line = (/** @type {Row} */ one) => {
    const mtu = one.mtu_bytes === null ? "" : `, MTU ${one.mtu_bytes}`;
    const about = one.position_bytes === null ? "no packet in flight" : one.position_bytes < 0 ? "the SYN" : `the packet at byte ${one.position_bytes}`;
    return element("li", {}, `#${one.frame}, ${one.t.toFixed(6)} s: ${one.from_address}: ${one.what}${mtu}; quotes ${about}`);
  };
  const more = errors.length > LADDER_MAX ? [element("li", {}, `… and ${errors.length - LADDER_MAX} more`)] : [];
  return [element("p", {}, "ICMP errors about this direction:"), element("ul", {}, ...errors.slice(0, LADDER_MAX).map(line), ...more)];
}

/** A connection: numbers, time–sequence graph, RTT, bytes in flight, ladder. @param {HTMLElement} holder @param {Row} file @param {number} conversation */
function showConnection(holder, file, conversation) {
  const mine = file.connections.filter((/** @type {Row} */ row) => row.conversation === conversation);
  if (!mine.length) {
    holder.replaceChildren(element("p", { class: "faint" }, "Only TCP connections are drawn."));
    return;
  }
  const best = [...mine].sort((a, b) => b.payload_bytes - a.payload_bytes)[0];
  const names = new Map(file.interfaces.map((/** @type {Row} */ one) => [one.interface, one.name ?? String(one.interface)]));
  const select = /** @type {HTMLSelectElement} */ (element(
    "select",
    { onchange: () => draw(Number(select.value)), "aria-label": "direction" },
    ...mine.map((/** @type {Row} */ row, /** @type {number} */ n) =>
      element("option", { value: String(n) }, `${end(row.from_address, row.from_port)} → ${end(row.to_address, row.to_port)}${names.size > 1 ? ` at ${names.get(row.interface)}` : ""} (connection ${row.connection})`)),
  ));
  select.value = String(mine.indexOf(best));
  const body = element("div", {});
  holder.replaceChildren(element("div", { class: "controls" }, select), body);
  const before = redraws.length;
  /** @param {number} number */
  const draw = (number) => {
    redraws.length = Math.min(redraws.length, before);
    const row = mine[number];
    body.replaceChildren(facts(row));
    drawPackets(body, file, row);
  };
  draw(mine.indexOf(best));
}

/** @param {HTMLElement} body @param {Row} file @param {Row} row */
function drawPackets(body, file, row) {
  const rows = packetsOf(file, row.connection);
  const side = row.direction === "a_to_b" ? 0 : 1;
  if (!rows.length) {
    body.append(element("p", { class: "faint" }, `The packets of this connection are not in the page: --connection ${row.connection} puts them there.`));
    return;
  }
  const all = file.packets.packets_of_connections[String(row.connection)];
  if (all > rows.length) body.append(element("p", { class: "faint" }, `The first ${rows.length} of ${all} packets: --connection ${row.connection} puts more of them here.`));
  const data = rows.filter((one) => one.side === side && one.length > 0);
  const holders = ["sequence", "rtt", "flight"].map((name) => element("div", { class: "plot", id: name }));
  const ladderHolder = element("div", {});
  /** @type {(() => any)[]} */
  const plots = [];
  let busy = false;
  const follow = (/** @type {any} */ u, /** @type {string} */ key) => {
    if (key !== "x" || busy) return;
    busy = true;
    const { min, max } = u.scales.x;
    for (const plot of plots) if (plot() && plot() !== u) plot().setScale("x", { min, max });
    busy = false;
    showLadder(min, max);
  };
  const hooks = { setScale: [follow] };
  const drag = { drag: { x: true, y: true, uni: 24 } };
  const showLadder = (/** @type {number} */ min, /** @type {number} */ max) => {
    const inside = rows.filter((one) => one.t >= min && one.t <= max);
    const note = inside.length > LADDER_MAX ? `The first ${LADDER_MAX} of ${inside.length} packets of the time shown: zoom in above.` : `${inside.length} ${inside.length === 1 ? "packet" : "packets"}.`;
    ladderHolder.replaceChildren(
      element("p", { class: "faint" }, note),
      ladder(inside.slice(0, LADDER_MAX), side === 0 ? [end(row.from_address, row.from_port), end(row.to_address, row.to_port)] : [end(row.to_address, row.to_port), end(row.from_address, row.from_port)]),
    );
  };
  const legends = element("div", {});
  const errors = icmpOf(file, row);
  const drawLegend = () => {
    const used = Object.fromEntries(Object.entries(KINDS).filter(([kind]) => data.some((one) => shade(one) === kind)));
    const { icmp, ...others } = OTHERS;
    legends.replaceChildren(legend({ ...used, ...others, ...(errors.length ? { icmp } : {}) }));
  };
  drawLegend();
  redraws.push(drawLegend);
  body.append(
    element("h3", {}, "Time and sequence"),
    legends,
    element("p", { class: "faint" }, "Drag to zoom, diagonally for both axes; double-click to show all. A ring marks a retransmission that was proved spurious."),
    holders[0], element("h3", {}, "RTT"), holders[1], element("h3", {}, "Bytes in flight at the tap"), holders[2],
    element("h3", {}, "Packets"), ...icmpList(errors), ladderHolder,
  );
  if (!data.length) {
    body.append(element("p", { class: "faint" }, "No data in this direction."));
    return;
  }
  const times = rows.map((one) => one.t);
  const sent = rows.map((one) => (one.side === side && one.length ? one.at + one.length : null));
  const edge = rows.map((one) => (one.side !== side && one.ack !== null && one.window !== null ? one.ack + one.window : null));
  // The window's edge belongs to the picture, unless it would press the data into its lowest part.
  const [most, far] = [sent, edge].map((all) => all.reduce((/** @type {number} */ top, one) => Math.max(top, one ?? 0), 0));
  const shown = far <= WINDOW_BESIDE * most;
  if (!shown) holders[0].before(element("p", { class: "faint" }, `The edge of the receive window lies above this graph, up to ${bytesText(far)}: scroll down to see it beside the bytes in flight.`));
  plots.push(chart(holders[0], {
    height: 420, keep: true, cursor: drag,
    axes: [{ label: "seconds" }, { label: "bytes of the stream", size: 90 }],
    series: [{ label: "s" }, ...["sequence", "window's edge"].slice(0, shown ? 2 : 1).map((label) => () => ({ label, stroke: "transparent", points: { show: false }, paths: () => null }))],
    hooks: { ...hooks, draw: [(/** @type {any} */ u) => drawSequence(u, rows, side, errors)] },
  }, shown ? [times, sent, edge] : [times, sent]));
  // All charts begin and end together.
  const ends = (/** @type {number[]} */ x) => [times[0], ...x, times[times.length - 1]];
  const framed = (/** @type {any[]} */ y) => [null, ...y, null];
  const [rx, ry] = roundTrips(rows, side);
  const points = () => ({ show: true, size: 4, fill: themed("--accent") });
  if (rx.length) plots.push(chart(holders[1], {
    height: 220, keep: true, cursor: drag, axes: [{ label: "seconds" }, { label: "ms", size: 70 }], hooks,
    series: [{ label: "s" }, () => ({ label: "RTT (ms)", stroke: themed("--accent"), paths: () => null, points: points() })],
  }, [ends(rx), framed(ry)]));
  else holders[1].append(element("p", { class: "faint" }, "No segment passed once and was acknowledged."));
  const [fx, flight, window_] = flights(rows, side);
  const top = tops(flight, window_);
  const beside = top.w !== null;
  const stepped = /** @type {any} */ (window).uPlot.paths.stepped({ align: 1 });
  plots.push(chart(holders[2], {
    height: 220, keep: true, cursor: drag, hooks,
    axes: [{ label: "seconds" }, { label: "bytes", size: 90 }, ...(beside ? [{ label: "window, bytes", size: 90, side: 1, scale: "w", grid: { show: false } }] : [])],
    scales: { y: { range: () => [0, top.y] }, ...(beside ? { w: { range: () => [0, top.w] } } : {}) },
    series: [{ label: "s" },
      () => ({ label: "in flight", stroke: themed("--accent"), paths: stepped, points: { show: false } }),
      () => ({ label: "window", scale: beside ? "w" : "y", stroke: colour(OTHERS.window), paths: stepped, points: { show: false } })],
  }, [ends(fx), framed(flight), framed(window_)]));
  showLadder(-Infinity, Infinity);
}

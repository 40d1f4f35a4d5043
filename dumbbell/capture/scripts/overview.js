// @ts-check
// Of the whole file: totals, rate, lengths.
/** @param {Row} file */
function totals(file) {
  const one = file.file;
  const seconds = one.first_ns === null ? 0 : (one.last_ns - one.first_ns) / 1e9;
  const words = [`${one.packets.toLocaleString("en")} ${one.packets === 1 ? "packet" : "packets"}`, bytesText(one.bytes), `${seconds.toFixed(3)} s`, file.link_types.map((/** @type {Row} */ l) => l.link_type).join(", ")];
  if (seconds > 0) {
    words.push(`${(one.packets / seconds).toPrecision(6)} packets/s`);
    words.push(`${((one.bytes * 8e-6) / seconds).toPrecision(4)} Mbit/s`);
  }
  if (one.packets) words.push(`mean ${(one.bytes / one.packets).toFixed(1)} bytes`);
  if (one.truncated_packets) words.push(`${one.truncated_packets} cut short`);
  if (file.skipped.length) {
    const kinds = file.skipped.slice(0, 20).map((/** @type {Row} */ s) => `${s.packets} ${s.what}`);
    words.push(`${one.packets_without_ip} without IP (${kinds.join(", ")}${file.skipped.length > 20 ? ", …" : ""})`);
  }
  const told = one.problems.map((/** @type {Row} */ p) => element("li", {}, `at byte ${p.offset}: ${p.message}`));
  if (one.broken) told.push(element("li", {}, `the file breaks off: ${one.broken}`));
  told.push(...one.notes.map((/** @type {string} */ words) => element("li", {}, words)));
  return [element("p", { class: "lead" }, words.join(" · ")), ...(told.length ? [element("ul", {}, ...told)] : [])];
}

/** @param {HTMLElement} holder @param {Row} file */
function drawRate(holder, file) {
  const rates = file.rates;
  if (rates.bytes.length < 2) {
    holder.append(element("p", { class: "faint" }, "Too short for a rate over time."));
    return;
  }
  const begin = rates.start_ns - (file.file.first_ns ?? rates.start_ns);
  const x = rates.bytes.map((/** @type {number} */ _, /** @type {number} */ n) => (begin + n * rates.width_ns) / 1e9);
  const y = rates.bytes.map((/** @type {number} */ bytes) => (bytes * 8e3) / rates.width_ns);
  const stepped = /** @type {any} */ (window).uPlot.paths.stepped({ align: 1 });
  chart(
    holder,
    {
      height: 220,
      axes: [{ label: "seconds" }, { label: "Mbit/s", size: 70 }],
      series: [
        { label: "s" },
        () => ({ label: "Mbit/s", stroke: themed("--accent"), fill: `${themed("--accent")}22`, paths: stepped, points: { show: false } }),
      ],
    },
    [x, y],
  );
}

/** @param {Row[]} bins */
function lengthBars(bins) {
  const total = bins.reduce((sum, bin) => sum + bin.packets, 0) || 1;
  const most = Math.max(...bins.map((bin) => bin.packets)) || 1;
  const cells = bins.flatMap((bin) => [
    element("span", {}, `${bin.from_bytes}–${bin.to_bytes ?? ""}`),
    element("span", { class: "value" }, `${bin.packets} (${((100 * bin.packets) / total).toFixed(2)} %)`),
    element("div", { class: "bar", style: `width:${(100 * bin.packets) / most}%` }),
  ]);
  return element("div", { class: "bars" }, ...cells);
}

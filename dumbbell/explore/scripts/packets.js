// @ts-check
// Packets of a run in the stretch of time that is shown.

/**
 * @param {string} experiment @param {string} run @param {string[]} tables those that were kept
 * @returns {{node: HTMLElement, show: (window: [number, number] | null) => void}}
 */
function packetsPart(experiment, run, tables) {
  const kept = ["packets", "hops", "drops"].filter((name) => tables.includes(name));
  const titles = /** @type {Record<string, string>} */ ({ packets: "at taps", hops: "on links", drops: "dropped" });
  const select = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Packets", onchange: () => void load() }, ...kept.map((name) => element("option", { value: name }, titles[name]))));
  const place = element("div", {});
  const note = element("p", { class: "faint", role: "status" });
  const picture = element("div", { class: "plot" });
  const node = element("details", { class: "fold wide", ontoggle: () => void load() }, element("summary", {}, "Packets"), element("div", { class: "controls" }, element("label", {}, "Packets ", select)), note, picture, place);
  /** @type {[number, number] | null} */
  let window_ = null;
  let asking = new AbortController();
  async function load() {
    if (!(/** @type {HTMLDetailsElement} */ (node).open)) return;
    asking.abort();
    asking = new AbortController();
    try {
      /** @type {Record<string, string>} */
      const span = window_ ? { from: String(window_[0]), to: String(window_[1]) } : {};
      const found = await ask("packets", { experiment, run, table: select.value, ...span }, asking.signal);
      const count = found.rows.length;
      note.textContent = count < found.total ? `The first ${count} of ${found.total} in the time shown: zoom in above.` : `${count} in the time shown.`;
      drawPicture(found);
      place.replaceChildren(plainTable(found.columns, found.rows.slice(0, 300).map((/** @type {any[]} */ row) => row.map((one, n) => (n === 0 ? one.toFixed(6) : one === -1 ? "–" : String(one))))));
    } catch (error) {
      if (!isAborted(error)) note.textContent = errorWords(error);
    }
  }
  /** Bytes of the stream over time, a point per packet. @param {any} found */
  function drawPicture(found) {
    picture.replaceChildren();
    const [seq, flow] = [found.columns.indexOf("seq_bytes"), found.columns.indexOf("flow")];
    const rows = found.rows.filter((/** @type {any[]} */ row) => seq >= 0 && row[seq] >= 0);
    if (rows.length < 2) return;
    const names = [...new Set(rows.map((/** @type {any[]} */ row) => row[flow]))];
    const data = [rows.map((/** @type {any[]} */ row) => row[0]), ...names.map((name) => rows.map((/** @type {any[]} */ row) => (row[flow] === name ? row[seq] : null)))];
    const points = (/** @type {number} */ number) => () => ({ label: String(names[number]), stroke: flowColour(number), paths: () => null, points: { show: true, size: 4, fill: flowColour(number) } });
    chart(picture, { height: 220, axes: [{ label: "s" }, { label: "byte of the stream", size: 80 }], series: [{ label: "s" }, ...names.map((_, number) => points(number))] }, data);
  }
  return {
    node,
    show(next) {
      window_ = next;
      void load();
    },
  };
}

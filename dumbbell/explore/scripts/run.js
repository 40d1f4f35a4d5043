// @ts-check
// One run.

/** @param {Shell} shell @param {URLSearchParams} params @returns {Shown} */
function runView(shell, params) {
  const experiment = shell.experiment(params);
  const run = params.get("run") ?? "";
  const panel = element("aside", { class: "panel why", hidden: true, "aria-label": "Why", tabindex: "-1" });
  const node = element("div", {}, element("p", { class: "faint" }, "Reading the run …"));
  /** @type {any} */
  let found = null;
  const at = Number.parseFloat(params.get("at") ?? "");
  const asked = params.get("flow") ?? "";
  const explain = (/** @type {string} */ flow, /** @type {number} */ time) => {
    change({ flow, at: time.toFixed(6) }, true);
    void explainInto(panel, experiment, run, flow, time);
  };
  /** @type {(() => void)[]} */
  let late = [];
  const algorithms = () =>
    /** @type {string[]} */ ([
      ...found.flows.rows.map((/** @type {any[]} */ row) => row[2] || row[1]),
      ...found.sockets.rows.filter((/** @type {any[]} */ row) => row[4] > 1).map((/** @type {any[]} */ row) => row[1]),
    ]);

  /** @param {{run: string, name: string}} line @param {number} number @param {Lines} lines */
  function look(line, number, lines) {
    const own = lines.algorithms[line.name];
    const style = own ? algorithmStyle(own) : undefined;
    const once = algorithms().filter((one) => one === own).length === 1;
    return { label: style ? `${line.name} (${style.title})` : line.name, ...(style && once ? { stroke: style.stroke, dash: style.dash } : lookOf(number)) };
  }
  const start = async () => {
    try {
      found = await ask("run-facts", { experiment, run });
    } catch (error) {
      node.replaceChildren(element("p", { class: "bad", role: "alert" }, errorWords(error)));
      return;
    }
    runWords.set(run, found.words);
    const packets = packetsPart(experiment, run, found.tables);
    const drawn = linkedLines({
      experiment,
      runs: [run],
      quantities: quantitiesOf(params),
      look,
      window: windowOf(params),
      moved: (window_) => {
        change(windowParams(window_), true);
        packets.show(window_);
      },
      picked: (time, line) => {
        if (experiment === "edited") return;
        const known = found.flows.rows.map((/** @type {any[]} */ row) => row[0]);
        const flow = known.includes(line.name) ? line.name : asked || known[0];
        if (flow && !found.sockets.rows.some((/** @type {any[]} */ row) => row[0] === line.name)) explain(flow, time);
      },
      marks: () => found.marks,
    });
    const repeats = found.same.length > 1
      ? [element("label", {}, "Repeat ", element("select", { onchange: (/** @type {Event} */ event) => change({ run: /** @type {HTMLSelectElement} */ (event.target).value, at: "", flow: "" }) },
          ...found.same.map((/** @type {Row} */ one) => element("option", { value: one.run, selected: one.run === run }, String(one.repeat)))))]
      : [];
    const kept = ["packets", "hops", "drops"].some((name) => found.tables.includes(name));
    node.replaceChildren(
      element("h2", { class: "first" }, found.words),
      ...found.notes.map((/** @type {string} */ note) => element("p", { class: "bad" }, note)),
      element("ul", { class: "findings" }, ...found.sentences.map((/** @type {string} */ one) => element("li", {}, one))),
      factsGrid(found.facts),
      element("div", { class: "controls" }, ...repeats, ...(experiment === "edited" ? [] : [animationLink(experiment, run, 0, "", "Animation")]), ...saveButtons("run", drawn)),
      element("div", { class: "folds" }, quantityChips(quantitiesOf(params), (names) => change({ charts: names.join(",") })), incidents()),
      element("p", { class: "faint" }, found.tables.includes("samples") && found.flows.rows.length && experiment !== "edited" ? "Click on a line to ask why. Marks at the foot: entries into Recovery, CWR and Loss." : ""),
      panel,
      drawn.node,
      ...(kept ? [packets.node] : []),
      ...(found.flows.rows.length ? [element("h2", {}, "Flows"), flowTable()] : []),
      ...tablePart("Programs", found.programs, 5),
      ...tablePart("TCP sockets of programs", found.sockets, 2),
      element("h2", {}, "Links"),
      plainTable(found.links.columns.map((/** @type {string} */ name) => name.replaceAll("_", " ")), found.links.rows.map((/** @type {any[]} */ row) => row.map(shownValue))),
    );
    await drawn.again();
    const known = found.flows.rows.map((/** @type {any[]} */ row) => row[0]);
    if (asked && Number.isFinite(at) && experiment !== "edited") void explainInto(panel, experiment, run, known.includes(asked) ? asked : known[0], at);
    packets.show(windowOf(params));
    late = [() => void drawn.again()];
  };
  /** A table with its heading; nothing of one without rows. @param {string} title @param {{columns: string[], rows: any[][], total: number}} part @param {number} left columns of text */
  function tablePart(title, part, left) {
    if (!part.rows.length) return [];
    const more = part.total > part.rows.length ? [element("p", { class: "faint" }, `${part.rows.length} of ${part.total}.`)] : [];
    return [element("h2", {}, title), plainTable(part.columns, part.rows.map((row) => row.map(shownValue)), left), ...more];
  }
  function flowTable() {
    const { columns, rows, labels, total } = found.flows;
    const head = columns.map((/** @type {string} */ name) => labels[name] ?? name.replaceAll("_", " "));
    const more = total > rows.length ? [element("p", { class: "faint" }, `${rows.length} of ${total} flows.`)] : [];
    return element("div", {}, plainTable(head, rows.map((/** @type {any[]} */ row) => row.map(shownValue))), ...more);
  }
  /** Incidents as buttons: what a click on a chart does, for keys and readers. */
  function incidents() {
    const marks = found.marks.slice(0, 60);
    if (!marks.length || experiment === "edited") return element("span", {});
    return element("details", { class: "fold" }, element("summary", {}, `Incidents (${found.marks.length})`),
      element("div", { class: "ticks" }, ...marks.map((/** @type {Row} */ mark) =>
        element("button", { type: "button", class: "link", onclick: () => explain(mark.flow, mark.time_s) }, `${mark.time_s.toFixed(2)} s ${mark.flow}: ${mark.state}`))));
  }
  /** @param {boolean} loss @param {number} way */
  const jump = (loss, way) => () => {
    const from = Number.parseFloat(address().params.get("at") ?? (way > 0 ? "-1" : "1e12"));
    const fitting = found?.marks.filter((/** @type {Row} */ one) => (loss ? one.state === "Loss" : true) && (way > 0 ? one.time_s > from + 1e-5 : one.time_s < from - 1e-5)) ?? [];
    const next = way > 0 ? fitting[0] : fitting.at(-1);
    if (next && experiment !== "edited") explain(next.flow, next.time_s);
  };
  return {
    node,
    start,
    redraw: () => late.forEach((one) => one()),
    keys: { ...lineKeys(), state: jump(false, 1), stateBefore: jump(false, -1), timeout: jump(true, 1), timeoutBefore: jump(true, -1) },
  };
}

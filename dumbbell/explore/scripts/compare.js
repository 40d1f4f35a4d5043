// @ts-check
// Chosen runs on one axis of time.

/** @param {Shell} shell @param {URLSearchParams} params @returns {Shown} */
function compareView(shell, params) {
  const experiment = shell.experiment(params);
  const named = (params.get("runs") ?? "").split(",").filter(Boolean);
  const runs = named.length ? named : [...chosenRuns.keys()];
  if (!runs.length) {
    return { node: element("p", { class: "faint" }, "No run is chosen: tick some in the list of runs."), keys: {} };
  }
  const hidden = new Set((params.get("hidden") ?? "").split(",").filter(Boolean));
  const shown = runs.filter((run) => !hidden.has(run));
  const legend = element("div", { class: "chips", role: "group", "aria-label": "Runs" });
  const words = new Map(runs.map((run) => [run, chosenRuns.get(run) ?? runWords.get(run) ?? run.slice(0, 8)]));
  const numberOf = new Map(runs.map((run, number) => [run, number]));
  const drawn = linkedLines({
    experiment,
    runs: shown.length ? shown : runs.slice(0, 1),
    quantities: quantitiesOf(params),
    // A run has a colour; its flows differ by dashes.
    look: (line, _, lines) => {
      const own = lines.lines.filter((one) => one.run === line.run).findIndex((one) => one.name === line.name);
      const { stroke } = lookOf(numberOf.get(line.run) ?? 0);
      return { label: `${words.get(line.run)}: ${line.name}`, stroke, dash: LINE_DASHES[own % LINE_DASHES.length] };
    },
    window: windowOf(params),
    moved: (window_) => change(windowParams(window_), true),
    picked: (time, line) => go("run", { ...shell.named(experiment), run: line.run, at: String(time), flow: line.name }),
  });
  function drawLegend() {
    legend.replaceChildren(
      ...runs.map((run, number) =>
        element("button", { type: "button", "aria-pressed": String(!hidden.has(run)), onclick: () => {
          if (hidden.has(run)) hidden.delete(run);
          else if (hidden.size < runs.length - 1) hidden.add(run);
          change({ hidden: [...hidden].join(",") });
        } }, swatchOf(flowColour(number)), words.get(run) ?? run)),
    );
  }
  drawLegend();
  const missing = runs.filter((run) => !chosenRuns.has(run) && !runWords.has(run));
  if (missing.length) {
    void Promise.all(missing.slice(0, 64).map(async (run) => {
      const found = await ask("run-facts", { experiment, run });
      words.set(run, found.words);
      runWords.set(run, found.words);
    })).then(() => {
      drawLegend();
      redrawAll();
    }, () => {});
  }
  const node = element(
    "div",
    {},
    element("h2", { class: "first" }, `${runs.length} ${runs.length === 1 ? "run" : "runs"} compared`),
    legend,
    element("div", { class: "folds" }, quantityChips(quantitiesOf(params), (names) => change({ charts: names.join(",") }))),
    element("div", { class: "controls" }, ...saveButtons("comparison", drawn)),
    drawn.node,
  );
  return { node, start: drawn.again, redraw: () => { drawLegend(); void drawn.again(); }, keys: lineKeys() };
}

/** @param {string} stem @param {ReturnType<typeof linkedLines>} drawn */
const saveButtons = (stem, drawn) => [
  element("button", { type: "button", onclick: () => save(`${stem}.svg`, new Blob([chartsSvg(drawn.charts())], { type: "image/svg+xml" })) }, "Save SVG"),
];

const lineKeys = () => ({
  closer: () => shownLines?.zoom(0.5),
  further: () => shownLines?.zoom(2),
  next: () => shownLines?.shift(0.5),
  previous: () => shownLines?.shift(-0.5),
  all: () => shownLines?.all(),
});

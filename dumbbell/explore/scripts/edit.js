// @ts-check
// An experiment that is edited: errors in their lines, the picture follows, the last good one stays.

const TYPING_MS = 250;
/** The text that was edited last, by experiment. @type {Map<string, string>} */
const edited = new Map();

/** @param {Shell} shell @param {URLSearchParams} params @returns {Shown} */
function editView(shell, params) {
  const experiment = shell.experiment(params);
  const text = edited.get(experiment) ?? shell.state.experiments.find((/** @type {Row} */ one) => one.id === experiment)?.yaml ?? "";
  const status = element("p", { class: "faint", role: "status" });
  const told = element("ul", { class: "findings" });
  const picture = element("div", { class: "picture" });
  /** @type {number | undefined} */
  let typing;
  let asking = new AbortController();
  /** @type {ReturnType<typeof linkedLines> | null} */
  let drawn = null;

  const editor = makeEditor(text, (next) => {
    edited.set(experiment, next);
    clearTimeout(typing);
    typing = setTimeout(() => void run(), TYPING_MS);
  }, () => void run());
  async function run() {
    clearTimeout(typing);
    asking.abort();
    asking = new AbortController();
    const begun = performance.now();
    status.textContent = "Running …";
    try {
      const found = await askRun(editor.text(), true, asking.signal);
      if (found.error) {
        editor.setError(found.error);
        status.textContent = picture.childElementCount ? "The picture is of the last good text." : "";
        return;
      }
      editor.setError(null);
      told.replaceChildren(...found.sentences.map((/** @type {string} */ one) => element("li", {}, one)));
      const words = new Map(found.runs.map((/** @type {Row} */ one) => [one.run, one.words]));
      const runs = found.runs.map((/** @type {Row} */ one) => one.run);
      redraws = [];
      drawn = linkedLines({
        experiment: "edited",
        runs,
        quantities: quantitiesOf(address().params),
        look: (line, number) => ({ label: [words.get(line.run), line.name].filter(Boolean).join(": "), ...lookOf(runs.length > 1 ? runs.indexOf(line.run) : number) }),
        window: null,
        moved: () => {},
      });
      const legend = runs.length > 1 ? [element("div", { class: "legend" }, ...found.runs.map((/** @type {Row} */ one, /** @type {number} */ number) => element("span", {}, swatchOf(flowColour(number)), one.words)))] : [];
      const next = element("div", {}, ...legend, drawn.node);
      next.style.minHeight = `${picture.clientHeight}px`;
      picture.replaceChildren(next);
      await drawn.again();
      next.style.minHeight = "";
      picture.dataset.stamp = String(found.stamp);
      status.textContent = `${found.cells} ${found.cells === 1 ? "cell" : "cells"}, ${found.wall_s.toFixed(2)} s of computing, drawn after ${((performance.now() - begun) / 1000).toFixed(2)} s.`;
    } catch (error) {
      const outdated = error instanceof ServerError && error.status === 409;
      if (!isAborted(error) && !outdated) status.textContent = errorWords(error);
    }
  }
  const node = element(
    "div",
    {},
    element("h2", { class: "first" }, "Edit and run"),
    element("p", { class: "faint" }, "The first repeat of each cell runs on the simulator. Nothing is kept: copy the text into a file for that."),
    element("div", { class: "bench" },
      element("div", {}, editor.node, element("div", { class: "controls" }, element("button", { type: "button", onclick: () => void run() }, "Run (Ctrl + Enter)"),
        element("button", { type: "button", onclick: () => { editor.setText(text); edited.delete(experiment); void run(); } }, "As stored"),
        element("button", { type: "button", onclick: () => save("experiment.yaml", new Blob([editor.text()], { type: "text/yaml" })) }, "Save YAML")), status),
      element("div", {}, told, picture)),
  );
  return { node, start: run, redraw: () => void drawn?.again(), keys: { ...lineKeys(), run: () => void run() } };
}

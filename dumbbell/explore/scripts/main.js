// @ts-check
// The frame: choice of the experiment, views, banner. What is shown follows the address.

/** @typedef {{node: HTMLElement, start?: () => Promise<void>, refresh?: () => Promise<void>, redraw?: () => void, keys: Partial<Record<KeyName, () => void>>}} Shown */
/** @typedef {{state: any, experiment: (params: URLSearchParams) => string, named: (experiment: string) => Record<string, string>}} Shell */

const POLL_MS = 1500;
const VIEW_WORDS = /** @type {Record<ViewName, string>} */ ({ runs: "Runs", compare: "Compare", run: "Run", study: "Study", edit: "Edit" });
const MADE = /** @type {Record<ViewName, (shell: Shell, params: URLSearchParams) => Shown>} */ ({ runs: runsView, compare: compareView, run: runView, study: studyView, edit: editView });

/** @type {Shell} */
const shell = {
  state: null,
  experiment: (params) => params.get("experiment") ?? shell.state.experiments[0]?.id ?? "",
  named: (experiment) => /** @type {Record<string, string>} */ (experiment === shell.state.experiments[0]?.id ? {} : { experiment }),
};
const banner = element("div", { class: "banner", role: "status" });
const heading = element("h1", {}, "…");
const progress = element("p", { class: "faint progress" });
const chooser = element("div", { class: "controls" });
const tabs = element("nav", { class: "tabs", "aria-label": "Views" });
const stage = element("div", { class: "view" });
main.replaceChildren(heading, progress, chooser, tabs, banner, stage);

/** @type {Shown | null} */
let shown = null;

function show() {
  const { view, params } = address();
  redraws = [];
  shownLines = null;
  shown = MADE[view](shell, params);
  const run = shown;
  stage.replaceChildren(run.node);
  drawTabs();
  drawTitle();
  void run.start?.();
}

function drawTitle() {
  const { view, params } = address();
  const key = shell.experiment(params);
  const one = shell.state.experiments.find((/** @type {Row} */ other) => other.id === key);
  heading.textContent = one?.name ?? (key === "edited" ? "edited" : "unknown experiment");
  progress.textContent = one ? `${one.finished === one.planned ? "" : `${one.finished} of `}${one.planned} ${one.planned === 1 ? "run" : "runs"} on ${one.engine}, ${one.mark ? `${one.mark}, ` : ""}${shell.state.store}` : shell.state.store;
  document.title = `${heading.textContent}: ${VIEW_WORDS[view].toLowerCase()}, Dumbbell explorer`;
  const known = shell.state.experiments;
  if (known.length < 2) {
    chooser.replaceChildren();
    return;
  }
  const select = /** @type {HTMLSelectElement} */ (element("select", { onchange: () => { chosenRuns.clear(); go("runs", { experiment: select.value }); } }, ...known.map((/** @type {Row} */ other) => element("option", { value: other.id }, `${other.name} (${other.engine})${other.mark ? `, ${other.mark}` : ""}`))));
  select.value = key;
  chooser.replaceChildren(element("label", {}, "Experiment ", select));
}

document.addEventListener(CHOSEN, drawTabs);
function drawTabs() {
  const { view, params } = address();
  const named = params.get("experiment") ? { experiment: params.get("experiment") ?? "" } : {};
  const names = /** @type {ViewName[]} */ (["runs", "compare", ...(view === "run" ? ["run"] : []), ...(shell.state.study ? ["study"] : []), "edit"]);
  tabs.replaceChildren(
    ...names.map((name) => {
      const own = name === view ? params : name === "compare" ? { ...named, runs: [...chosenRuns.keys()].join(",") } : named;
      return element("a", { href: linkTo(name, /** @type {any} */ (own)), "aria-current": name === view ? "page" : undefined }, VIEW_WORDS[name]);
    }),
  );
}

/** @param {string[]} sentences */
function tell(sentences) {
  const words = sentences.join("\n");
  if (banner.dataset.words === words) return;
  banner.dataset.words = words;
  banner.replaceChildren(...(sentences.length ? [element("div", { class: "warning" }, ...sentences.map((one) => element("p", {}, one)))] : []));
}

/** Looks whether the store has changed; the picture stays when it cannot be read. */
async function look() {
  const begun = performance.now();
  try {
    const { params } = address();
    const found = await ask("state", params.get("experiment") ? { experiment: params.get("experiment") ?? "" } : {});
    const before = shell.state;
    shell.state = found;
    tell([...found.banner, ...found.notes]);
    if (!before) {
      show();
    } else if (before.stamp !== found.stamp) {
      drawTitle();
      if (!found.banner.length) await shown?.refresh?.();
    }
  } catch (error) {
    tell([errorWords(error)]);
  }
  // A large store that is being written costs the server time: it is asked less often.
  setTimeout(() => void look(), Math.max(POLL_MS, 5 * (performance.now() - begun)));
}

addEventListener("hashchange", show);
onTheme(() => {
  redrawAll();
});
onWidth(() => {
  redrawAll();
  shown?.redraw?.();
});
bindKeys(() => ({ up: () => go("runs", shell.named(shell.experiment(address().params))), ...shown?.keys }));
void look();

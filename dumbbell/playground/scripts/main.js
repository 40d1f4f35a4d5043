// @ts-check
// The page: text, run, picture.
/* global DumbbellEditor */

/** Pause after a key before a run begins, ms. */
const PAUSE_MS = 100;

/** @param {string} name */
const held = (name) => JSON.parse(document.querySelector(`#${name}`)?.textContent ?? "null");
const begin = held("begin");
/** @type {{title: string, text: string}[]} */
const presets = held("presets");

/** Level of each factor, by index. @type {Record<string, number>} */
let levels = {};
/** The last answer with tables, and what it shows. @type {Row | null} */
let last = null;
/** @type {Row[]} */
let charts = [];
/** @type {any} */
let parsed = null;
let title = "";

const status = element("p", { class: "status", role: "status" });
const choices = element("div", { class: "controls" });
const tables = element("div");
const plots = element("div", { class: "charts" });
const picture = element("div", { class: "picture" }, choices, tables, plots);
const place = element("div");
const preset = /** @type {HTMLSelectElement} */ (element(
  "select",
  { "aria-label": "Examples", onchange: () => preset.value && take(presets[Number(preset.value)].text, {}, true) },
  element("option", { value: "" }, "Examples…"),
  ...presets.map((one, i) => element("option", { value: i }, one.title)),
));
/** @param {string} text @param {() => void} onclick */
const button = (text, onclick) => element("button", { type: "button", onclick }, text);
const buttons = element(
  "div",
  { class: "controls" },
  preset,
  button("Run again", () => run()),
  button("Copy link", copyLink),
  button("YAML", () => save(`${fileName()}.yaml`, new Blob([editor.text()], { type: "application/yaml" }))),
  button("CSV", () => last && Object.entries(last.tables).forEach(([name, table]) => rowsOf(table).length && save(`${fileName()}-${name}.csv`, new Blob([csvOf(table)], { type: "text/csv" })))),
  button("SVG", () => last && save(`${fileName()}.svg`, new Blob([svgOf(charts, title)], { type: "image/svg+xml" }))),
);
main.append(
  element("h1", { class: "title" }, "Playground"),
  element("div", { class: "desk" }, element("section", { "aria-label": "Experiment" }, buttons, place, status), element("section", { "aria-label": "Results" }, picture)),
);

const fileName = () => (title || "experiment").replace(/[^\w-]+/g, "-");

/** @param {string} text @param {boolean} wrong */
function say(text, wrong = false) {
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
  picture.classList.toggle("old", wrong);
}

const engine = simulator((answer, took) => {
  drawChoices(answer.factors ?? []);
  if (answer.error) {
    const where = parsed.locate(answer.error.at);
    const lined = answer.error.at.length > 0;
    editor.diagnostics([{ ...where, message: answer.error.message, severity: answer.error.elsewhere ? "warning" : "error" }]);
    say(`${lined ? `Line ${where.line}: ` : ""}${answer.error.message}`, true);
    return;
  }
  editor.diagnostics([]);
  last = answer;
  title = answer.scenario.name;
  say(`Simulated ${figure(answer.duration_ns / 1e9)} s: ${answer.packets.toLocaleString("en")} packets in ${figure(took)} ms. Seed ${answer.seed}, digest ${answer.digest.slice(0, 12)}.`);
  status.dataset.digest = answer.digest;
  draw(answer);
});

/** @param {Row} answer */
function draw(answer) {
  const flows = flowsOf(answer);
  const pipes = bottlenecksOf(answer);
  const look = looks(flows);
  const named = (/** @type {Row} */ flow, /** @type {number} */ i) => element("span", {}, swatchOf(look[i]().stroke), `${flow.name}${flow.name === flow.algorithm ? "" : ` (${algorithmStyle(flow.algorithm)?.title ?? flow.algorithm})`}`);
  tables.replaceChildren(
    plainTable(
      ["flow", "Mbit/s", "RTT, ms", "retransmitted"],
      flows.map((flow, i) => [named(flow, i), figure(flow.mbps), figure(flow.rtt === null ? null : flow.rtt / 1e6), figure(flow.retransmitted, " %")]),
    ),
  );
  if (pipes.length) {
    tables.append(
      plainTable(
        ["bottleneck", "Mbit/s", "use", "queue p50, ms", "queue p95, ms", "lost"],
        pipes.map((pipe) => [pipe.name, figure(pipe.mbps), figure(pipe.used, " %"), figure(pipe.p50), figure(pipe.p95), figure(pipe.lost, " %")]),
      ),
    );
  }
  charts = described(answer, flows, pipes);
  drawCharts(plots, charts);
}

/** Selectors of levels. Factors that belong together change together. @param {Row[]} factors */
function drawChoices(factors) {
  const state = JSON.stringify(factors);
  if (choices.dataset.state === state) return;
  choices.dataset.state = state;
  choices.replaceChildren(
    ...factors.map((factor) => {
      const select = /** @type {HTMLSelectElement} */ (element("select", {
        onchange: () => {
          for (const one of factors) if (one.group === factor.group) levels[one.name] = select.selectedIndex;
          choices.querySelectorAll("select").forEach((other, i) => (other.selectedIndex = levels[factors[i].name] ?? 0));
          run();
        },
      }));
      select.append(...factor.levels.map((/** @type {string} */ label, /** @type {number} */ i) => element("option", { value: i }, label)));
      select.selectedIndex = Math.min(levels[factor.name] ?? 0, factor.levels.length - 1);
      return element("label", {}, `${factor.name} `, select);
    }),
  );
}

/** Reads the text and asks for a run; what is wrong is marked, and the picture stays. */
function run() {
  parsed = DumbbellEditor.parse(editor.text());
  if (parsed.problems.length) {
    engine.end();
    editor.diagnostics(parsed.problems);
    say(`Line ${parsed.problems[0].line}: ${parsed.problems[0].message}`, true);
    return;
  }
  engine.ask({ file: parsed.value, levels, run: true });
}

/** @type {number | undefined} */
let waiting;
function changed() {
  engine.end();
  clearTimeout(waiting);
  waiting = setTimeout(run, PAUSE_MS);
}

async function copyLink() {
  const hash = await hashOf(editor.text(), levels);
  history.replaceState(null, "", hash);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied; it holds the experiment.");
  } catch {
    say("The link is in the address bar; it holds the experiment.");
  }
}

/** Shows another experiment. @param {string} text @param {Record<string, number>} chosen @param {boolean} focus */
function take(text, chosen, focus = false) {
  levels = chosen;
  editor.setText(text);
  preset.value = "";
  run();
  if (focus) editor.focus();
}

const editor = DumbbellEditor.create(place, begin.text, { schema: held("schema"), label: "Experiment file, YAML", onChange: changed, keys: { "Mod-Enter": run } });
const linked = await ofHash(location.hash);
if (linked) take(linked.text, linked.levels);
else run();
addEventListener("hashchange", async () => {
  const found = await ofHash(location.hash);
  if (found && found.text !== editor.text()) take(found.text, found.levels);
});
onTheme(() => {
  redrawAll();
  if (last) draw(last);
});
onWidth(redrawAll);
bindKeys(() => ({ run }));

// @ts-check
// Editor of an experiment file: that of the playground, with completion and help from the schema.

/** @typedef {{line: number | null, words: string}} EditorError */
/** @typedef {{node: HTMLElement, text: () => string, setText: (text: string) => void, setError: (error: EditorError | null) => void}} Editor */

/** The schema of experiment files, asked for once. @type {Promise<Row> | null} */
let askedSchema = null;
const schemaOfFiles = () => (askedSchema ??= fetch("/schema.json").then((answer) => (answer.ok ? answer.json() : {}), () => ({})));

/**
 * @param {string} text
 * @param {(text: string) => void} changed
 * @param {() => void} run what Ctrl + Enter does
 * @returns {Editor}
 */
function makeEditor(text, changed, run) {
  const library = /** @type {any} */ (globalThis).DumbbellEditor;
  const host = element("div", { class: "editor" });
  const problem = element("p", { id: "editor-error", class: "bad", role: "status" });
  // In a shadow tree the editor's styles are style sheets of the script, which the page's policy allows.
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(":host > div, .cm-editor { height: 100%; }");
  shadow.adoptedStyleSheets = [sheet];
  const place = element("div");
  shadow.append(place);
  // Letters that are typed are no keys of the page.
  host.addEventListener("keydown", (event) => event.stopPropagation());
  const schema = {};
  const editor = library.create(place, text, { schema, label: "Experiment file (YAML)", onChange: changed, keys: { "Mod-Enter": run } });
  place.querySelector(".cm-scroller")?.setAttribute("tabindex", "0"); // It scrolls: the keyboard reaches it.
  void schemaOfFiles().then((found) => Object.assign(schema, found));
  return {
    node: element("div", {}, host, problem),
    text: () => editor.text(),
    setText: (next) => editor.setText(next),
    setError(next) {
      problem.textContent = next?.words ?? "";
      const lines = editor.text().split("\n");
      const line = Math.min(next?.line ?? 0, lines.length);
      const from = lines.slice(0, Math.max(0, line - 1)).reduce((/** @type {number} */ sum, /** @type {string} */ one) => sum + one.length + 1, 0);
      editor.diagnostics(next && line > 0 ? [{ from, to: from + lines[line - 1].length, line, message: next.words }] : []);
    },
  };
}

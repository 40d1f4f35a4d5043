// @ts-check
// Editor of an experiment file: a field with numbers of lines. The seam for another editor is `makeEditor`.

/** @typedef {{line: number | null, words: string}} EditorError */
/** @typedef {{node: HTMLElement, text: () => string, setText: (text: string) => void, setError: (error: EditorError | null) => void}} Editor */

/** @param {string} text @param {(text: string) => void} changed @returns {Editor} */
function makeEditor(text, changed) {
  const field = /** @type {HTMLTextAreaElement} */ (element("textarea", { "aria-label": "Experiment file (YAML)", spellcheck: "false", autocomplete: "off", wrap: "off", "aria-describedby": "editor-error" }));
  const numbers = element("div", { class: "numbers", "aria-hidden": "true" });
  const problem = element("p", { id: "editor-error", class: "bad", role: "status" });
  const node = element("div", {}, element("div", { class: "editor" }, numbers, field), problem);
  /** @type {EditorError | null} */
  let error = null;
  function draw() {
    const lines = field.value.split("\n").length;
    numbers.replaceChildren(...Array.from({ length: lines }, (_, n) => element("div", { class: error?.line === n + 1 ? "wrong" : undefined }, String(n + 1))));
    numbers.scrollTop = field.scrollTop;
  }
  field.value = text;
  field.addEventListener("scroll", () => {
    numbers.scrollTop = field.scrollTop;
  });
  field.addEventListener("input", () => {
    draw();
    changed(field.value);
  });
  draw();
  return {
    node,
    text: () => field.value,
    setText(next) {
      field.value = next;
      draw();
    },
    setError(next) {
      error = next;
      problem.textContent = next?.words ?? "";
      draw();
    },
  };
}

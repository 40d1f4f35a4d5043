// @ts-check
// Keys of all pages: each does the same wherever it does something. docs/pages.md lists them.

/** What is pressed, how it is written, what it does. */
const KEYS = {
  play: [" ", "space", "play, pause"],
  next: ["ArrowRight", "→", "next event; later"],
  previous: ["ArrowLeft", "←", "event before; earlier"],
  closer: ["+", "+", "zoom in"],
  further: ["-", "-", "zoom out"],
  all: ["0", "0", "show all of the time"],
  drop: ["d", "d", "next drop"],
  dropBefore: ["D", "D", "drop before"],
  timeout: ["t", "t", "next time-out"],
  timeoutBefore: ["T", "T", "time-out before"],
  state: ["s", "s", "next change of state"],
  stateBefore: ["S", "S", "change of state before"],
  find: ["/", "/", "go to the filter"],
  compare: ["c", "c", "compare what is chosen"],
  up: ["u", "u", "to the list"],
  run: ["Enter", "Ctrl + Enter", "run the experiment"],
  help: ["?", "?", "keys of this page"],
};
/** @typedef {keyof typeof KEYS} KeyName */
/** Keys that count only together with Ctrl, also in fields. */
const WITH_CONTROL = new Set(["run"]);

/** Returns true if letters that are pressed belong to an element. @param {EventTarget | null} target */
const takesText = (target) =>
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement ||
  (target instanceof HTMLElement && target.isContentEditable) ||
  (target instanceof HTMLInputElement && !["range", "checkbox", "radio", "button"].includes(target.type));

/**
 * Keys that the page obeys. `?` shows their list.
 * @param {() => Partial<Record<KeyName, () => void>>} actions those of what is shown now
 */
function bindKeys(actions) {
  addEventListener("keydown", (event) => {
    const bound = actions();
    const control = event.ctrlKey || event.metaKey;
    if (event.altKey || document.querySelector("dialog[open]")) return;
    const slides = event.target instanceof HTMLInputElement && event.key.startsWith("Arrow");
    if (!control && (slides || takesText(event.target))) return;
    const names = /** @type {KeyName[]} */ (Object.keys(KEYS));
    const name = names.find((one) => KEYS[one][0] === event.key && WITH_CONTROL.has(one) === control);
    if (!name) return;
    if (event.key === " " && event.target instanceof HTMLElement && event.target.closest("button, a, summary, input:not([type=range])")) return;
    const act = name === "help" ? () => showKeys(Object.keys(bound)) : bound[name];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** List of keys in a dialog. @param {string[]} names */
function showKeys(names) {
  const shown = /** @type {KeyName[]} */ ([...names, "help"]).filter((name, place, all) => all.indexOf(name) === place);
  const rows = shown.flatMap((name) => [element("dt", {}, element("kbd", {}, KEYS[name][1])), element("dd", {}, KEYS[name][2])]);
  const dialog = /** @type {HTMLDialogElement} */ (element(
    "dialog",
    { "aria-label": "Keys", onclose: () => dialog.remove() },
    element("h3", {}, "Keys"),
    element("dl", { class: "facts" }, ...rows),
    element("form", { method: "dialog", class: "controls" }, element("button", {}, "Close")),
  ));
  document.body.append(dialog);
  dialog.showModal();
}

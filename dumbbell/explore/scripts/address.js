// @ts-check
// What is shown stands in the address: `#view?name=value&…`. So links, and the back button, work.

/** @typedef {"runs" | "compare" | "run" | "study" | "edit"} ViewName */
const VIEWS = /** @type {ViewName[]} */ (["runs", "compare", "run", "study", "edit"]);

/** @returns {{view: ViewName, params: URLSearchParams}} */
function address() {
  const [name, query] = location.hash.slice(1).split("?");
  const view = VIEWS.find((one) => one === name) ?? "runs";
  return { view, params: new URLSearchParams(query ?? "") };
}

/** @param {ViewName} view @param {URLSearchParams | Record<string, string>} params */
const linkTo = (view, params) => `#${view}?${new URLSearchParams(params)}`;

/**
 * Shows something else. A step that is only typed or zoomed replaces the address.
 * @param {ViewName} view @param {URLSearchParams | Record<string, string>} params @param {boolean} replace
 */
function go(view, params, replace = false) {
  const hash = linkTo(view, params);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else location.hash = hash;
}

/** Changes some names in the address; empty values leave them out. @param {Record<string, string>} changes @param {boolean} replace */
function change(changes, replace = false) {
  const { view, params } = address();
  for (const [name, value] of Object.entries(changes)) {
    if (value) params.set(name, value);
    else params.delete(name);
  }
  go(view, params, replace);
}

/** Runs that are chosen for comparison; they stay over views. @type {Map<string, string>} run → words */
const chosenRuns = new Map();
/** Event of the document: other runs are chosen. */
const CHOSEN = "chosen-runs";
/** Words of runs that were looked at. @type {Map<string, string>} run → words */
const runWords = new Map();

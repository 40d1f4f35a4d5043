// @ts-check
// List of runs or cells.

const PAGE_ROWS = 100;

/** @param {Shell} shell @param {URLSearchParams} params @returns {Shown} */
function runsView(shell, params) {
  const experiment = shell.experiment(params);
  const by = params.get("by") === "cells" ? "cells" : "runs";
  const status = element("p", { class: "faint", role: "status" });
  const problem = element("p", { class: "bad", role: "alert" });
  const rows = element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": by === "cells" ? "Cells" : "Runs" });
  const pages = element("div", { class: "controls" });
  const chosen = element("div", { class: "controls", "aria-live": "polite" });
  const input = /** @type {HTMLInputElement} */ (element("input", {
    type: "search", id: "filter", placeholder: "cc = cubic and rtt >= 20 ms", "aria-label": "Filter", size: "34", spellcheck: "false", autocomplete: "off",
  }));
  input.value = params.get("filter") ?? "";
  /** @type {number | undefined} */
  let typing;
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      change({ filter: input.value, start: "" }, true);
      void load();
    }, 180);
  });
  const toggle = (/** @type {"runs" | "cells"} */ name, /** @type {string} */ words) =>
    element("button", { type: "button", "aria-pressed": String(by === name), onclick: () => change({ by: name, start: "", sort: "" }) }, words);
  const folds = element("div", { class: "folds" });
  const node = element(
    "div",
    {},
    element("div", { class: "controls" }, element("span", { class: "chips plain", role: "group", "aria-label": "Rows" }, toggle("runs", "Runs"), toggle("cells", "Cells")), input, downloads(experiment)),
    problem,
    folds,
    chosen,
    status,
    rows,
    pages,
  );
  let asking = new AbortController();
  /** @type {any} */
  let answer = null;

  const question = () => {
    const asked = new URLSearchParams(address().params);
    asked.set("experiment", experiment);
    asked.set("count", String(PAGE_ROWS));
    return asked;
  };
  async function load() {
    asking.abort();
    asking = new AbortController();
    try {
      answer = await ask("list", question(), asking.signal);
      problem.textContent = "";
      draw();
    } catch (error) {
      if (!isAborted(error)) problem.textContent = errorWords(error);
    }
  }

  /** @param {string} name */
  function order(name) {
    const now = address().params;
    const same = now.get("sort") === name;
    const number = answer.numbers.includes(name);
    const down = same ? now.get("down") !== "1" : number;
    change({ sort: name, down: down ? "1" : "", start: "" });
  }

  function draw() {
    const now = address().params;
    const sort = now.get("sort");
    const shown = answer.columns.map((/** @type {string} */ name, /** @type {number} */ place) => ({ name, place })).filter((/** @type {Row} */ one) => one.name !== "run");
    const isNumber = new Set(answer.numbers);
    const head = shown.map((/** @type {Row} */ { name }) => {
      const sorted = sort === name ? (now.get("down") === "1" ? "descending" : "ascending") : "none";
      const sign = sorted === "none" ? "" : sorted === "descending" ? " ▾" : " ▴";
      return element("th", { class: isNumber.has(name) ? "number" : undefined, "aria-sort": sorted, scope: "col" },
        element("button", { type: "button", class: "head", onclick: () => order(name), title: `Sort by ${name}` }, (answer.labels[name] ?? COLUMN_WORDS[name] ?? name) + sign));
    });
    const body = answer.rows.map((/** @type {any[]} */ row) => {
      const run = row[0];
      const words = shown.filter((/** @type {Row} */ one) => one.name in answer.factors || one.name === "repeat").map((/** @type {Row} */ one) => (one.name === "repeat" ? `repeat ${row[one.place]}` : String(row[one.place]))).join(", ") || "run";
      const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", "aria-label": `Choose ${words}`, onchange: () => choose(run, words, box.checked) }));
      box.checked = chosenRuns.has(run);
      const cells = shown.map((/** @type {Row} */ { name, place }) => element("td", { class: isNumber.has(name) ? "number" : undefined }, shownValue(row[place])));
      const link = element("a", { href: linkTo("run", { ...shell.named(experiment), run }), "aria-label": `Open ${words}` }, "open");
      return element("tr", { class: box.checked ? "chosen" : undefined }, element("td", {}, box, " ", link), ...cells);
    });
    const keep = rows.contains(document.activeElement) ? document.activeElement?.textContent : null;
    rows.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "choose"), ...head)), element("tbody", {}, ...body)));
    if (keep) /** @type {HTMLElement | undefined} */ ([...rows.querySelectorAll("button.head")].find((one) => one.textContent?.replace(/ [▾▴]$/, "") === keep.replace(/ [▾▴]$/, "")))?.focus();
    const what = by === "cells" ? "cells" : "runs";
    status.textContent = answer.total === answer.all || by === "cells" ? `${answer.total} ${what}` : `${answer.total} of ${answer.all} ${what}`;
    drawPages();
    drawChosen();
    if (!folds.childElementCount) folds.append(...filterFolds(answer, () => void load()));
  }

  function drawPages() {
    const [start, total] = [answer.start, answer.total];
    if (total <= PAGE_ROWS) {
      pages.replaceChildren();
      return;
    }
    const to = (/** @type {number} */ at) => () => change({ start: at > 0 ? String(at) : "" });
    const button = (/** @type {string} */ words, /** @type {number} */ at, /** @type {boolean} */ off) => element("button", { type: "button", onclick: to(at), disabled: off }, words);
    pages.replaceChildren(
      button("First", 0, start === 0),
      button("Before", Math.max(0, start - PAGE_ROWS), start === 0),
      element("span", { class: "faint" }, `${start + 1}–${Math.min(total, start + PAGE_ROWS)} of ${total}`),
      button("Next", start + PAGE_ROWS, start + PAGE_ROWS >= total),
      button("Last", Math.floor((total - 1) / PAGE_ROWS) * PAGE_ROWS, start + PAGE_ROWS >= total),
    );
  }

  /** @param {string} run @param {string} words @param {boolean} on */
  function choose(run, words, on) {
    if (on) chosenRuns.set(run, words);
    else chosenRuns.delete(run);
    draw();
  }
  function drawChosen() {
    const count = chosenRuns.size;
    document.dispatchEvent(new Event(CHOSEN));
    const all = element("button", { type: "button", onclick: () => {
      for (const row of answer.rows.slice(0, 20)) chosenRuns.set(row[0], row.slice(1, 1 + Object.keys(answer.factors).length + 1).join(", "));
      draw();
    } }, `Choose the first ${Math.min(20, answer.rows.length)}`);
    chosen.replaceChildren(
      ...(count
        ? [
            element("a", { class: "button", href: linkTo("compare", { ...shell.named(experiment), runs: [...chosenRuns.keys()].join(",") }) }, `Compare ${count} (c)`),
            element("button", { type: "button", onclick: () => { chosenRuns.clear(); draw(); } }, "Choose none"),
          ]
        : [all]),
    );
  }
  void load();
  return {
    node,
    refresh: load,
    keys: {
      find: () => input.focus(),
      compare: () => {
        if (chosenRuns.size) go("compare", { ...shell.named(experiment), runs: [...chosenRuns.keys()].join(",") });
      },
      next: () => answer && answer.start + PAGE_ROWS < answer.total && change({ start: String(answer.start + PAGE_ROWS) }),
      previous: () => answer?.start && change({ start: answer.start > PAGE_ROWS ? String(answer.start - PAGE_ROWS) : "" }),
    },
  };
}

const COLUMN_WORDS = /** @type {Record<string, string>} */ ({ wall_s: "took (s)", packets: "packets", repeats: "repeats", seed: "seed", repeat: "repeat" });

/** @param {any} value */
function shownValue(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1e4 ? 6 : 4, maximumFractionDigits: 6 });
}

/** Links that save the rows of the list. @param {string} experiment */
function downloads(experiment) {
  const save_ = (/** @type {string} */ format) => () => {
    const asked = new URLSearchParams(address().params);
    asked.set("experiment", experiment);
    asked.set("format", format);
    if (chosenRuns.size) asked.set("runs", [...chosenRuns.keys()].join(","));
    location.assign(`/api/download?${asked}`);
  };
  return element("span", { class: "chips plain", role: "group", "aria-label": "Save rows" },
    element("button", { type: "button", onclick: save_("csv") }, "CSV"), element("button", { type: "button", onclick: save_("parquet") }, "Parquet"));
}

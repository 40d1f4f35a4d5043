// @ts-check
// Study: cells beside what was published, those that differ most first.

/** @param {Shell} shell @param {URLSearchParams} params @returns {Shown} */
function studyView(shell, params) {
  const node = element("div", {}, element("p", { class: "faint", role: "status" }, "The study is judged …"));
  const why = element("div", {});
  const keyOf = (/** @type {Row} */ cell) => `${cell.table}/${cell.row}/${cell.column}`;
  /** @type {any} */
  let found = null;
  const start = async () => {
    try {
      found = await ask("study", {});
    } catch (error) {
      node.replaceChildren(element("p", { role: "alert" }, errorWords(error)));
      return;
    }
    draw();
  };
  function draw() {
    const now = address().params;
    const chosen = now.get("cell") ?? "";
    const sort = now.get("sort") ?? "difference";
    const cells = [...found.cells];
    if (sort === "where") cells.sort((a, b) => `${a.quantity} ${a.where}`.localeCompare(`${b.quantity} ${b.where}`));
    const rows = cells.map((cell) => {
      const open = () => change({ cell: keyOf(cell) });
      return element("tr", { class: keyOf(cell) === chosen ? "chosen" : undefined, onclick: open },
        element("td", {}, element("button", { type: "button", class: "link", onclick: (/** @type {Event} */ event) => { event.stopPropagation(); open(); } }, cell.where.join(", "))),
        element("td", {}, cell.quantity),
        element("td", { class: "number" }, shownValue(cell.published)),
        element("td", { class: "number" }, shownValue(cell.measured)),
        element("td", { class: "number" }, cell.low === null ? "–" : `${shownValue(cell.low)} to ${shownValue(cell.high)}`),
        element("td", { class: "number" }, `${cell.difference >= 0 ? "+" : "−"}${(100 * Math.abs(cell.difference)).toPrecision(3)} %`));
    });
    const head = (/** @type {string} */ words, /** @type {string} */ name, number = true) =>
      element("th", { class: number ? "number" : undefined, scope: "col", "aria-sort": sort === name ? "descending" : undefined },
        name ? element("button", { type: "button", class: "head", onclick: () => change({ sort: name }) }, words) : words);
    node.replaceChildren(
      element("h2", { class: "first" }, found.title),
      element("p", { class: "lead" }, found.question),
      element("h3", {}, "Cells beside what was published"),
      element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": "Cells beside what was published" },
        element("table", {}, element("thead", {}, element("tr", {}, head("cell", "where", false), head("quantity", "", false), head("published", ""), head("measured", ""), head("95 %", ""), head("difference", "difference"))), element("tbody", {}, ...rows))),
      why,
      element("h3", {}, "Claims"),
      element("div", {}, ...found.claims.map(claimPart)),
      element("h3", {}, "Figures"),
      ...found.figures.map((/** @type {Row} */ one) => figurePart(one.name, one.title)),
    );
    const cell = found.cells.find((/** @type {Row} */ one) => keyOf(one) === chosen);
    if (cell) void showWhy(cell);
    else why.replaceChildren();
  }

  /** @param {Row} cell */
  async function showWhy(cell) {
    const panel = element("section", { class: "panel", "aria-label": "Why this cell differs", tabindex: "-1" }, element("p", { class: "faint" }, "…"));
    why.replaceChildren(panel);
    try {
      const told = await ask("why", { table: cell.table, row: String(cell.row), column: cell.column });
      const named = shell.named(told.experiment);
      const levels = Object.entries(told.levels).map(([name, level]) => `${name} ${level}`).join(", ");
      panel.replaceChildren(
        element("h3", {}, `${levels}: ${told.quantity}`),
        element("p", {}, `Published ${shownValue(cell.published)}, measured ${shownValue(cell.measured)}.`),
        ...(told.sentences.length ? [element("ul", { class: "findings" }, ...told.sentences.map((/** @type {string} */ one) => element("li", {}, one)))] : []),
        ...told.claims.map(claimPart),
        element("div", { class: "controls" },
          element("a", { class: "button", href: linkTo("run", { ...named, run: told.runs[0] ?? "" }) }, "Open its first run"),
          element("a", { class: "button", href: linkTo("compare", { ...named, runs: told.runs.join(",") }) }, told.runs.length === 1 ? "Compare its run" : `Compare its ${told.runs.length} runs`)),
        ...told.figures.map((/** @type {string} */ name) => figurePart(name, found.figures.find((/** @type {Row} */ one) => one.name === name)?.title ?? "")),
      );
      panel.scrollIntoView({ block: "nearest" });
    } catch (error) {
      panel.replaceChildren(element("p", { role: "alert" }, errorWords(error)));
    }
  }
  return { node, start, refresh: start, keys: {} };
}

/** @param {Row} claim */
function claimPart(claim) {
  const kind = claim.verdict.replaceAll(" ", "-");
  return element("div", { class: "claim" },
    element("span", { class: "id" }, claim.id),
    element("div", {},
      element("p", {}, claim.text),
      element("p", { class: `verdict ${kind}` }, `${claim.verdict}: ${claim.measured}${claim.where ? ` (${claim.where} decides)` : ""}`),
      ...(claim.note ? [element("p", { class: "faint" }, claim.note)] : []),
      ...claim.references.map((/** @type {string} */ one) => element("p", { class: "faint" }, one)),
      ...(claim.causes.length ? [element("ul", { class: "causes" }, ...claim.causes.map((/** @type {Row} */ one) => element("li", {}, `${one.text} ${one.outcome}`)))] : [])));
}

/** A figure with links that save it. @param {string} name @param {string} title */
function figurePart(name, title) {
  const to = (/** @type {string} */ format) => `/api/figure?${new URLSearchParams({ name, format, theme: dark() ? "dark" : "light" })}`;
  const image = /** @type {HTMLImageElement} */ (element("img", { src: to("svg"), alt: `Figure ${name}: ${title}`, loading: "lazy", class: "drawn" }));
  const links = ["svg", "png", "csv"].map((format) => element("a", { class: "button", href: to(format), download: `figure-${name.replaceAll(".", "-")}.${format}` }, format.toUpperCase()));
  return element("figure", {}, element("h4", {}, `Figure ${name}: ${title}`), image, element("div", { class: "controls", role: "group", "aria-label": `Save figure ${name}` }, ...links));
}

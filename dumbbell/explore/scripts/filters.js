// @ts-check
// Levels of factors and metrics to tick.

/** @param {any} answer @param {() => void} load @returns {HTMLElement[]} */
function filterFolds(answer, load) {
  const now = address().params;
  const folds = Object.entries(/** @type {Record<string, string[]>} */ (answer.factors)).map(([factor, levels]) => {
    const asked = now.getAll(`f.${factor}`);
    const boxes = levels.map((level) => {
      const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", value: level }));
      box.checked = !asked.length || asked.includes(level);
      return box;
    });
    const summary = element("summary", {}, "");
    const write = () => {
      const on = boxes.filter((box) => box.checked).length;
      summary.textContent = on === levels.length ? factor : `${factor} (${on} of ${levels.length})`;
    };
    const tick = () => {
      const { view, params } = address();
      params.delete(`f.${factor}`);
      params.delete("start");
      const on = boxes.filter((box) => box.checked);
      if (on.length < levels.length) for (const box of on) params.append(`f.${factor}`, box.value);
      if (!on.length) params.append(`f.${factor}`, "");
      go(view, params, true);
      write();
      load();
    };
    for (const box of boxes) box.addEventListener("change", tick);
    write();
    const only = (/** @type {boolean} */ on) => () => {
      for (const box of boxes) box.checked = on;
      tick();
    };
    return element("details", { class: "fold" }, summary,
      element("div", { class: "ticks", role: "group", "aria-label": factor },
        element("button", { type: "button", class: "link", onclick: only(true) }, "all"), element("button", { type: "button", class: "link", onclick: only(false) }, "none"),
        ...boxes.map((box, number) => element("label", {}, box, " ", levels[number]))));
  });
  return [...folds, metricFold(answer)];
}

/** Metrics that are columns. @param {any} answer */
function metricFold(answer) {
  const shown = new Set(/** @type {string[]} */ (answer.metrics));
  const groups = facts.metrics.map((/** @type {Row} */ { subject, metrics }) =>
    element("fieldset", {}, element("legend", {}, subject),
      ...metrics.map((/** @type {[string, string]} */ [name, label]) => {
        const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", onchange: () => {
          if (box.checked) shown.add(name);
          else shown.delete(name);
          change({ metrics: [...shown].join(",") || "goodput_mbps", start: "" });
        } }));
        box.checked = shown.has(name);
        return element("label", {}, box, " ", label);
      })));
  return element("details", { class: "fold" }, element("summary", {}, `Metrics (${shown.size})`), element("div", { class: "ticks metrics" }, ...groups));
}

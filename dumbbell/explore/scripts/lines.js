// @ts-check
// Charts over time on one axis: drag to zoom, arrows to move. Each zoom asks the server for what is shown.

/** @typedef {{label: string, stroke: string, dash?: number[]}} Look */
/**
 * @typedef {{
 *   experiment: string, runs: string[], quantities: string[],
 *   look: (line: {run: string, name: string}, number: number, lines: Lines) => Look,
 *   window: [number, number] | null,
 *   moved: (window: [number, number] | null) => void,
 *   picked?: (time: number, line: {run: string, name: string}) => void,
 *   marks?: () => {time_s: number, flow: string, state: string}[],
 * }} LinesWanted
 */

const CHART_HEIGHT = 190;
/** Lines of a legend that is shown whole; a longer one scrolls. */
const LEGEND_LINES = 6;

/** Charts that are shown now, for keys. @type {{zoom: (factor: number) => void, shift: (share: number) => void, all: () => void} | null} */
let shownLines = null;

/**
 * @param {LinesWanted} wanted
 * @returns {{node: HTMLElement, again: () => Promise<void>, charts: () => {title: string, plot: any}[]}}
 */
function linkedLines(wanted) {
  const place = element("div", { class: "lines" });
  const note = element("p", { class: "faint", role: "status" });
  const bar = element(
    "div",
    { class: "controls" },
    tool("−", "Zoom out (-)", () => zoom(2)),
    tool("+", "Zoom in (+)", () => zoom(0.5)),
    tool("‹", "Earlier (←)", () => shift(-0.5)),
    tool("›", "Later (→)", () => shift(0.5)),
    tool("All", "Show all of the time (0)", () => move(null)),
    element("span", { class: "faint hint" }, "Drag over a chart to zoom, double-click to show all."),
  );
  const node = element("section", { "aria-label": "Charts over time" }, bar, note, place);
  /** @type {Map<string, {holder: HTMLElement, title: HTMLElement, plot: () => any, shape: string, lines: Lines}>} */
  const made = new Map();
  /** @type {[number, number] | null} */
  let window_ = wanted.window;
  /** @type {[number, number]} */
  let whole = [0, 1];
  let asking = new AbortController();
  const sync = `lines-${Math.random()}`;

  /** @param {[number, number] | null} next */
  function move(next) {
    const least = (whole[1] - whole[0]) * 1e-7;
    if (next) {
      const length = Math.min(Math.max(next[1] - next[0], least), whole[1] - whole[0]);
      const from = Math.min(Math.max(next[0], whole[0]), whole[1] - length);
      next = length >= (whole[1] - whole[0]) * 0.9999 ? null : [from, from + length];
    }
    window_ = next;
    wanted.moved(next);
    void again();
  }
  const now = () => window_ ?? whole;
  /** @param {number} factor */
  function zoom(factor) {
    const [from, to] = now();
    const [middle, half] = [(from + to) / 2, ((to - from) / 2) * factor];
    move([middle - half, middle + half]);
  }
  /** @param {number} share */
  function shift(share) {
    const [from, to] = now();
    move([from + (to - from) * share, to + (to - from) * share]);
  }

  async function again() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const pixels = String(Math.max(280, place.clientWidth || 900));
    /** @type {Record<string, string>} */
    const span = window_ ? { from: String(window_[0]), to: String(window_[1]) } : {};
    try {
      const found = await Promise.all(
        wanted.quantities.map((quantity) =>
          askLines({ experiment: wanted.experiment, runs: wanted.runs.join(","), quantity, pixels, ...span }, signal),
        ),
      );
      whole = found.reduce(
        (ends, one) => (one.lines.length ? [Math.min(ends[0], one.whole[0]), Math.max(ends[1], one.whole[1])] : ends),
        /** @type {[number, number]} */ ([Infinity, -Infinity]),
      );
      if (!(whole[1] > whole[0])) whole = [0, 1];
      found.forEach(show);
      const left = Math.max(0, ...found.map((one) => one.left_out));
      const empty = found.every((one) => !one.lines.length);
      note.textContent = empty
        ? "Nothing over time was kept of these runs: `sampling: {keep: [samples, queues]}` in the file keeps it."
        : left ? `${left} more lines are not drawn.` : "";
      place.dataset.drawn = String(Number(place.dataset.drawn ?? 0) + 1);
      place.dataset.window = now().join(" ");
    } catch (error) {
      if (!isAborted(error)) note.textContent = errorWords(error);
    }
  }

  /** @param {Lines} lines */
  function show(lines) {
    const shape = JSON.stringify([lines.lines]);
    const before = made.get(lines.quantity);
    const data = [Array.from(lines.times), ...lines.values];
    if (before && before.shape === shape) {
      before.lines = lines;
      before.plot().setData(data, false);
      before.plot().setScale("x", { min: now()[0], max: now()[1] });
      return;
    }
    const title = before?.title ?? element("h3", {}, lines.label);
    const holder = before?.holder ?? element("div", { class: "plot" });
    if (!before) place.append(title, holder);
    holder.replaceChildren();
    title.hidden = holder.hidden = !lines.lines.length;
    if (!lines.lines.length) {
      made.delete(lines.quantity);
      if (before) made.set(lines.quantity, { ...before, shape: "" });
      title.remove();
      holder.remove();
      made.delete(lines.quantity);
      return;
    }
    const many = lines.lines.length > LEGEND_LINES;
    const looks = lines.lines.map((line, number) => () => wanted.look(line, number, lines));
    const options = {
      height: CHART_HEIGHT,
      keep: true,
      scales: { x: { range: () => now() }, y: { range: (/** @type {any} */ _, /** @type {number | null} */ least, /** @type {number | null} */ most) => [Math.min(0, least ?? 0), Math.max((most ?? 1) * 1.06, 1e-3)] } },
      axes: [{ size: 30 }, { size: 58 }],
      series: [
        { label: "s", value: (/** @type {any} */ _, /** @type {number | null} */ v) => (v == null ? "–" : v.toFixed(4)) },
        ...looks.map((look) => () => ({
          ...look(),
          width: 1.4,
          spanGaps: true,
          points: { show: false },
          value: (/** @type {any} */ _, /** @type {number | null} */ v) => (v == null ? "–" : String(+v.toPrecision(4))),
        })),
      ],
      cursor: { sync: { key: sync }, drag: { x: true, y: false, setScale: false }, y: false },
      hooks: {
        ready: [
          (/** @type {any} */ plot) => {
            listen(plot, lines.quantity);
            if (many) plot.root.querySelector(".u-legend")?.setAttribute("tabindex", "0");
          },
        ],
        setSelect: [
          (/** @type {any} */ plot) => {
            if (plot.select.width < 4) return;
            const [left, right] = [plot.select.left, plot.select.left + plot.select.width];
            const next = /** @type {[number, number]} */ ([plot.posToVal(left, "x"), plot.posToVal(right, "x")]);
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            move(next);
          },
        ],
        draw: [(/** @type {any} */ plot) => drawMarks(plot)],
      },
    };
    const plot = chart(holder, options, data);
    holder.classList.toggle("many", many);
    const label = `${lines.label}, ${lines.lines.length} ${lines.lines.length === 1 ? "line" : "lines"}`;
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", label);
    made.set(lines.quantity, { holder, title, plot, shape, lines });
  }

  /** @param {any} plot @param {string} quantity */
  function listen(plot, quantity) {
    plot.over.addEventListener("dblclick", () => move(null));
    let pressed = 0;
    plot.over.addEventListener("mousedown", (/** @type {MouseEvent} */ event) => {
      pressed = event.clientX;
    });
    plot.over.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const lines = made.get(quantity)?.lines;
      if (!wanted.picked || !lines || Math.abs(event.clientX - pressed) > 4) return;
      const box = plot.over.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const index = plot.posToIdx(x);
      let [nearest, least] = [0, Infinity];
      lines.values.forEach((values, number) => {
        const value = values[index] ?? values[index - 1] ?? values[index + 1];
        const away = value == null ? Infinity : Math.abs(plot.valToPos(value, "y") - y);
        if (away < least) [nearest, least] = [number, away];
      });
      wanted.picked(plot.posToVal(x, "x"), lines.lines[nearest]);
    });
  }

  /** Short lines at the foot where a flow lost or waited. @param {any} plot */
  function drawMarks(plot) {
    const marks = wanted.marks?.() ?? [];
    const pen = /** @type {CanvasRenderingContext2D} */ (plot.ctx);
    const { left, top, width, height } = plot.bbox;
    pen.save();
    for (const mark of marks) {
      const x = plot.valToPos(mark.time_s, "x", true);
      if (x < left || x > left + width) continue;
      pen.fillStyle = mark.state === "Loss" ? themed("--bad") : themed("--noise");
      pen.fillRect(x, top + height - 9 * devicePixelRatio, 1.4 * devicePixelRatio, 9 * devicePixelRatio);
    }
    pen.restore();
  }

  shownLines = { zoom, shift, all: () => move(null) };
  return { node, again, charts: () => [...made.values()].map(({ title, plot }) => ({ title: title.textContent ?? "", plot: plot() })) };
}

/** @param {string} words @param {string} title @param {() => void} act */
const tool = (words, title, act) => element("button", { type: "button", title, "aria-label": title, onclick: act }, words);

/** Dashes of lines beyond the colours. */
const LINE_DASHES = [undefined, [7, 3], [2, 2], [10, 3, 2, 3]];
/** Colour and dashes of the n-th line. @param {number} number */
const lookOf = (number) => ({ stroke: flowColour(number), dash: LINE_DASHES[Math.floor(number / PALETTE.length) % LINE_DASHES.length] });

/** Buttons that choose which quantities are drawn. @param {string[]} shown @param {(names: string[]) => void} choose */
function quantityChips(shown, choose) {
  const chips = facts.quantities.map((/** @type {Row} */ one) =>
    element(
      "button",
      {
        type: "button",
        "aria-pressed": String(shown.includes(one.name)),
        onclick: () => {
          const next = shown.includes(one.name) ? shown.filter((name) => name !== one.name) : [...shown, one.name];
          if (next.length) choose(next);
        },
      },
      one.label.replace(/ \(.*\)$/, ""),
    ),
  );
  return element("details", { class: "fold" }, element("summary", {}, "Charts"), element("div", { class: "chips", role: "group", "aria-label": "Charts" }, ...chips));
}
/** Charts that are shown unless others are chosen. */
const DEFAULT_QUANTITIES = ["cwnd", "goodput", "rtt", "queue"];
/** Names in the address, or those. @param {URLSearchParams} params */
const quantitiesOf = (params) => {
  const known = facts.quantities.map((/** @type {Row} */ one) => one.name);
  const asked = (params.get("charts") ?? "").split(",").filter((name) => known.includes(name));
  return asked.length ? asked : DEFAULT_QUANTITIES;
};
/** Stretch of time in the address. @param {URLSearchParams} params @returns {[number, number] | null} */
function windowOf(params) {
  const [from, to] = [Number.parseFloat(params.get("from") ?? ""), Number.parseFloat(params.get("to") ?? "")];
  return from < to ? [from, to] : null;
}
/** @param {[number, number] | null} window_ */
const windowParams = (window_) => ({ from: window_ ? window_[0].toPrecision(10) : "", to: window_ ? window_[1].toPrecision(10) : "" });

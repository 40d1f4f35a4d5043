// Draws the charts of a page: each `.chart` holds its specification as JSON and a static drawing,
// which is replaced by an interactive one in the width and the theme of the page. Drawn when it
// comes near the view, and again when the width or the theme changes.
const dark = matchMedia("(prefers-color-scheme: dark)");

/** The theme that the page asks for: its own choice, or that of the system. */
function theme() {
  return document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
}

/** Breaks the rows of legends that are wider than the chart. */
function fitLegends(spec, width) {
  for (const { legend, scale } of Object.values(spec.encoding ?? {})) {
    if (!legend || !scale?.domain) continue;
    const entry = 34 + 7 * Math.max(...scale.domain.map((name) => String(name).length));
    const room = width - 40;
    const fits = entry * scale.domain.length <= room;
    legend.columns = fits ? 0 : Math.max(1, Math.floor(room / entry));
  }
  const parts = [...(spec.layer ?? []), ...(spec.spec ? [spec.spec] : [])];
  for (const part of parts) fitLegends(part, width);
}

/** The specification for a width in pixels, as `Figure.specification` does it in Python. */
function specification(chart, width) {
  const spec = JSON.parse(chart.querySelector("script").textContent);
  const panels = Number(chart.dataset.panels);
  const narrow = width < 560;
  if (narrow) fitLegends(spec, width);
  if (panels > 1) {
    const columns = narrow ? 1 : 2;
    spec.columns = columns;
    spec.spec.width = Math.floor(width / columns) - (narrow ? 56 : 64);
    spec.spec.height = narrow ? 150 : 190;
  } else {
    spec.width = width - 70;
    const height = Number(chart.dataset.height);
    spec.height = narrow ? Math.round(0.8 * height) : height;
  }
  return spec;
}

/** The data of a specification and of its layers: texts of CSV. */
function tables(spec) {
  const own = [];
  const { values } = spec.data ?? {};
  if (typeof values === "string") own.push(values);
  else if (Array.isArray(values) && values.length) own.push(asCsv(values));
  const parts = [...(spec.layer ?? []), ...(spec.spec ? [spec.spec] : [])];
  for (const part of parts) own.push(...tables(part));
  return own;
}

function asCsv(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value) => {
    const text = String(value ?? "");
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows.map((row) => names.map((name) => row[name]))]
    .map((row) => `${row.map(cell).join(",")}\n`)
    .join("");
}

function save(text, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Buttons below a chart that save its data and its drawing. */
function offer(chart) {
  if (chart.nextElementSibling?.className === "offers") return;
  const bar = document.createElement("div");
  bar.className = "offers";
  const add = (words, action) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", action);
    bar.append(button);
  };
  const spec = JSON.parse(chart.querySelector("script").textContent);
  add("data (CSV)", () => save(tables(spec).join("\n"), "text/csv", `${chart.id}.csv`));
  const drawing = async () => save(await chart.view.toSVG(), "image/svg+xml", `${chart.id}.svg`);
  add("figure (SVG)", drawing);
  chart.after(bar); // not inside: the chart is an image to screen readers
}

async function draw(chart) {
  const width = Math.floor(chart.clientWidth);
  const wanted = `${width} ${theme()}`;
  if (width < 50 || chart.dataset.drawn === wanted) return;
  chart.dataset.drawn = wanted;
  const place = document.createElement("div");
  const options = {
    actions: false,
    renderer: "svg",
    config: DUMBBELL_THEMES[theme()],
    tooltip: { theme: theme() },
  };
  try {
    const view = await window.vegaEmbed(place, specification(chart, width), options);
    if (chart.dataset.drawn !== wanted) return view.finalize();
    chart.view?.finalize();
    chart.view = view;
    place.className = "drawing";
    place.ariaHidden = "true"; // the chart's label stands for it
    chart.querySelector(".drawing").replaceWith(place);
    offer(chart);
  } catch (error) {
    chart.querySelector(".drawing").classList.remove("static"); // it stays
    console.error(error);
  }
}

const near = new IntersectionObserver(
  (entries) => entries.filter((e) => e.isIntersecting).forEach((e) => draw(e.target)),
  { rootMargin: "600px" },
);
const charts = [...document.querySelectorAll(".chart")];
charts.forEach((chart) => near.observe(chart));

const again = () => charts.filter((c) => c.dataset.drawn).forEach(draw);
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(again, 150);
});
dark.addEventListener("change", again);
addEventListener("themechange", again);

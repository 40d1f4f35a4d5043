// Draws the charts of a page: each `.chart` holds its specification as JSON and a static drawing,
// which is replaced by an interactive one in the width and the theme of the page. Drawn when it
// comes near the view, and again when the width or the theme changes.
const dark = matchMedia("(prefers-color-scheme: dark)");

/** The theme that the page asks for: its own choice, or that of the system. */
function theme() {
  return document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
}

/** The specification for a width in pixels, as `Figure.specification` does it in Python. */
function specification(chart, width) {
  const spec = JSON.parse(chart.querySelector("script").textContent);
  const panels = Number(chart.dataset.panels);
  const narrow = width < 560;
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
    chart.querySelector(".drawing").replaceWith(place);
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

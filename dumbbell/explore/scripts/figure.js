// @ts-check
// Charts as SVG files: what uPlot shows, as shapes.

/** @param {number} value */
const coordinate = (value) => String(Math.round(value * 100) / 100);
/** @param {string} text */
const escapedText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/**
 * Charts that are shown, one below the other, as one SVG.
 * @param {{title: string, plot: any}[]} charts
 */
function chartsSvg(charts) {
  const [width, high, left, top, bottom] = [900, 250, 64, 30, 28];
  const ink = { ground: themed("--ground"), text: themed("--text"), faint: themed("--faint"), line: themed("--line") };
  /** @type {string[]} */
  const parts = [];
  charts.forEach(({ title, plot }, number) => {
    const y0 = number * high + top;
    const inner = { width: width - left - 16, height: high - top - bottom };
    const { x, y } = plot.scales;
    const atX = (/** @type {number} */ value) => left + ((value - x.min) / (x.max - x.min)) * inner.width;
    const atY = (/** @type {number} */ value) => y0 + inner.height - ((value - y.min) / (y.max - y.min || 1)) * inner.height;
    parts.push(`<text x="${left}" y="${y0 - 10}" fill="${ink.text}" font-weight="600">${escapedText(title)}</text>`);
    for (const value of ticks(y.min, y.max, 5)) {
      const at = coordinate(atY(value));
      parts.push(`<line x1="${left}" x2="${width - 16}" y1="${at}" y2="${at}" stroke="${ink.line}"/>`);
      parts.push(`<text x="${left - 8}" y="${at}" fill="${ink.faint}" text-anchor="end" dominant-baseline="central">${value}</text>`);
    }
    for (const value of ticks(x.min, x.max, 9)) {
      parts.push(`<text x="${coordinate(atX(value))}" y="${y0 + inner.height + 18}" fill="${ink.faint}" text-anchor="middle">${value}${number === charts.length - 1 ? " s" : ""}</text>`);
    }
    parts.push(`<clipPath id="c${number}"><rect x="${left}" y="${y0}" width="${inner.width}" height="${inner.height}"/></clipPath>`);
    plot.series.forEach((/** @type {any} */ series, /** @type {number} */ place) => {
      if (!place || !series.show) return;
      const points = [];
      for (let i = 0; i < plot.data[0].length; i++) {
        const value = plot.data[place][i];
        if (value !== null && value !== undefined) points.push(`${coordinate(atX(plot.data[0][i]))},${coordinate(atY(value))}`);
      }
      const dash = series.dash?.length ? ` stroke-dasharray="${series.dash.join(" ")}"` : "";
      parts.push(`<polyline clip-path="url(#c${number})" points="${points.join(" ")}" fill="none" stroke="${series.stroke()}" stroke-width="1.4"${dash}><title>${escapedText(series.label)}</title></polyline>`);
    });
  });
  const shown = charts[0]?.plot.series.slice(1).filter((/** @type {any} */ one) => one.show) ?? [];
  const rows = charts.length * high;
  shown.forEach((/** @type {any} */ series, /** @type {number} */ place) => {
    const y = rows + 18 + place * 20;
    parts.push(`<line x1="${left}" x2="${left + 26}" y1="${y}" y2="${y}" stroke="${series.stroke()}" stroke-width="2.4"/>`);
    parts.push(`<text x="${left + 34}" y="${y}" fill="${ink.text}" dominant-baseline="central">${escapedText(series.label)}</text>`);
  });
  const height = rows + 20 + shown.length * 20;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
    ` font-family="system-ui, sans-serif" font-size="12"><rect width="100%" height="100%" fill="${ink.ground}"/>${parts.join("")}</svg>`
  );
}

/** Round numbers in a range. @param {number} min @param {number} max @param {number} most */
function ticks(min, max, most) {
  const rough = (max - min) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const found = [];
  for (let at = Math.ceil(min / step) * step; at <= max + step * 1e-9; at += step) found.push(+at.toPrecision(12));
  return found;
}

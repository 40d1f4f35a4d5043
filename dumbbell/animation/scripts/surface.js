// @ts-check
// Where shapes go: a canvas, or the text of an SVG. Both draw the same.

/** @typedef {{fill?: string, stroke?: string, width?: number, alpha?: number, dash?: number[]}} Style */
/** @typedef {{fill: string, size: number, align?: "left" | "center" | "right", weight?: number, alpha?: number}} TextStyle */
/** @typedef {{shape: (points: number[], style: Style, open?: boolean) => void, disc: (x: number, y: number, r: number, style: Style) => void, text: (x: number, y: number, words: string, style: TextStyle) => void}} Surface */

const FONT = "system-ui, sans-serif";

/** @param {CanvasRenderingContext2D} context @returns {Surface} */
function canvasSurface(context) {
  /** @param {Style} style */
  const paint = (style) => {
    context.globalAlpha = style.alpha ?? 1;
    if (style.fill) {
      context.fillStyle = style.fill;
      context.fill();
    }
    if (style.stroke) {
      context.strokeStyle = style.stroke;
      context.lineWidth = style.width ?? 1;
      context.setLineDash(style.dash ?? []);
      context.stroke();
    }
  };
  return {
    shape(points, style, open) {
      context.beginPath();
      context.moveTo(points[0], points[1]);
      for (let i = 2; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
      if (!open) context.closePath();
      paint(style);
    },
    disc(x, y, r, style) {
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      paint(style);
    },
    text(x, y, words, style) {
      context.globalAlpha = style.alpha ?? 1;
      context.fillStyle = style.fill;
      context.font = `${style.weight ?? 400} ${style.size}px ${FONT}`;
      context.textAlign = style.align ?? "center";
      context.textBaseline = "middle";
      context.fillText(words, x, y);
    },
  };
}

/** @returns {Surface & {markup: (width: number, height: number, ground: string) => string}} */
function svgSurface() {
  /** @type {string[]} */
  const parts = [];
  const n = (/** @type {number} */ value) => String(Math.round(value * 100) / 100);
  const escaped = (/** @type {string} */ text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  /** @param {Style} style */
  const paint = (style) =>
    `fill="${style.fill ?? "none"}"` +
    (style.stroke ? ` stroke="${style.stroke}" stroke-width="${style.width ?? 1}"` : "") +
    (style.dash?.length ? ` stroke-dasharray="${style.dash.join(" ")}"` : "") +
    ((style.alpha ?? 1) < 1 ? ` opacity="${n(style.alpha ?? 1)}"` : "");
  return {
    shape(points, style, open) {
      const pairs = [];
      for (let i = 0; i < points.length; i += 2) pairs.push(`${n(points[i])},${n(points[i + 1])}`);
      parts.push(`<${open ? "polyline" : "polygon"} points="${pairs.join(" ")}" ${paint(style)}/>`);
    },
    disc(x, y, r, style) {
      parts.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${n(r)}" ${paint(style)}/>`);
    },
    text(x, y, words, style) {
      const anchor = { left: "start", center: "middle", right: "end" }[style.align ?? "center"];
      const alpha = (style.alpha ?? 1) < 1 ? ` opacity="${n(style.alpha ?? 1)}"` : "";
      parts.push(
        `<text x="${n(x)}" y="${n(y)}" fill="${style.fill}" font-size="${style.size}" font-weight="${style.weight ?? 400}"` +
          ` text-anchor="${anchor}" dominant-baseline="central"${alpha}>${escaped(words)}</text>`,
      );
    },
    markup(width, height, ground) {
      return (
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
        ` font-family="${FONT}"><rect width="100%" height="100%" fill="${ground}"/>${parts.join("")}</svg>`
      );
    },
  };
}

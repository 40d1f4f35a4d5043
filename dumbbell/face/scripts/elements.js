// @ts-check
// Elements of pages. The scripts of a page stand in one module, these first.

/** @typedef {Record<string, any>} Row */

const root = document.documentElement;
const main = /** @type {HTMLElement} */ (document.querySelector("#page"));

/**
 * @param {string} name
 * @param {Row} attributes `on…` listens; true sets an attribute without a value, false and undefined leave it out
 * @param {...(Node | string)} children
 */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    // A served page forbids style attributes, not styles that its program sets.
    else if (key === "style" && value) made.style.cssText = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Square in the colour of a series. @param {string} colour */
const swatchOf = (colour) => element("span", { class: "swatch", style: `background:${colour}` });

/** Saves a file. @param {string} name @param {Blob} blob */
function save(name, blob) {
  const link = /** @type {HTMLAnchorElement} */ (element("a", { href: URL.createObjectURL(blob), download: name }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Table that scrolls sideways where it does not fit. @param {string[]} head @param {(Node | string)[][]} rows @param {number} left columns of text */
function plainTable(head, rows, left = 1) {
  return element(
    "div",
    { class: "scroll", tabindex: 0 },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...head.map((h, n) => element("th", { class: n >= left ? "number" : undefined }, h)))),
      element(
        "tbody",
        {},
        ...rows.map((row) => element("tr", {}, ...row.map((c, n) => element("td", { class: n >= left ? "number" : undefined }, c)))),
      ),
    ),
  );
}

/** Names and values. @param {(readonly [string, any])[]} pairs */
const factsGrid = (pairs) =>
  element("div", { class: "facts-grid" }, ...pairs.map(([name, value]) => element("div", {}, element("span", {}, String(name)), element("b", {}, String(value)))));

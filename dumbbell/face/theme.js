// @ts-check
// The theme of the page: as the system's, or chosen by the button and remembered while it is open.
const root = document.documentElement;
const button = /** @type {HTMLButtonElement} */ (document.querySelector("#theme"));
/** @type {Record<string, string>} */
const names = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };
const order = ["", "light", "dark"];
button.hidden = false;
button.addEventListener("click", () => {
  const next = order[(order.indexOf(root.dataset.theme ?? "") + 1) % order.length];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  button.textContent = names[next];
  dispatchEvent(new Event("themechange"));
});

// What readers without a mouse or a screen need: levels of the captions' headings, and the keyboard's
// focus on what scrolls.
addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll('p.caption[role="heading"]')) one.setAttribute("aria-level", "2");
  for (const one of document.querySelectorAll("pre, .table-wrapper")) one.setAttribute("tabindex", "0");
});

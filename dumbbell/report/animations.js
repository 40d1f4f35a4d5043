// @ts-check
// Pages that this page contains, compressed: a link opens each in a tab of its own.
/** @param {string} text */
const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return URL.createObjectURL(await new Response(stream, { headers: { "content-type": "text/html" } }).blob());
};
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-page]"))) {
  link.addEventListener("click", async (event) => {
    if (link.target) return;
    event.preventDefault();
    const held = /** @type {HTMLElement} */ (document.getElementById(link.dataset.page ?? ""));
    link.href = await unpacked(held.textContent ?? "");
    link.target = "_blank";
    link.click();
  });
}

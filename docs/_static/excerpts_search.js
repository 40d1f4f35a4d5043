// A page of `file:` cannot fetch other pages. The search fetches them for excerpts: here it gets their
// texts from excerpts.js.
if (location.protocol === "file:") {
  const fetched = window.fetch;
  window.fetch = (address, ...rest) => {
    const name = String(address).replace(/^(\.\/)+/, "").replace(/\.html([#?].*)?$/, "");
    if (!Object.hasOwn(EXCERPTS, name)) return fetched(address, ...rest);
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    const [[, all], ...sections] = EXCERPTS[name];
    main.append(all);
    for (const [anchor, text] of sections) {
      const section = document.createElement("section");
      section.id = anchor;
      section.textContent = text;
      main.append(section);
    }
    return Promise.resolve(new Response(main.outerHTML));
  };
}

// A page of `file:` cannot fetch other pages. The search fetches them for excerpts: here it gets their
// texts from excerpts.js.
if (location.protocol === "file:") {
  const built = ([anchors, text, sections]) => {
    let part = document.createElement("div");
    part.append(text, "\n", ...sections.map(built));
    for (const anchor of anchors) {
      const outer = document.createElement("section");
      outer.id = anchor;
      outer.append(part);
      part = outer;
    }
    return part;
  };
  const fetched = window.fetch;
  window.fetch = (address, ...rest) => {
    const name = String(address).replace(/^(\.\/)+/, "").replace(/\.html([#?].*)?$/, "");
    if (!Object.hasOwn(EXCERPTS, name)) return fetched(address, ...rest);
    const main = built(EXCERPTS[name]);
    main.setAttribute("role", "main");
    return Promise.resolve(new Response(main.outerHTML));
  };
}

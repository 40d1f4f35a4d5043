// @ts-check
// The table of conversations.
/** Conversations: sorted by a click on a heading, filtered by a text, chosen by a click on a row. */
class Conversations {
  /** @param {Row} file @param {(number: number) => void} choose */
  constructor(file, choose) {
    this.file = file;
    this.choose = choose;
    this.sort = "bytes";
    this.down = true;
    this.protocol = file.conversations.some((/** @type {Row} */ c) => c.protocol === "tcp") ? "tcp" : "ip";
    this.filter = "";
    this.chosen = -1;
    /** @type {Row[]} */
    this.rows = file.conversations.map((/** @type {Row} */ c, /** @type {number} */ number) => this.row(c, number));
    this.columns = [
      ["a", "a"], ["b", "b"], ["there", "packets →"], ["thereBytes", "bytes →"], ["back", "packets ←"],
      ["backBytes", "bytes ←"], ["bytes", "bytes"], ["again", "retransmitted"], ["reordered", "reordered"], ["rtt", "RTT"], ["start", "from (s)"], ["seconds", "for (s)"],
    ];
    if (file.conversations.some((/** @type {Row} */ c) => c.tunnel)) this.columns.splice(2, 0, ["tunnel", "tunnel"]);
    this.node = element("div", {});
    this.show();
  }
  /** @param {Row} c @param {number} number */
  row(c, number) {
    const mine = this.file.connections.filter((/** @type {Row} */ one) => one.conversation === number);
    const first = mine.filter((/** @type {Row} */ one) => one.interface === mine[0].interface);
    const sum = (/** @type {string} */ name) => first.reduce((/** @type {number} */ all, /** @type {Row} */ one) => all + one[name], 0);
    return {
      number, protocol: c.protocol, a: end(c.address_a, c.port_a), b: end(c.address_b, c.port_b),
      there: c.packets_a_to_b, thereBytes: c.bytes_a_to_b, back: c.packets_b_to_a, backBytes: c.bytes_b_to_a,
      bytes: c.bytes_a_to_b + c.bytes_b_to_a, again: sum("retransmitted_packets"), reordered: sum("reordered_packets"),
      tunnel: c.tunnel ?? "", rtt: mine[0]?.handshake_rtt_ns ?? null,
      start: c.first_ns === null ? null : (c.first_ns - this.file.file.first_ns) / 1e9,
      seconds: c.first_ns === null ? null : (c.last_ns - c.first_ns) / 1e9,
    };
  }
  /** @param {Row} row @param {string} key */
  text(row, key) {
    const value = row[key];
    if (["thereBytes", "backBytes", "bytes"].includes(key)) return bytesText(value);
    if (key === "rtt") return ms(value);
    if (key === "seconds" || key === "start") return value === null ? "–" : value.toFixed(3);
    return String(value);
  }
  show() {
    const wanted = this.filter.toLowerCase();
    const rows = this.rows.filter((row) => row.protocol === this.protocol && `${row.a} ${row.b} ${row.tunnel}`.includes(wanted));
    const by = (/** @type {Row} */ row) => row[this.sort] ?? -1;
    rows.sort((one, other) => {
      const [p, q] = [by(one), by(other)];
      return (p < q ? -1 : p > q ? 1 : one.number - other.number) * (this.down ? -1 : 1);
    });
    const head = this.columns.map(([key, name], n) =>
      element("th", { class: n > 1 && key !== "tunnel" ? "number" : undefined, onclick: () => this.order(key) }, name + (key === this.sort ? (this.down ? " ▾" : " ▴") : "")),
    );
    const body = rows.slice(0, 1000).map((row) =>
      element(
        "tr",
        { class: row.number === this.chosen ? "chosen" : undefined, onclick: () => this.take(row.number) },
        ...this.columns.map(([key], n) => element("td", { class: n > 1 && key !== "tunnel" ? "number" : undefined }, this.text(row, key))),
      ),
    );
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
    const more = rows.length > 1000 ? [element("p", { class: "faint" }, `1000 of ${rows.length} are shown: filter them.`)] : [];
    this.node.replaceChildren(this.controls(rows.length), element("div", { class: "rows", tabindex: "0" }, table), ...more);
  }
  /** @param {number} count */
  controls(count) {
    const select = /** @type {HTMLSelectElement} */ (element(
      "select",
      { onchange: () => { this.protocol = select.value; this.show(); }, "aria-label": "protocol" },
      ...["tcp", "udp", "ip"].map((name) => element("option", { value: name }, { tcp: "TCP", udp: "UDP", ip: "hosts" }[name] ?? name)),
    ));
    select.value = this.protocol;
    const input = /** @type {HTMLInputElement} */ (element("input", {
      type: "search", placeholder: "address or port", "aria-label": "filter",
      oninput: () => { this.filter = input.value; this.show(); const again = this.node.querySelector("input"); again?.focus(); again?.setSelectionRange(999, 999); },
    }));
    input.value = this.filter;
    return element("div", { class: "controls" }, select, input, element("span", { class: "faint" }, `${count} conversations`));
  }
  /** @param {string} key */
  order(key) {
    this.down = key === this.sort ? !this.down : !["a", "b", "start"].includes(key);
    this.sort = key;
    this.show();
  }
  /** @param {number} number */
  take(number) {
    this.chosen = number;
    this.show();
    this.choose(number);
  }
}

// @ts-check
// Colours and words of captures. The scripts stand in one module, behind those of the face: see page.py for their order.

/** What a packet was, in the order of drawing: colours of light and dark ground. */
const KINDS = {
  new: ["sent", "#0b6fb8", "#63b3f2"],
  reordered: ["reordered", "#7a3fb0", "#c9a0f5"],
  duplicate: ["duplicate frame", "#7b8794", "#9aa6b5"],
  "keep-alive": ["keep-alive", "#7b8794", "#9aa6b5"],
  fast: ["retransmission: fast", "#c2251c", "#ff8a7a"],
  "time-out": ["retransmission: time-out", "#8a5a00", "#f0ad3d"],
  "tail loss probe": ["retransmission: tail loss probe", "#b8007a", "#ff8fd0"],
  "path MTU": ["retransmission: path MTU", "#d9480f", "#ffa066"],
  unreachable: ["retransmission: unreachable", "#5a3d1c", "#d8b48a"],
  handshake: ["retransmission: SYN", "#4b4b9b", "#a9a9ff"],
};
const OTHERS = {
  ack: ["acknowledged", "#00734f", "#4fd1a1"],
  window: ["window", "#98a2ad", "#5d6b7b"],
  icmp: ["ICMP error", "#d1495b", "#ff9dab"],
  sack: ["SACK block", "#5b8f00", "#a5d64c"],
};
const LADDER_MAX = 160;

/** @type {Row[]} */
const files = JSON.parse(document.querySelector("#data")?.textContent ?? "[]");

/** @param {string[]} entry */
const colour = (entry) => entry[dark() ? 2 : 1];
/** @param {string} address @param {number | null} port */
const end = (address, port) =>
  port === null ? address : address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;

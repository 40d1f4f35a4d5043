// @ts-check
// Explanations of incidents: cause, notice, reaction, repair, cost (dumbbell/explain).

/** @typedef {{step: string, time_ns: number, sentence: string}} ChainLink */
/** @typedef {{flow: number, from_ns: number, to_ns: number, sent: number[], answered: number[], links: ChainLink[]}} Incident */

/** @type {Incident[]} */
const incidents = header.explained;
/** Incident of a packet, by `flow:back:number`. */
const incidentOfPacket = new Map(
  incidents.flatMap((one, index) => [
    ...one.sent.map((number) => /** @type {[string, number]} */ ([`${one.flow}:0:${number}`, index])),
    ...one.answered.map((number) => /** @type {[string, number]} */ ([`${one.flow}:1:${number}`, index])),
  ]),
);

/** Incident in which a packet was dropped or retransmitted; -1: none. @param {number} packet */
const incidentOf = (packet) => incidentOfPacket.get(`${column.flow[packet]}:${column.back[packet]}:${column.number[packet]}`) ?? -1;

/** Incident of a flow at a time, the last that began; -1: none. @param {number} flow @param {number} time */
function incidentAt(flow, time) {
  let found = -1;
  incidents.forEach((one, index) => {
    if (one.flow === flow && one.from_ns <= time && time <= one.to_ns) found = index;
  });
  return found;
}

/**
 * The chain of an incident.
 * @param {number} index
 * @param {{seek: (time: number) => void}} act
 */
function why(index, act) {
  const { flow, links } = incidents[index];
  /** @type {Node[]} */
  const parts = [];
  /** @type {HTMLElement | undefined} */
  let list;
  let step = "";
  for (const link of links) {
    if (link.step !== step || !list) {
      step = link.step;
      list = element("ul", { class: "story" });
      parts.push(element("h4", {}, step[0].toUpperCase() + step.slice(1)), list);
    }
    list.append(element("li", {}, element("button", { class: "link", onclick: () => act.seek(link.time_ns) }, seconds(link.time_ns)), ` ${link.sentence}`));
  }
  return element("section", { class: "why" }, element("h3", {}, "Explanation for ", swatch(flow), flows[flow].name), ...parts);
}

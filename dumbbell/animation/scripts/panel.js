// @ts-check
// What stands beside the picture: the story of a packet, and what has just happened.

/**
 * The story of a packet.
 * @param {HTMLElement} place
 * @param {number} packet
 * @param {{seek: (time: number) => void, choose: (packet: number) => void, follow: (flow: number) => void}} act
 */
function tellStory(place, packet, act) {
  if (packet < 0) {
    place.replaceChildren(element("p", { class: "faint" }, `Click a packet to see when it was sent, where it waited and whether it arrived.${incidents.length ? " Click a drop, a time-out or a smaller window to see why it happened." : ""}`));
    return;
  }
  const flow = column.flow[packet];
  const rows = story(packet).map(({ time, words, bad }) => {
    const when = time < NEVER ? element("button", { class: "link", onclick: () => act.seek(time) }, seconds(time)) : "–";
    return element("li", bad ? { class: "bad" } : {}, when, ` ${words}`);
  });
  const others = sameBytes(packet);
  const again = others.length > 1 ? [element("p", {}, `These bytes were sent ${others.length} times:`)] : [];
  const list = others.length > 1
    ? [element("ol", {}, ...others.map((one) => {
        const last = lastHop(one);
        const fate = column.dropped[last] ? "dropped" : ended[last] < NEVER ? "arrived" : "under way";
        const words = `${seconds(offered[firstHop[one]])}, ${fate}`;
        const button = element("button", { class: "link", onclick: () => act.choose(one) }, words);
        return element("li", {}, one === packet ? element("strong", {}, words) : button);
      }))]
    : [];
  const way = column.back[packet] ? "back" : "out";
  place.replaceChildren(
    element("h3", {}, packetName(packet)),
    element("p", {}, swatch(flow), element("button", { class: "link", onclick: () => act.follow(flow) }, flows[flow].name), `, ${way}, ${column.bytes[packet]} bytes, packet ${column.number[packet]}`),
    element("ul", { class: "story" }, ...rows),
    ...again,
    ...list,
    ...(incidentOf(packet) >= 0 ? [why(incidentOf(packet), act)] : []),
  );
}

/**
 * The explanation of an incident without a packet: a smaller window.
 * @param {HTMLElement} place
 * @param {number} index
 * @param {{seek: (time: number) => void}} act
 */
function tellIncident(place, index, act) {
  place.replaceChildren(why(index, act));
}

/** @param {number} packet */
function lastHop(packet) {
  let hop = firstHop[packet];
  while (nextHop[hop] >= 0) hop = nextHop[hop];
  return hop;
}

/** @param {number} flow */
const swatch = (flow) => swatchOf(flowColour(flow));

/** Events around now: drops, time-outs, states, remarks. */
const told = (() => {
  /** @type {{time: number, flow: number, words: () => string, bad: boolean, packet: number}[]} */
  const all = [];
  for (const hop of dropHops) all.push({ time: ended[hop], flow: flowOf(hop), words: () => dropSentence(hop), bad: true, packet: column.packet[hop] });
  for (const hop of timeoutHops) {
    all.push({ time: offered[hop], flow: flowOf(hop), words: () => `${flows[flowOf(hop)].name}: time-out, ${packetName(column.packet[hop])} is retransmitted`, bad: true, packet: column.packet[hop] });
  }
  for (const { time_ns, flow, before, state } of header.states) {
    all.push({ time: time_ns, flow, words: () => `${flows[flow].name}: ${before ?? "begins"} → ${state}`, bad: false, packet: -1 });
  }
  for (const { time_ns, text } of header.remarks) all.push({ time: time_ns, flow: -1, words: () => text, bad: false, packet: -1 });
  return all.sort((a, b) => a.time - b.time);
})();
const LOG_BEFORE = 6;
const LOG_AFTER = 3;

/**
 * The events around a time; returns the number of the last one before it, or -1.
 * @param {HTMLElement} place
 * @param {number} time
 * @param {number} followed
 * @param {{seek: (time: number) => void, choose: (packet: number) => void, explain: (incident: number) => void}} act
 */
function tellEvents(place, time, followed, act) {
  const now = rank(told.length, (i) => told[i].time, time);
  const shown = [];
  const fits = (/** @type {number} */ i) => followed < 0 || told[i].flow < 0 || told[i].flow === followed;
  for (let i = now - 1; i >= 0 && shown.length < LOG_BEFORE; i--) if (fits(i)) shown.unshift(i);
  const past = shown.length;
  for (let i = now; i < told.length && shown.length < past + LOG_AFTER; i++) if (fits(i)) shown.push(i);
  const key = `${shown.join()}|${past}`;
  if (place.dataset.key === key) return; // So that what is focused or being clicked stays.
  place.dataset.key = key;
  const rows = shown.map((i, place) => {
    const one = told[i];
    const go = () => {
      act.seek(one.time);
      if (one.packet >= 0) act.choose(one.packet);
      else if (one.flow >= 0 && incidentAt(one.flow, one.time) >= 0) act.explain(incidentAt(one.flow, one.time));
    };
    const classes = [one.bad ? "bad" : "", place >= past ? "later" : place === past - 1 ? "last" : ""].join(" ").trim();
    const mark = one.flow >= 0 ? [swatch(one.flow)] : [];
    return element("li", { class: classes }, element("button", { class: "link", onclick: go }, seconds(one.time, 4)), " ", ...mark, one.words());
  });
  place.replaceChildren(...(rows.length ? rows : [element("li", { class: "faint" }, "No drop, time-out or change of state.")]));
}

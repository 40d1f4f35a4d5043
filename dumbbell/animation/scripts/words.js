// @ts-check
// Times, packets and what became of them, in words.

const REASONS = /** @type {Record<string, string>} */ ({
  overflow: "the queue was full",
  random: "random loss",
  scripted: "the experiment names it",
  policed: "the policer",
  corrupted: "damaged on the line",
  aqm: "the queue discipline told of congestion",
  filtered: "a later ACK tells all that it tells",
  link_down: "the link was down",
  queue: "in the queue",
  line: "on the line",
  unseen: "not seen further on",
});
const CAUSES = /** @type {Record<string, string>} */ ({
  fast: "fast retransmission",
  timeout: "retransmission after a time-out",
  probe: "tail loss probe",
  again: "retransmission",
});

/** @param {number} packet */
function packetName(packet) {
  const kind = header.kinds[column.kind[packet]];
  const seq = column.seq[packet];
  const payload = column.payload[packet];
  const flags = column.flags[packet];
  if (flags & 1) return column.back[packet] ? "SYN-ACK" : "SYN";
  if (kind === "ack") {
    const fin = flags & 2 ? "FIN, " : "";
    return column.ack[packet] >= 0 && header.counts === "bytes" ? `${fin}ACK ${column.ack[packet]}` : `${fin}ACK ${seq}`;
  }
  if (kind === "tcp" && header.counts === "bytes" && payload > 0) return `bytes ${seq}–${seq + payload - 1}`;
  if (kind === "tcp") return `segment ${seq}`;
  if (kind === "ping") return `${column.back[packet] ? "echo reply" : "echo request"} ${seq}`;
  return `datagram ${seq}`;
}

/** The nodes of a direction of a link, and its name where several join them. @param {number} pipe */
function pipeName(pipe) {
  const { from, to, name } = pipes[pipe];
  const same = pipes.filter((other) => other.from === from && other.to === to).length;
  const link = same > 1 ? ` (${name.replace(/\/[a-z]+$/, "")})` : "";
  return `${nodes[from].name} → ${nodes[to].name}${link}`;
}

/** @param {number} hop */
function dropWords(hop) {
  const reason = header.reasons[column.dropped[hop]];
  return REASONS[reason] ?? reason;
}

/** One sentence about a drop. @param {number} hop */
function dropSentence(hop) {
  const packet = column.packet[hop];
  const flow = flows[column.flow[packet]].name;
  return `${flow} lost ${packetName(packet)} at ${pipeName(column.pipe[hop])}: ${dropWords(hop)}`;
}

/** How many packets waited in a pipe when a hop began, itself not counted. @param {number} hop */
function aheadOf(hop) {
  const time = offered[hop];
  let count = 0;
  for (const other of hopsAt(time)) {
    if (column.pipe[other] === column.pipe[hop] && other !== hop && leaves[other] > time && other < hop) count++;
  }
  return count;
}

/**
 * The story of a packet: when, what.
 * @param {number} packet
 * @returns {{time: number, words: string, bad?: boolean}[]}
 */
function story(packet) {
  const told = [];
  const cause = CAUSES[header.causes[column.cause[packet]]];
  for (let hop = firstHop[packet]; hop >= 0; hop = nextHop[hop]) {
    const pipe = column.pipe[hop];
    const [from, to] = [nodes[pipes[pipe].from].name, nodes[pipes[pipe].to].name];
    const first = hop === firstHop[packet];
    const ahead = aheadOf(hop);
    const queue = ahead ? `, behind ${ahead} packet${ahead > 1 ? "s" : ""}` : "";
    const sent = first && from === origin(packet);
    const what = sent ? `${cause ?? "sent"} by ${from}` : `${first ? "was" : "queued"} at ${from}`;
    told.push({ time: offered[hop], words: `${what}, for ${to}${queue}` });
    if (leaves[hop] < NEVER && leaves[hop] > offered[hop]) {
      told.push({ time: leaves[hop], words: `left the queue of ${from} → ${to} after ${span(leaves[hop] - offered[hop])}` });
    }
    if (column.dropped[hop]) {
      told.push({ time: ended[hop], words: `dropped at ${from} → ${to}: ${dropWords(hop)}`, bad: true });
    } else if (ended[hop] < NEVER) {
      const marked = column.marked[hop] ? ", marked: congestion experienced" : "";
      const last = nextHop[hop] < 0 && to === destination(packet);
      told.push({ time: ended[hop], words: `${last ? "delivered to" : "arrived at"} ${to}${marked}` });
    } else {
      told.push({ time: NEVER, words: `still at ${from} → ${to} at the end` });
    }
  }
  return told;
}

/** The node where a packet's way should end. @param {number} packet */
const destination = (packet) => (column.back[packet] ? flows[column.flow[packet]].from : flows[column.flow[packet]].to);

/** The node where a packet's way began. @param {number} packet */
const origin = (packet) => (column.back[packet] ? flows[column.flow[packet]].to : flows[column.flow[packet]].from);

/** Packets that carried the same bytes, in order of sending. @param {number} packet */
function sameBytes(packet) {
  /** @type {number[]} */
  const found = [];
  if (header.kinds[column.kind[packet]] !== "tcp") return found;
  for (let other = 0; other < packetCount; other++) {
    if (
      column.seq[other] === column.seq[packet] &&
      column.flow[other] === column.flow[packet] &&
      column.back[other] === column.back[packet] &&
      column.kind[other] === column.kind[packet]
    ) {
      found.push(other);
    }
  }
  return found.sort((a, b) => offered[firstHop[a]] - offered[firstHop[b]]);
}

// @ts-check
// The picture of a moment.

/** Rings of retransmissions, by cause. */
const RINGS = /** @type {Record<string, string[]>} */ ({
  fast: ["#d99000", "#ffd24a"],
  timeout: ["#d4000f", "#ff5a5f"],
  probe: ["#9400d3", "#d28bff"],
  again: ["#d99000", "#ffd24a"],
});
const ink = () =>
  dark()
    ? { ground: "#11161c", text: "#e6edf3", faint: "#8b98a6", line: "#3a4653", node: "#1d2630", edge: "#6b7b8c", bad: "#ff6b66" }
    : { ground: "#ffffff", text: "#1a2330", faint: "#5d6b7b", line: "#c3ccd6", node: "#f3f6f9", edge: "#8b98a6", bad: "#c2251c" };

const NODE = 21;
const LANE = 7;
const QUEUE_LENGTH = 88;
const QUEUE_BREADTH = 13;
/** Between links that join the same nodes, and how far off the nodes they begin. */
const ASIDE = 84;
const BEND = 46;
const COLUMN = 250;
const ROW = 150;
/** Around all that is drawn; above it there is room for the time. */
/** More directions of links have no words beside them. */
const MOST_WORDS = 40;
const MARGIN = { left: 40, right: 40, top: 56, bottom: 34 };
/** A dropped packet falls so long, in seconds that are seen. */
const FALL_S = 0.9;

/** Most packets that ever wait in each pipe: what its bar is scaled to where its limit is unknown. */
const mostWaiting = (() => {
  /** @type {number[][]} */
  const joins = pipes.map(() => []);
  /** @type {number[][]} */
  const leaving = pipes.map(() => []);
  for (let hop = 0; hop < hopCount; hop++) {
    const gone = Math.min(leaves[hop], ended[hop]);
    if (gone <= offered[hop]) continue;
    joins[column.pipe[hop]].push(offered[hop]);
    leaving[column.pipe[hop]].push(gone);
  }
  return Uint32Array.from(pipes, (_, pipe) => {
    const gone = Float64Array.from(leaving[pipe]).sort();
    let [left, most] = [0, 0];
    joins[pipe].forEach((time, joined) => {
      while (left < gone.length && gone[left] <= time) left++;
      most = Math.max(most, joined + 1 - left);
    });
    return most;
  });
})();

/** Queues that never hold more than a packet or two have a bar only while they do. @param {number} pipe */
const hasBar = (pipe) => mostWaiting[pipe] > 2;

/** Places of nodes in a plane, before it is moved and scaled into the picture. */
const plane = (() => {
  const [left, top] = [Math.min(...nodes.map(({ x }) => x)), Math.min(...nodes.map(({ y }) => y))];
  // Many rows stand closer together, so that the picture is not a thin line.
  const rows = Math.max(...nodes.map(({ y }) => y)) - top;
  const row = ROW * Math.min(1, Math.max(7 / Math.max(rows, 1), 0.08));
  return nodes.map(({ x, y }) => ({ x: (x - left) * COLUMN, y: (y - top) * row }));
})();

/** How large each node is: smaller where others are near. */
const radius = plane.map(({ x, y }, number) => {
  let nearest = Infinity;
  plane.forEach((other, one) => {
    if (one !== number) nearest = Math.min(nearest, Math.hypot(other.x - x, other.y - y));
  });
  return Math.min(NODE, Math.max(3, nearest / 2.6));
});

/** Of each direction: the how manyth of how many links between its nodes. */
const beside = pipes.map((pipe, number) => {
  const same = pipes.flatMap((other, one) => (one % 2 === 0 && joins(other, pipe) ? [one] : []));
  return { place: same.indexOf(number - (number % 2)), count: same.length };
});

/** The lane of each pipe: where it begins and ends, along it, and away from the middle of the link. */
const lanes = pipes.map((pipe, number) => {
  const [a, b] = [plane[pipe.from], plane[pipe.to]];
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
  // To the left of its way: up, for one that goes right.
  const [nx, ny] = [uy, -ux];
  // Links between the same two nodes lie beside each other, and begin and end a little off the nodes.
  const { place, count } = beside[number];
  const aside = (place - (count - 1) / 2) * ASIDE * (pipe.from < pipe.to ? 1 : -1);
  const bend = count > 1 ? BEND : 0;
  const [near, far] = [Math.max(bend, radius[pipe.from]), Math.max(bend, radius[pipe.to])];
  const lane = Math.min(LANE, radius[pipe.from] / 2.5 + 1);
  const from = { x: a.x + ux * near + nx * (lane + aside), y: a.y + uy * near + ny * (lane + aside) };
  // Where its queue's bar stands, beside the node, and grows away from the link.
  const along = QUEUE_BREADTH / 2 + 4;
  const bar = { x: from.x + ux * along + nx * 9, y: from.y + uy * along + ny * 9 };
  const high = count > 1 ? ASIDE - 26 : QUEUE_LENGTH;
  /** The middle of the link, from node to node. */
  const middle = [near, length - far].map((along) => ({ x: a.x + ux * along + nx * aside, y: a.y + uy * along + ny * aside }));
  return { from, bar, high, middle, ux, uy, nx, ny, length: Math.max(1, length - near - far), aside };
});

/** Places of nodes and the size of the picture, before it is scaled. */
const places = (() => {
  const bars = lanes.filter((_, number) => hasBar(number)).map(({ bar, nx, ny, high }) => ({ x: bar.x + nx * (high + 16), y: bar.y + ny * (high + 16) }));
  const bends = lanes.flatMap(({ middle }) => middle.flatMap(({ x, y }) => [{ x, y: y - 16 }, { x, y: y + 16 }]));
  const all = [...plane.flatMap(({ x, y }) => [{ x: x - NODE, y: y - NODE }, { x: x + NODE, y: y + NODE + 20 }]), ...bars, ...bends];
  const left = Math.min(...all.map(({ x }) => x)) - MARGIN.left;
  const top = Math.min(...all.map(({ y }) => y)) - MARGIN.top;
  const move = (/** @type {{x: number, y: number}} */ place) => {
    place.x -= left;
    place.y -= top;
  };
  for (const place of plane) move(place);
  for (const { from, bar, middle } of lanes) [from, bar, ...middle].forEach(move);
  return {
    at: plane,
    width: Math.max(...all.map(({ x }) => x)) - left + MARGIN.right,
    height: Math.max(...all.map(({ y }) => y)) - top + MARGIN.bottom,
  };
})();

/** @param {Pipe} one @param {Pipe} other */
function joins(one, other) {
  return (one.from === other.from && one.to === other.to) || (one.from === other.to && one.to === other.from);
}

/** How high a packet is drawn. @param {number} packet */
const breadth = (packet) => 4 + 6 * Math.sqrt(Math.min(1, column.bytes[packet] / 1514));

/** What a link is; each way where they differ. @param {number} number of its forward direction */
function linkWords(number) {
  const [forward, backward] = [pipes[number].words, pipes[number + 1].words];
  if (forward === backward || !backward) return forward;
  if (!forward) return backward;
  const [right, left] = lanes[number].ux >= 0 ? [forward, backward] : [backward, forward];
  return `→ ${right}  ← ${left}`;
}

/**
 * @typedef {{time: number, speed: number, width: number, height: number, followed: number, chosen: number, paused: boolean}} View
 * @typedef {{x: number, y: number, r: number, hop: number}} Target
 */

/**
 * What draws a moment: a surface with the plane's places on it, looks of packets, and what was drawn.
 * @param {Surface} surface
 * @param {View} view
 */
function pen(surface, view) {
  const colours = ink();
  const scale = Math.min(view.width / places.width, view.height / places.height);
  const left = (view.width - places.width * scale) / 2;
  const top = (view.height - places.height * scale) / 2;
  const X = (/** @type {number} */ x) => left + x * scale;
  const Y = (/** @type {number} */ y) => top + y * scale;
  const small = Math.max(0.9, Math.min(1.25, scale));
  const drawn = {
    moving: 0,
    waiting: new Array(pipes.length).fill(0),
    falling: 0,
    dropped: dropsUntil(view.time),
    targets: /** @type {Target[]} */ ([]),
  };
  /** A box along a lane. @param {typeof lanes[0]} lane @param {number} x @param {number} y @param {number} half @param {number} high @param {Style} style */
  const box = (lane, x, y, half, high, style) => {
    const [ax, ay, bx, by] = [lane.ux * half, lane.uy * half, lane.nx * high, lane.ny * high];
    surface.shape(
      [X(x - ax - bx), Y(y - ay - by), X(x + ax - bx), Y(y + ay - by), X(x + ax + bx), Y(y + ay + by), X(x - ax + bx), Y(y - ay + by)],
      style,
    );
  };
  /** @param {number} packet @returns {Style} */
  const look = (packet) => {
    const flow = column.flow[packet];
    const alpha = view.followed >= 0 && view.followed !== flow ? 0.16 : 1;
    const cause = header.causes[column.cause[packet]];
    const ack = column.kind[packet] === ACK;
    const ring = cause ? RINGS[cause][dark() ? 1 : 0] : undefined;
    if (packet === view.chosen) return { fill: flowColour(flow), stroke: colours.text, width: 3, alpha: 1 };
    if (ack) return { fill: colours.ground, stroke: flowColour(flow), width: 1.3, alpha };
    return { fill: flowColour(flow), stroke: ring, width: ring ? 2.6 : undefined, alpha };
  };
  return { surface, view, colours, scale, small, X, Y, box, look, drawn };
}
/** @typedef {ReturnType<typeof pen>} Pen */

/** True while a direction of a link is down. @param {number} pipe @param {number} time */
function isDown(pipe, time) {
  return pipes[pipe].down_ns.some(([from, to]) => from <= time && time < to);
}

/** @param {Pen} pen */
function drawLinks({ surface, view, colours, scale, small, X, Y }) {
  for (let number = 0; number < pipes.length; number += 2) {
    const { aside, nx, ny, middle } = lanes[number];
    const [a, b] = [places.at[pipes[number].from], places.at[pipes[number].to]];
    const way = [a, ...middle, b].flatMap(({ x, y }) => [X(x), Y(y)]);
    const down = isDown(number, view.time) || isDown(number + 1, view.time);
    surface.shape(way, { stroke: down ? colours.bad : colours.line, width: 1.5, alpha: down ? 0.6 : 1 }, true);
    const words = down ? "down" : linkWords(number);
    if (words && lanes[number].length * scale > 90 && pipes.length <= MOST_WORDS) {
      // Beside the middle of the line: on its other side the queue grows.
      const lane = lanes[number];
      const drop = 24 + Math.abs(lane.uy) * 20;
      const [x, y] = [X((a.x + b.x) / 2 + nx * aside), Y((a.y + b.y) / 2 + ny * aside + drop)];
      const [wide, high] = [words.length * 2.9 * small, 8 * small];
      surface.shape([x - wide, y - high, x + wide, y - high, x + wide, y + high, x - wide, y + high], { fill: colours.ground, alpha: 0.8 });
      surface.text(x, y, words, { fill: down ? colours.bad : colours.faint, size: 11 * small });
    }
  }
}

/** Packets on lines. @param {Pen} pen @param {number[]} hops */
function drawMoving({ view, scale, X, Y, box, look, drawn }, hops) {
  for (const hop of hops) {
    if (leaves[hop] > view.time) continue;
    const packet = column.packet[hop];
    const lane = lanes[column.pipe[hop]];
    const [tail, front] = onLine(hop, view.time);
    const high = breadth(packet) / 2;
    // A little less than it is long, so that packets that follow each other can be told apart.
    const half = Math.max(((front - tail) * lane.length) / 2 - 0.7, column.kind[packet] === ACK ? 2.5 : 4);
    const middle = Math.min(Math.max(((front + tail) / 2) * lane.length, half), lane.length - half);
    const [x, y] = [lane.from.x + lane.ux * middle, lane.from.y + lane.uy * middle];
    box(lane, x, y, half, high, look(packet));
    drawn.moving++;
    drawn.targets.push({ x: X(x), y: Y(y), r: Math.max(8, Math.min(half, 14) * scale), hop });
  }
}

/** Packets in queues, as bars. @param {Pen} pen @param {Map<number, number[]>} waiting */
function drawQueues({ surface, colours, scale, small, X, Y, box, look, drawn }, waiting) {
  for (let number = 0; number < pipes.length; number++) {
    if (!hasBar(number) && !waiting.has(number)) continue;
    const pipe = pipes[number];
    const lane = lanes[number];
    const queue = waiting.get(number) ?? [];
    const room = pipe.limit_packets && pipe.limit_packets <= 4 * mostWaiting[number] ? pipe.limit_packets : mostWaiting[number];
    const full = pipe.limit_packets > 0 && queue.length >= pipe.limit_packets;
    const each = lane.high / Math.max(room, queue.length, 4);
    const { x: bx, y: by } = lane.bar;
    const outer = lane.high / 2;
    box(lane, bx + lane.nx * outer, by + lane.ny * outer, QUEUE_BREADTH / 2, outer, {
      stroke: full ? colours.bad : colours.line,
      width: full ? 1.6 : 1,
    });
    queue.forEach((hop, place) => {
      const packet = column.packet[hop];
      const at = (place + 0.5) * each;
      const [x, y] = [bx + lane.nx * at, by + lane.ny * at];
      const style = look(packet);
      // A ring must not cover what it is around.
      style.width = Math.min(style.width ?? 1, each * scale * 0.22);
      box(lane, x, y, QUEUE_BREADTH / 2 - 1, Math.max(0.4, each / 2 - (each > 2 ? 0.5 : 0)), style);
      drawn.targets.push({ x: X(x), y: Y(y), r: Math.max(5, (each * scale) / 2), hop });
    });
    drawn.waiting[number] = queue.length;
    const end = lane.high + 9;
    const limit = room === pipe.limit_packets ? `/${room}` : "";
    surface.text(X(bx + lane.nx * end), Y(by + lane.ny * end), `${queue.length}${limit}`, { fill: colours.text, size: 11 * small });
  }
}

/** @param {Pen} pen */
function drawNodes({ surface, colours, scale, small, X, Y }) {
  nodes.forEach((node, number) => {
    const { x, y } = places.at[number];
    const r = radius[number];
    const style = { fill: colours.node, stroke: colours.edge, width: r * scale > 8 ? 1.6 : 1 };
    if (node.kind === "router" || node.kind === "switch") surface.disc(X(x), Y(y), r * scale, style);
    else surface.shape([X(x - r), Y(y - r * 0.8), X(x + r), Y(y - r * 0.8), X(x + r), Y(y + r * 0.8), X(x - r), Y(y + r * 0.8)], style);
    const name = String(node.name);
    const inside = name.length <= 5;
    const size = inside ? Math.min(14 * Math.max(0.75, small), r * scale * 1.1) : 12 * Math.max(0.75, small);
    if (r * scale > 6) surface.text(X(x), Y(inside ? y : y + r + 11), name, { fill: colours.text, size, weight: 600 });
  });
}

/** Dropped packets fall from where they were. @param {Pen} pen */
function drawDrops({ surface, view, colours, small, X, Y, box, drawn }) {
  const fall = FALL_S * 1e9 * view.speed;
  const recent = [];
  for (let i = drawn.dropped - 1; i >= 0 && view.time - ended[dropHops[i]] < fall && recent.length < 400; i--) recent.push(dropHops[i]);
  recent.reverse().forEach((hop, place) => {
    const lane = lanes[column.pipe[hop]];
    const packet = column.packet[hop];
    const far = (view.time - ended[hop]) / fall;
    const inQueue = leaves[hop] === NEVER;
    const along = inQueue ? QUEUE_BREADTH + 8 : onLine(hop, ended[hop])[1] * lane.length;
    const off = inQueue ? Math.min(lane.high, 60) : 0;
    const x = lane.from.x + lane.ux * along + lane.nx * off + far * 26;
    const y = lane.from.y + lane.uy * along + lane.ny * off + far * far * 130;
    const dim = view.followed >= 0 && view.followed !== column.flow[packet];
    const style = { fill: flowColour(column.flow[packet]), stroke: colours.bad, width: 2.2, alpha: dim ? 0.15 : 1 - 0.7 * far };
    box({ ...lane, ux: 1, uy: 0, nx: 0, ny: 1 }, x, y, 6, breadth(packet) / 2, style);
    drawn.falling++;
    drawn.targets.push({ x: X(x), y: Y(y), r: 10, hop });
    if (!dim && place >= recent.length - 3) {
      const name = `✕ ${flows[column.flow[packet]].name}`;
      surface.text(X(x + 12), Y(y), name, { fill: colours.bad, size: 12 * small, align: "left", weight: 600, alpha: 1 - 0.7 * far });
    }
  });
}

/**
 * Draws a moment. Returns what was drawn: packets on lines, packets in each queue's bar, drops that
 * fall, drops so far, and places that can be clicked.
 * @param {Surface} surface
 * @param {View} view
 */
function draw(surface, view) {
  const hops = hopsAt(view.time);
  const with_ = pen(surface, view);
  drawLinks(with_);
  drawMoving(with_, hops);
  drawQueues(with_, waitingAt(hops, view.time));
  drawNodes(with_);
  drawDrops(with_);
  const { colours, drawn } = with_;
  const since = header.from_ns > 0 ? `since ${seconds(header.from_ns, 3)}` : "so far";
  surface.text(14, 20, `t = ${seconds(view.time)}`, { fill: colours.text, size: 15, align: "left", weight: 600 });
  surface.text(14, 40, `${drawn.dropped} dropped ${since}`, { fill: drawn.dropped ? colours.bad : colours.faint, size: 12, align: "left" });
  return drawn;
}

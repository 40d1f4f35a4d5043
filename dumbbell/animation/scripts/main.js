// @ts-check
// The page: picture, controls, panels.

const SPEEDS = [1e-3, 1e3];
const state = {
  time: header.from_ns,
  speed: 1,
  /** 1 forwards, -1 backwards, 0: it stands. @type {-1 | 0 | 1} */
  way: 0,
  followed: -1,
  chosen: -1,
};
/** So fast that a packet's way over a link, or through a queue, takes about a second. */
state.speed = (() => {
  const [travels, stays] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  const step = Math.max(1, Math.floor(hopCount / 2000));
  for (let hop = 0; hop < hopCount; hop += step) {
    if (ended[hop] === NEVER || leaves[hop] === NEVER) continue;
    travels.push(ended[hop] - leaves[hop]);
    stays.push(ended[hop] - offered[hop]);
  }
  const most = (/** @type {number[]} */ spans) => spans.sort((a, b) => a - b)[Math.floor(spans.length * 0.75)] || 0;
  const typical = Math.max(most(travels), 0.3 * most(stays)) || 1e9;
  return Math.min(SPEEDS[1], Math.max(SPEEDS[0], +(typical / 1e9).toPrecision(1)));
})();

const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { class: "stage", tabindex: "0", "aria-label": "Packets moving over the network" }));
const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
const surface = canvasSurface(context);
const size = { width: 900, height: 480 };
/** @type {ReturnType<typeof draw>} */
let drawn;

/** @returns {View} */
const view = () => ({ ...state, ...size, paused: state.way === 0 });
function paint() {
  const ratio = canvas.width / size.width;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = ink().ground;
  context.fillRect(0, 0, size.width, size.height);
  drawn = draw(surface, view());
  return drawn;
}

// Controls

/** @param {string} label @param {string} title @param {() => void} act */
const button = (label, title, act) => element("button", { type: "button", title, "aria-label": title, onclick: act }, label);
const play = button("▶", "Play forwards (space)", () => go(state.way === 1 ? 0 : 1));
const back = button("◀", "Play backwards", () => go(state.way === -1 ? 0 : -1));
const speed = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: "-3", max: "3", step: "0.01", value: String(Math.log10(state.speed)), "aria-label": "Speed" }));
const speedWords = element("output", { class: "speed" });
const slider = /** @type {HTMLInputElement} */ (element("input", { type: "range", class: "time", min: "0", max: "100000", step: "1", value: "0", "aria-label": "Time" }));
const timeline = /** @type {HTMLCanvasElement} */ (element("canvas", { class: "timeline", "aria-hidden": "true" }));
const caption = element("p", { class: "caption", role: "status" });
const storyPlace = element("section", { class: "panel", id: "story" });
const eventsPlace = element("ol", { class: "events" });
const chartsPlace = element("section", { class: "charts" });
const legend = element("div", { class: "chips" });
const keys = element("div", { class: "keys" });

const act = { seek, choose, follow, explain };
/** Where the last jump went: several events may be at one time. */
const jumped = { kind: /** @type {Jump | ""} */ (""), number: -1, time: -1 };
/** @param {Jump} kind @param {1 | -1} way */
function leap(kind, way) {
  const here = jumped.kind === kind && jumped.time === state.time ? jumped.number : -1;
  const found = jump(kind, state.time, way, state.followed, here);
  if (found < 0) return;
  go(0);
  seek(JUMPS[kind].time(found));
  Object.assign(jumped, { kind, number: found, time: state.time });
  if (kind === "drop") choose(column.packet[dropHops[found]]);
  if (kind === "timeout") choose(column.packet[timeoutHops[found]]);
  if (kind === "state") {
    const { flow, time_ns } = header.states[found];
    if (incidentAt(flow, time_ns) >= 0) explain(incidentAt(flow, time_ns));
  }
}
/** @param {1 | -1} way */
function step(way) {
  go(0);
  const times = allTimes();
  const at = (/** @type {number} */ i) => times[i];
  let i = rank(times.length, at, state.time);
  if (way < 0) {
    i--;
    while (i >= 0 && times[i] >= state.time) i--;
  }
  if (i >= 0 && i < times.length) seek(times[i]);
}
/** @param {string} name @param {Jump} kind */
const leaps = (name, kind) => {
  const none = JUMPS[kind].count === 0;
  const pair = [button("‹", `The ${name} before`, () => leap(kind, -1)), element("span", {}, name), button("›", `The next ${name}`, () => leap(kind, 1))];
  for (const one of pair) if (none && one instanceof HTMLButtonElement) one.disabled = true;
  return element("span", { class: none ? "leap none" : "leap", "data-kind": kind }, ...pair);
};

/** @param {-1 | 0 | 1} way */
function go(way) {
  if (way === 1 && state.time >= header.to_ns) state.time = header.from_ns;
  if (way === -1 && state.time <= header.from_ns) state.time = header.to_ns;
  state.way = way;
  play.textContent = way === 1 ? "⏸" : "▶";
  back.textContent = way === -1 ? "⏸" : "◀";
  cancelAnimationFrame(pending);
  caption.setAttribute("aria-live", way ? "off" : "polite");
  if (way) pending = requestAnimationFrame((now) => frame(now, now));
  else show();
}
/** @param {number} time */
function seek(time) {
  state.time = Math.min(header.to_ns, Math.max(header.from_ns, time));
  show();
}
/** @param {number} packet */
function choose(packet) {
  state.chosen = packet;
  tellStory(storyPlace, packet, act);
  paint();
}
/** @param {number} incident */
function explain(incident) {
  state.chosen = -1;
  tellIncident(storyPlace, incident, act);
  paint();
}
/** @param {number} flow */
function follow(flow) {
  state.followed = state.followed === flow ? -1 : flow;
  for (const chip of legend.querySelectorAll("button")) chip.setAttribute("aria-pressed", String(Number(chip.dataset.flow) === state.followed));
  timelineMarks();
  show();
}

/** The next frame that is asked for. */
let pending = 0;
/** Frames that were shown while it played, and since when. */
const shown = { frames: 0, since: 0 };
let lastPanels = 0;
/** @param {number} now @param {number} before */
function frame(now, before) {
  if (!state.way) return;
  if (before === now) Object.assign(shown, { frames: 0, since: now });
  shown.frames++;
  const next = state.time + state.way * state.speed * (now - before) * 1e6;
  state.time = Math.min(header.to_ns, Math.max(header.from_ns, next));
  const over = state.time === (state.way > 0 ? header.to_ns : header.from_ns);
  show(now);
  if (over && now !== before) go(0);
  else pending = requestAnimationFrame((later) => frame(later, now));
}

/** Everything that depends on the time; panels of text a few times a second. @param {number} now */
function show(now = -1) {
  paint();
  const share = (state.time - header.from_ns) / Math.max(1, header.to_ns - header.from_ns);
  slider.value = String(share * 100000);
  slider.setAttribute("aria-valuetext", seconds(state.time, 3));
  plots.at(state.time);
  if (now >= 0 && now - lastPanels < 150) return;
  lastPanels = now;
  tellEvents(eventsPlace, state.time, state.followed, act);
  const before = rank(told.length, (i) => told[i].time, state.time) - 1;
  caption.textContent = before >= 0 ? `${seconds(told[before].time, 4)}: ${told[before].words()}` : "";
}

/** Where drops and time-outs are. */
function timelineMarks() {
  const ratio = devicePixelRatio || 1;
  const width = Math.max(1, timeline.clientWidth || size.width);
  timeline.width = width * ratio;
  timeline.height = 12 * ratio;
  const pen = timeline.getContext("2d");
  if (!pen) return;
  pen.scale(ratio, ratio);
  const at = (/** @type {number} */ time) => ((time - header.from_ns) / Math.max(1, header.to_ns - header.from_ns)) * width;
  /** @param {Jump} kind @param {string} fill @param {number} y @param {number} high */
  const marks = (kind, fill, y, high) => {
    pen.fillStyle = fill;
    const { count, time, flow } = JUMPS[kind];
    for (let i = 0; i < count; i++) if (state.followed < 0 || flow(i) === state.followed) pen.fillRect(at(time(i)), y, 1.2, high);
  };
  marks("drop", ink().bad, 0, 6);
  marks("timeout", ink().text, 6, 6);
}

function resize() {
  const width = Math.max(300, canvas.parentElement?.clientWidth ?? 900);
  const height = Math.max(320, Math.min(innerHeight * 0.62, (places.height / places.width) * width));
  const ratio = Math.min(2, devicePixelRatio || 1);
  Object.assign(size, { width, height });
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  timelineMarks();
}

speed.addEventListener("input", () => {
  state.speed = 10 ** Number(speed.value);
  speedWords.textContent = speedText();
  paint();
});
const speedText = () => `${state.speed < 1 ? String(+state.speed.toPrecision(2)) : String(+state.speed.toPrecision(3))} × real time`;
slider.addEventListener("input", () => seek(header.from_ns + (Number(slider.value) / 100000) * (header.to_ns - header.from_ns)));
canvas.addEventListener("click", (event) => {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  let nearest = -1;
  let least = Infinity;
  for (const target of drawn.targets) {
    const distance = Math.hypot(target.x - x, target.y - y) / target.r;
    if (distance < Math.min(least, 1.6)) [nearest, least] = [target.hop, distance];
  }
  choose(nearest < 0 ? -1 : column.packet[nearest]);
});
bindKeys(() => ({
  play: () => go(state.way ? 0 : 1),
  next: () => step(1),
  previous: () => step(-1),
  drop: () => leap("drop", 1),
  dropBefore: () => leap("drop", -1),
  timeout: () => leap("timeout", 1),
  timeoutBefore: () => leap("timeout", -1),
  state: () => leap("state", 1),
  stateBefore: () => leap("state", -1),
}));

function svg() {
  const on = svgSurface();
  draw(on, view());
  return on.markup(size.width, size.height, ink().ground);
}
const stem = () => `${String(header.title).replace(/[^\w.-]+/g, "-")}-${(state.time / 1e9).toFixed(6)}s`;

flows.forEach((flow, number) => {
  const chip = element("button", { type: "button", "aria-pressed": "false", "data-flow": String(number), title: `Follow ${flow.name}: the others fade, and jumps are its own`, onclick: () => follow(number) }, swatch(number), flow.name);
  legend.append(chip);
});
const causes = new Set(Array.from(column.cause, (/** @type {number} */ cause) => header.causes[cause]).filter(Boolean));
const rings = /** @type {Record<string, string>} */ ({ fast: "retransmission: fast", timeout: "retransmission: time-out", probe: "retransmission: tail loss probe", again: "retransmission" });
for (const cause of Object.keys(rings)) {
  if (causes.has(cause)) keys.append(element("span", { class: "key" }, element("span", { class: "ring", style: `border-color:${RINGS[cause][dark() ? 1 : 0]}` }), rings[cause]));
}
keys.append(element("span", { class: "key" }, element("span", { class: "ack" }), "ACK (hollow)"), element("span", { class: "key bad" }, "✕ dropped"), element("span", { class: "key" }, "Keys: space plays, ← → step, d t s jump to drops, time-outs, states (with shift: back)"));

main.append(
  element("h1", {}, header.title),
  ...header.notes.map((/** @type {string} */ note) => element("p", { class: "note" }, note)),
  legend,
  keys,
  element(
    "div",
    { class: "side-by-side" },
    element(
      "div",
      { class: "left" },
      canvas,
      caption,
      element("div", { class: "times" }, timeline, slider),
      element(
        "div",
        { class: "controls" },
        element("span", { class: "leap" }, button("‹", "The event before (←)", () => step(-1)), element("span", {}, "event"), button("›", "The next event (→)", () => step(1))),
        back,
        play,
        element("label", { class: "speeds" }, speed, speedWords),
        leaps("drop", "drop"),
        leaps("time-out", "timeout"),
        leaps("state", "state"),
        button("SVG", "Save this moment as SVG", () => save(`${stem()}.svg`, new Blob([svg()], { type: "image/svg+xml" }))),
        button("PNG", "Save this moment as PNG", () => canvas.toBlob((blob) => blob && save(`${stem()}.png`, blob))),
      ),
    ),
    element("aside", {}, storyPlace, element("section", { class: "panel" }, element("h3", {}, "What happens"), eventsPlace)),
  ),
  chartsPlace,
);
resize();
const plots = charts(chartsPlace, seek);
speedWords.textContent = speedText();
tellStory(storyPlace, -1, act);

/** `#t=12.5&flow=a` begins there. */
const asked = new URLSearchParams(location.hash.slice(1));
if (asked.get("flow")) {
  const flow = flows.findIndex((one) => one.name === asked.get("flow"));
  if (flow >= 0) follow(flow);
}
if (asked.get("speed")) {
  state.speed = Math.min(SPEEDS[1], Math.max(SPEEDS[0], Number(asked.get("speed")) || state.speed));
  speed.value = String(Math.log10(state.speed));
  speedWords.textContent = speedText();
}
const begin = Number.parseFloat(asked.get("t") ?? "") * 1e9;
seek(Number.isFinite(begin) ? begin : header.from_ns);

let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    resize();
    redrawAll();
    show();
  }, 120);
});
onTheme(() => {
  redrawAll();
  timelineMarks();
  show();
});

/** For tests, and for whoever drives the page by a program. */
const animation = {
  header,
  state,
  hops: hopCount,
  packets: packetCount,
  /** What is drawn at a time (s). @param {number} time */
  at(time) {
    seek(time * 1e9);
    const { targets, ...counts } = drawn;
    return { ...counts, picture: picture() };
  },
  go,
  svg,
  shown,
};
/** A number that differs where the picture does. */
function picture() {
  const data = canvas.toDataURL();
  let hash = 0x811c9dc5;
  for (let i = 0; i < data.length; i++) hash = Math.imul(hash ^ data.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
Object.assign(window, { animation });

// Exports, for `dumbbell animate`: `#export=svg` writes the moment, `#export=png&from=…&to=…&count=…`
// pictures of equal steps, into the page.
if (asked.get("export")) {
  const text = (/** @type {string} */ value) => main.append(element("pre", { class: "exported" }, value));
  Object.assign(size, { width: Number(asked.get("width")) || 1280, height: Number(asked.get("height")) || 720 });
  canvas.width = size.width;
  canvas.height = size.height;
  if (asked.get("export") === "svg") {
    text(svg());
  } else {
    const [from, to, count] = ["from", "to", "count"].map((name) => Number(asked.get(name)));
    for (let i = 0; i < count; i++) {
      state.time = (from + ((to - from) * i) / Math.max(1, count - 1)) * 1e9;
      paint();
      text(canvas.toDataURL("image/png"));
    }
  }
}
document.documentElement.dataset.ready = "yes";

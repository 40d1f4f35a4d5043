// @ts-check
// Why something happened to a flow: the causal chain of an incident.

const STEPS = /** @type {Record<string, string>} */ ({
  incident: "What happened", cause: "Why", notice: "How the sender learned of it", reaction: "What the sender did", repair: "How it was repaired", cost: "What it cost",
});

/**
 * @param {HTMLElement} panel @param {string} experiment @param {string} run @param {string} flow @param {number} at
 */
async function explainInto(panel, experiment, run, flow, at) {
  panel.replaceChildren(element("h3", {}, "Why"), element("p", { class: "faint", role: "status" }, `Looking at ${flow} near ${at.toFixed(3)} s: the run is made again …`));
  panel.hidden = false;
  panel.dataset.at = String(at);
  try {
    const found = await ask("explain", { experiment, run, flow, at: at.toFixed(9) });
    if (panel.dataset.at !== String(at)) return;
    /** @type {HTMLElement[]} */
    const parts = [];
    let step = "";
    /** @type {HTMLElement | null} */
    let list = null;
    for (const link of found.links) {
      if (link.step !== step || !list) {
        step = link.step;
        list = element("ul", {});
        parts.push(element("h4", {}, STEPS[step] ?? step), list);
      }
      list.append(element("li", {}, element("span", { class: "faint" }, seconds(link.time_ns, 4)), ` ${link.sentence}`));
    }
    panel.replaceChildren(
      element("h3", {}, `Why: ${flow} at ${at.toFixed(3)} s`),
      ...found.notes.map((/** @type {string} */ note) => element("p", { class: "faint" }, note)),
      element("div", { class: "chain" }, ...parts),
      animationLink(experiment, run, Math.max(0, found.links[0].time_ns / 1e9 - 0.05), flow, "Animation from here"),
    );
  } catch (error) {
    if (panel.dataset.at !== String(at)) return;
    const words = errorWords(error);
    // The message for the terminal names the option that asks for the nearest incident.
    const near = /; the nearest incident is at ([0-9.]+) s: --at/.exec(words);
    const [told, time] = near ? [`${words.slice(words.indexOf(": ") + 2, near.index)}.`, Number(near[1])] : [words, NaN];
    const button = element("button", { type: "button", class: "button", onclick: () => void explainInto(panel, experiment, run, flow, time) }, `Explain the nearest incident, at ${near?.[1]} s`);
    panel.replaceChildren(element("h3", {}, "Why"), element("p", { role: "status" }, told), ...(near ? [button] : []));
  }
}

/** @param {string} experiment @param {string} run @param {number} at @param {string} flow @param {string} words */
const animationLink = (experiment, run, at, flow, words) =>
  element("a", { class: "button", target: "_blank", rel: "noopener", href: `/api/animation?${new URLSearchParams({ experiment, run })}#${new URLSearchParams({ t: String(at), ...(flow ? { flow } : {}) })}` }, words);

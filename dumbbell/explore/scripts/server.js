// @ts-check
// Questions to the server.

/** @typedef {{quantity: string, label: string, algorithms: Record<string, string>, lines: {run: string, name: string}[], left_out: number, points: number, whole: [number, number], window: [number, number], count: number, times: Float64Array, values: (number | null)[][]}} Lines */

/** What the page was made with. */
const facts = JSON.parse(document.querySelector("#facts")?.textContent ?? "{}");

class ServerError extends Error {
  /** @param {number} status @param {string} words */
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** @param {string} path @param {URLSearchParams | Record<string, string>} params @param {AbortSignal} [signal] */
async function fetched(path, params, signal) {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(params)}`, { signal });
  if (answer.ok) return answer;
  const text = await answer.text();
  let words = text;
  try {
    words = JSON.parse(text).error ?? text;
  } catch {
    // plain words
  }
  throw new ServerError(answer.status, words.trim());
}

/** @param {string} path @param {URLSearchParams | Record<string, string>} params @param {AbortSignal} [signal] @returns {Promise<any>} */
const ask = async (path, params, signal) => (await fetched(path, params, signal)).json();

/** Lines over time: a header of JSON, times, and values (NaN: none). @param {Record<string, string>} params @param {AbortSignal} [signal] @returns {Promise<Lines>} */
async function askLines(params, signal) {
  const buffer = await (await fetched("series", params, signal)).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let at = 4 + length;
  const times = new Float64Array(buffer, at, header.count);
  at += header.count * 8;
  const values = header.lines.map(() => {
    const line = Array.from(new Float32Array(buffer, at, header.count), (value) => (Number.isNaN(value) ? null : value));
    at += header.count * 4;
    return line;
  });
  return { ...header, times, values };
}

/** @param {string} text @param {boolean} run @param {AbortSignal} signal @returns {Promise<any>} */
async function askRun(text, run, signal) {
  const answer = await fetch("/api/run", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text, run }),
    signal,
  });
  const told = await answer.text();
  if (!answer.ok) throw new ServerError(answer.status, told);
  return JSON.parse(told);
}

/** Words of an error for people. @param {unknown} error */
const errorWords = (error) =>
  error instanceof ServerError ? error.message : error instanceof TypeError ? "The server does not answer: was it stopped?" : String(error);

/** True if an answer was only given up. @param {unknown} error */
const isAborted = (error) => error instanceof DOMException && error.name === "AbortError";

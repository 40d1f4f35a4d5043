// @ts-check
// The simulator in a worker. A newer request ends the run before it.

/** Program of the worker: WebAssembly in, answers out. */
const WORKER = `
let ready;
onmessage = async ({ data }) => {
  if (data.module) {
    ready = WebAssembly.instantiate(data.module, {});
    return;
  }
  try {
    const { exports } = await ready;
    const bytes = new TextEncoder().encode(data.request);
    const place = exports.reserve(bytes.length);
    new Uint8Array(exports.memory.buffer).set(bytes, place);
    const at = exports.answer();
    const length = new DataView(exports.memory.buffer).getUint32(at, true);
    const text = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at + 4, length));
    postMessage({ number: data.number, answer: JSON.parse(text) });
  } catch (error) {
    postMessage({ number: data.number, answer: { error: { at: [], message: "the simulator broke off: " + error.message, broken: true } } });
  }
};
`;

/** The module that stands compressed in the page. */
async function compiled() {
  const text = document.querySelector("#wasm")?.textContent ?? "";
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** Simulator with one run at a time. @param {(answer: Row, took: number) => void} receive */
function simulator(receive) {
  const address = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  const module = compiled();
  /** @type {Worker | null} */
  let worker = null;
  let [number, busy, begun] = [0, false, 0];
  const stop = () => {
    worker?.terminate();
    worker = null;
    busy = false;
  };
  return {
    /** Asks for a run; one under way is ended. @param {Row} request */
    async ask(request) {
      const own = ++number;
      if (busy) stop();
      begun = performance.now();
      busy = true;
      if (!worker) {
        const made = await module;
        if (own !== number) return;
        if (!worker) {
          worker = new Worker(address);
          worker.postMessage({ module: made });
          worker.onmessage = ({ data }) => {
            if (data.number !== number) return;
            busy = false;
            if (data.answer.error?.broken) stop();
            receive(data.answer, performance.now() - begun);
          };
        }
      }
      worker.postMessage({ number: own, request: JSON.stringify(request) });
    },
    /** Ends a run under way; its answer does not come. */
    end() {
      number++;
      if (busy) stop();
    },
  };
}

// @ts-check
// Editor of experiment files: YAML with completion and help from a JSON Schema, and marked lines.
// Bundled as `DumbbellEditor`; docs/pages.md describes its interface.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, defaultHighlightStyle, indentUnit, syntaxHighlighting, HighlightStyle } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";

/** @typedef {{ message: string, from: number, to: number, line: number, severity?: "error" | "warning" }} Problem */
/** @typedef {(string | number)[]} Path */
/** @typedef {Record<string, any>} Schema */

const MARK = "__cursor__";

/**
 * Reads YAML as experiment files are read: version 1.2, every key once, at most 100 aliases.
 * @param {string} text
 */
export function parse(text) {
  const lines = new LineCounter();
  const document = parseDocument(text, { version: "1.2", uniqueKeys: true, lineCounter: lines, prettyErrors: false });
  /** @type {Problem[]} */
  const problems = document.errors.map((error) => ({
    message: error.message.split("\n")[0],
    from: error.pos[0],
    to: Math.min(text.length, Math.max(error.pos[1], error.pos[0])),
    line: lines.linePos(error.pos[0]).line,
    severity: "error",
  }));
  /** Place of the value, or of its key, or of the nearest mapping above. @param {Path} path */
  function locate(path) {
    let [from, to] = [0, 0];
    for (let depth = path.length; depth >= 0; depth--) {
      const above = depth ? document.getIn(path.slice(0, depth - 1), true) : document.contents;
      const last = depth ? path[depth - 1] : undefined;
      /** @type {any} */
      let node = depth ? document.getIn(path.slice(0, depth), true) : document.contents;
      let pair = null;
      if (isMap(above)) pair = above.items.find((one) => isScalar(one.key) && String(one.key.value) === String(last));
      if (!isScalar(node) && pair && isScalar(pair.key)) node = pair.key;
      if (node?.range) {
        [from, to] = depth || isScalar(node) ? node.range : [node.range[0], node.range[0]];
        break;
      }
    }
    const line = lines.linePos(from).line;
    const start = lines.lineStarts[line - 1] ?? 0;
    const end = (lines.lineStarts[line] ?? text.length + 1) - 1;
    return { from: Math.max(from, start), to: Math.max(from, Math.min(to, end)), line };
  }
  let value = null;
  if (!problems.length) {
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      problems.push({ message: String(/** @type {Error} */ (error).message), from: 0, to: 0, line: 1, severity: "error" });
    }
  }
  return { value, problems, locate };
}

// Schema

/** Schemas that one stands for: references followed, alternatives spread. @param {Schema} root @param {any} schema @param {number} depth @returns {Schema[]} */
function spread(root, schema, depth = 0) {
  if (!schema || typeof schema !== "object" || depth > 12) return [];
  if (schema.$ref) {
    const target = schema.$ref.replace("#/", "").split("/").reduce((/** @type {any} */ held, /** @type {string} */ step) => held?.[step], root);
    const own = { ...schema };
    delete own.$ref;
    return spread(root, { ...target, ...own }, depth + 1);
  }
  const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  const own = { ...schema };
  delete own.anyOf;
  delete own.oneOf;
  delete own.allOf;
  return parts ? [own, ...parts.flatMap((/** @type {any} */ part) => spread(root, part, depth + 1))] : [schema];
}

/** Schemas of the value at a path. @param {Schema} root @param {Path} path */
function at(root, path) {
  let held = spread(root, root);
  for (const step of path) {
    held = held.flatMap((one) => {
      if (typeof step === "number") return spread(root, one.items);
      const named = one.properties?.[step];
      return spread(root, named ?? (typeof one.additionalProperties === "object" ? one.additionalProperties : null));
    });
  }
  return held;
}

/** Texts that a value may be. @param {Schema[]} schemas */
function values(schemas) {
  const found = new Set();
  for (const one of schemas) {
    for (const value of one.enum ?? []) found.add(String(value));
    if (one.const !== undefined) found.add(String(one.const));
    for (const value of one.examples ?? []) found.add(String(value));
    if (one.type === "boolean") ["true", "false"].forEach((value) => found.add(value));
  }
  return [...found];
}

/** One line that explains a value. @param {Schema[]} schemas */
function explained(schemas) {
  const about = schemas.map((one) => one.description).find(Boolean) ?? "";
  const examples = values(schemas).filter((one) => !about.includes(one)).slice(0, 12);
  return [about.replace(/\s+/g, " "), examples.length ? `For example: ${examples.join(", ")}` : ""].filter(Boolean).join("\n");
}

/** Path of the mark in a text, whether it is a key, and the keys beside it. @param {string} text */
function marked(text) {
  const document = parseDocument(text, { version: "1.2", uniqueKeys: false });
  /** @type {{ path: Path, key: boolean, beside: string[] } | null} */
  let found = null;
  visit(document, {
    Scalar(key, node, above) {
      if (found || typeof node.value !== "string" || !node.value.includes(MARK)) return undefined;
      /** @type {Path} */
      const path = [];
      /** @type {string[]} */
      let beside = [];
      for (let i = 0; i < above.length; i++) {
        const one = above[i];
        const next = above[i + 1] ?? node;
        if (isSeq(one)) path.push(one.items.indexOf(/** @type {any} */ (next)));
        if (isPair(one) && isScalar(one.key) && one.key !== node) path.push(String(one.key.value));
        if (isMap(one)) beside = one.items.map((pair) => (isScalar(pair.key) ? String(pair.key.value) : ""));
      }
      found = { path, key: key === "key", beside };
      return visit.BREAK;
    },
  });
  return found;
}

/** What stands before the cursor in its line, from the last bracket or comma. @param {string} before */
function tail(before) {
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return line.slice(Math.max(line.lastIndexOf("{"), line.lastIndexOf(","), line.lastIndexOf("[")) + 1);
}

/** @param {Schema} schema */
const completion = (schema) => (/** @type {import("@codemirror/autocomplete").CompletionContext} */ context) => {
  const text = context.state.doc.toString();
  const word = context.matchBefore(/[\w$./-]*/);
  const from = word ? word.from : context.pos;
  const before = text.slice(0, from);
  const rest = text.slice(context.pos).replace(/^[\w$./-]*/, "");
  const part = tail(before);
  const inValue = /:\s*$/.test(part) || /:\s+\S/.test(part);
  if (!context.explicit && from === context.pos && !/:\s$/.test(part)) return null;
  if (/#/.test(part)) return null;
  const written = inValue ? MARK : /^\s*:/.test(rest) ? MARK : `${MARK}: 0`;
  let place = marked(before + written + rest);
  const options = [];
  if (place?.key) {
    for (const one of at(schema, place.path)) {
      for (const name of Object.keys(one.properties ?? {})) {
        if (place.beside.includes(name) || options.some((option) => option.label === name)) continue;
        const info = explained(spread(schema, one.properties[name]));
        options.push({ label: name, type: "property", apply: /^\s*:/.test(rest) ? name : `${name}: `, info: info || undefined });
      }
    }
    // An item of a list may be a plain word.
    if (!inValue) place = marked(before + MARK + rest) ?? place;
  }
  if (place && !place.key) {
    const schemas = at(schema, place.path);
    for (const value of values(schemas)) options.push({ label: value, type: "enum" });
    const names = Object.keys(parse(text).value?.factors ?? {});
    for (const name of inValue ? names : []) options.push({ label: `$${name}`, type: "variable", boost: -1 });
  }
  return options.length ? { from, options, validFor: /^[\w$./ -]*$/ } : null;
};

/** Path of the key or value at a place. @param {string} text @param {number} position */
function pathAt(text, position) {
  const document = parseDocument(text, { version: "1.2", uniqueKeys: false });
  /** @type {{ path: Path, from: number, to: number } | null} */
  let found = null;
  visit(document, {
    Scalar(key, node, above) {
      const range = node.range;
      if (!range || position < range[0] || position > range[1]) return undefined;
      /** @type {Path} */
      const path = [];
      above.forEach((one, i) => {
        if (isSeq(one)) path.push(one.items.indexOf(/** @type {any} */ (above[i + 1] ?? node)));
        if (isPair(one) && isScalar(one.key)) path.push(String(one.key.value));
      });
      found = { path, from: range[0], to: range[1] };
      return visit.BREAK;
    },
  });
  return found;
}

/** @param {Schema} schema */
const help = (schema) =>
  hoverTooltip((view, position) => {
    const found = pathAt(view.state.doc.toString(), position);
    const text = found && explained(at(schema, found.path));
    if (!found || !text) return null;
    return {
      pos: found.from,
      end: found.to,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "editor-help";
        dom.textContent = text;
        return { dom };
      },
    };
  });

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--faint)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: ".4rem", fontSize: ".86rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-content": { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace', caretColor: "var(--text)", padding: ".5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--text) 4%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--ground)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: ".3rem", maxWidth: "26rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--ground)" },
  ".editor-help, .cm-completionInfo": { padding: ".3rem .6rem", whiteSpace: "pre-line", fontSize: ".85rem" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--noise)" },
});

/**
 * Makes an editor.
 * @param {HTMLElement} parent
 * @param {string} text
 * @param {{ schema?: Schema, label?: string, onChange?: (text: string) => void, keys?: Record<string, () => void> }} options
 *   `schema`: JSON Schema of the file; `label`: name for readers of the screen; `onChange`: called after
 *   every change by the user; `keys`: what keys such as `Mod-Enter` do.
 */
export function create(parent, text, options = {}) {
  const schema = options.schema ?? {};
  const own = Object.entries(options.keys ?? {}).map(([key, act]) => ({ key, run: () => (act(), true) }));
  let quiet = false;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        bracketMatching(),
        indentUnit.of("  "),
        yaml(),
        syntaxHighlighting(colours),
        syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
        autocompletion({ override: [completion(schema)], icons: false }),
        help(schema),
        lintGutter(),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": options.label ?? "Experiment file" }),
        // Tab leaves the editor after Escape, as for every field: https://codemirror.net/examples/tab/
        keymap.of([...own, ...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        look,
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) options.onChange?.(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    /** Text of the editor. */
    text: () => view.state.doc.toString(),
    /** Replaces the text; `onChange` is not called. @param {string} now */
    setText(now) {
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } });
      quiet = false;
    },
    /** Marks problems in their lines, in place of those before. @param {Problem[]} problems */
    diagnostics(problems) {
      const end = view.state.doc.length;
      const marks = problems.map((one) => ({
        from: Math.min(one.from, end),
        to: Math.min(Math.max(one.to, one.from), end),
        severity: one.severity ?? "error",
        message: one.message,
      }));
      view.dispatch(setDiagnostics(view.state, /** @type {any} */ (marks)));
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

// What documents are made of on the page, whatever markup they are written in.
import { el } from "./dom.js";

/** The element, knowing the lines that it comes from: {text, number} each. */
export function spanning(element, lines) {
  if (lines.length) {
    element.dataset.line = lines[0].number;
    element.dataset.end = lines.at(-1).number;
  }
  return element;
}

/** The page's own headings come first: a document's begin at the third level. */
export const titled = (level, words, anchor) => el(`h${Math.min(level + 2, 6)}`, { class: `title-${Math.min(level, 6)}`, "data-anchor": anchor }, words);

export const code = (text, language) => el("figure", { class: "code" }, language ? el("figcaption", {}, language) : null,
  el("pre", { tabindex: "0", role: "group", "aria-label": `Code${language ? ` in ${language}` : ""}` }, el("code", {}, text)));

export const scrolled = (...parts) => el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, el("table", {}, parts));

/** A note, warning or tab: its title's element, or null, and what it holds. */
export const noted = (title, inner) => el("div", { class: "note", role: "note" }, title, inner);

export const frontMatter = (lines) => el("details", { class: "front" }, el("summary", {}, "Front matter"), el("pre", {}, lines.map((line) => line.text).join("\n")));

// A document's headings, to jump by.
import { el } from "./dom.js";

/** `go(heading)` is called with the chosen one; null where there is nothing to choose. */
export function outline(headings, go) {
  if (headings.length < 2) return null;
  const least = Math.min(...headings.map((one) => one.level));
  const box = el("details", { class: "outline" }, el("summary", {}, `Outline (${headings.length})`),
    el("nav", { "aria-label": "Headings of this document" }, el("ul", {}, headings.map((one) => el("li", { class: `depth-${Math.min(one.level - least, 4)}` },
      el("a", { href: "#", onclick: (event) => { event.preventDefault(); box.open = false; go(one); } }, one.text))))));
  return box;
}

/** A heading as links spell it: lower case, without punctuation, hyphens for spaces. */
const anchorOf = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}_\- ]+/gu, "").replace(/ /g, "-");

/** Each heading's anchor, none twice: repeated ones are numbered, as in a result's uri. */
export const anchorsOf = (headings) => {
  const taken = new Set();
  return headings.map(({ text }) => {
    const base = anchorOf(text);
    let anchor = base;
    for (let number = 1; taken.has(anchor); number += 1) anchor = `${base}-${number}`;
    taken.add(anchor);
    return anchor;
  });
};

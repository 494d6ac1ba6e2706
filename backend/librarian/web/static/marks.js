// Marking what matched: the server's offsets in a snippet, and the same words inside an open document.
import { el } from "./dom.js";

/** `text` with its highlights marked. Offsets count characters, not UTF-16 units. */
export function marked(text, highlights) {
  const letters = Array.from(text);
  const parts = [];
  let last = 0;
  for (const [start, end] of highlights) {
    if (start < last) continue;
    parts.push(letters.slice(last, start).join(""), el("mark", {}, letters.slice(start, end).join("")));
    last = end;
  }
  parts.push(letters.slice(last).join(""));
  return parts.filter((part) => part !== "");
}

/** A snippet without its first line where that is the heading which stands above it anyway. */
export function withoutHeading(text, highlights, heading) {
  const line = /^#{1,6}[ \t]+(.*?)[ \t#]*(?:\n\s*|$)/.exec(text);
  if (!heading || !line || line[1].trim() !== heading.trim() || line[0].length === text.length) return [text, highlights];
  const cut = Array.from(line[0]).length;
  return [text.slice(line[0].length), highlights.filter(([start]) => start >= cut).map(([start, end]) => [start - cut, end - cut])];
}

/** The words that a snippet has marked, in lower case: stems already followed by the server. */
export function markedWords(text, highlights) {
  const letters = Array.from(text);
  return [...new Set(highlights.map(([start, end]) => letters.slice(start, end).join("").toLowerCase()))];
}

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

/** Marks whole words below `root`. */
export function markWords(root, words) {
  const wanted = words.filter((word) => word.trim().length > 1).slice(0, 60);
  if (!wanted.length) return;
  wanted.sort((one, other) => other.length - one.length);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${wanted.map(escaped).join("|")})(?![\\p{L}\\p{N}_])`, "giu");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    const text = node.data;
    const parts = [];
    let last = 0;
    for (const match of text.matchAll(pattern)) {
      parts.push(text.slice(last, match.index), el("mark", {}, match[0]));
      last = match.index + match[0].length;
    }
    if (parts.length) node.replaceWith(...parts.filter((part) => part !== ""), text.slice(last));
  }
}

// Text that isn't Markdown, as it is: its headings as headings, the rest line by line.
import { el } from "./dom.js";

const MOST_LINES = 40; // of one block: a passage inside a wall of text is still found by its place
const UNDERLINE = /^([=\-~^"'*+#`:.])\1{2,}\s*$/;

/** Blocks of `text`, whose first line is number `firstLine`; `headings` as the server gives them. */
export function plain(text, firstLine, headings, isCode) {
  const lines = text.split("\n");
  const titles = new Map(isCode ? [] : headings.map((one) => [one.line, one]));
  const made = [];
  let block = [];
  let start = firstLine;
  const flush = (next) => {
    if (block.some((line) => line.trim())) {
      const element = el("pre", { class: isCode ? "code-lines" : "prose" }, block.join("\n").replace(/\s+$/, ""));
      element.dataset.line = start;
      element.dataset.end = start + block.length - 1;
      made.push(element);
    }
    block = [];
    start = next;
  };
  lines.forEach((line, place) => {
    const number = firstLine + place;
    const title = titles.get(number);
    if (title) {
      flush(number + 1);
      const element = el(`h${Math.min(title.level + 2, 6)}`, { class: `title-${title.level}` }, title.text);
      element.dataset.line = element.dataset.end = number;
      made.push(element);
    } else if (!block.length && titles.has(number - 1) && UNDERLINE.test(line)) {
      start = number + 1;
    } else {
      block.push(line);
      if (block.length >= MOST_LINES || (!line.trim() && !isCode)) flush(number + 1);
    }
  });
  flush(0);
  return made;
}

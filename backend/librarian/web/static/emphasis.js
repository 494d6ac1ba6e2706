// Emphasis in Markdown: which runs of * and _ belong together (CommonMark 6.2), once links, code and tags are known.
import { el } from "./dom.js";

const SIGN = /[!-/:-@[-`{-~]/; // of ASCII: other scripts close **“so”**and go on
const ANY_SIGN = /[\p{P}\p{S}]/u;

/** A run of equal signs, as it stands in its text. */
export class Run {
  constructor(text, place, length) {
    this.sign = text[place];
    this.length = this.left = length;
    const [before, after] = [text[place - 1] ?? " ", text[place + length] ?? " "];
    const [first, last] = [/\s/.test(before), /\s/.test(after)];
    const afterWord = !first && !ANY_SIGN.test(before);
    const beforeWord = !last && !ANY_SIGN.test(after);
    const opens = !last && (!SIGN.test(after) || !afterWord);
    const closes = !first && (!SIGN.test(before) || !beforeWord);
    const within = this.sign === "_" && opens && closes; // snake_case: only a sign beside it tells which it is
    this.opens = opens && (!within || !afterWord);
    this.closes = closes && (!within || !beforeWord);
  }

  /** Whether it may be closed by another: of two that do both, lengths must tell which is which. */
  pairs(other) {
    const unclear = this.closes || other.opens;
    return this.sign === other.sign && !(unclear && (this.length + other.length) % 3 === 0 && this.length % 3);
  }
}

const asText = (node) => (node instanceof Run ? node.sign.repeat(node.left) : node);

/** The nodes with what stands between runs that belong together as elements; other runs as they are written. */
export function emphasised(nodes) {
  const made = [];
  let open = []; // places of runs in `made`
  const close = (run) => {
    while (run.left) {
      const found = open.findLastIndex((place) => made[place].pairs(run));
      if (found < 0) return;
      const opener = made[open[found]];
      const both = Math.min(2, opener.left, run.left);
      const inner = made.splice(open[found] + 1).map(asText);
      opener.left -= both;
      run.left -= both;
      if (!opener.left) made.pop();
      open = open.slice(0, opener.left ? found + 1 : found);
      made.push(el(both === 2 ? "strong" : "em", {}, inner));
    }
  };
  for (const node of nodes) {
    if (node instanceof Run) {
      if (node.closes) close(node);
      if (!node.left) continue;
      if (node.opens) open.push(made.length);
    }
    made.push(node);
  }
  return made.map(asText);
}

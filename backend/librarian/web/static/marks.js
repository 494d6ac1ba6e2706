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

const FENCES = /^[ \t]*(`{3,}|~{3,}).*\n?/gm;
const BLOCKS = [
  /^ {0,3}\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*(?:\n|$)/gm, // rules, and those under a table's head
  /^ {0,3}#{1,6}[ \t]+/gm, /^ {0,3}>[ \t]?/gm,
];
const SPANS = [
  /<\/?(?:a|abbr|b|blockquote|br|caption|center|code|col|colgroup|dd|details|div|dl|dt|em|font|h[1-6]|hr|i|img|kbd|li|ol|p|pre|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul)(?:\s[^<>]*)?\/?>/gi,
  /!?\[(?=[^\]\n]*\]\()|\]\([^)\n]*\)/g, /\*\*|(?<![\p{L}\p{N}])__(?=\S)|(?<=\S)__(?![\p{L}\p{N}])/gu];

/**
 * A snippet of Markdown as one reads it: without the signs that a renderer would have turned into looks. Code stays as
 * it is, and so do words that aren't Markdown but only laid out like it (without `spans`).
 */
export function withoutMarkup(text, highlights, spans = true) {
  const gone = new Uint8Array(text.length);
  const code = new Uint8Array(text.length);
  let opened = null;
  for (const match of text.matchAll(FENCES)) {
    if (opened && !match[1].startsWith(opened.marks)) continue;
    gone.fill(1, match.index, match.index + match[0].length);
    if (opened) code.fill(1, opened.end, match.index);
    opened = opened ? null : { marks: match[1], end: match.index + match[0].length };
  }
  if (opened) code.fill(1, opened.end);
  if (spans) {
    for (const match of text.matchAll(/(?<!`)(`+)(?!`)([^]*?[^`])\1(?!`)/g)) {
      const [begin, end, ticks] = [match.index, match.index + match[0].length, match[1].length];
      if (code[begin]) continue;
      gone.fill(1, begin, begin + ticks).fill(1, end - ticks, end);
      code.fill(1, begin, end);
    }
  }
  for (const pattern of spans ? [...BLOCKS, ...SPANS] : BLOCKS) {
    for (const match of text.matchAll(pattern)) if (!code[match.index]) gone.fill(1, match.index, match.index + match[0].length);
  }
  return without(text, gone, highlights);
}

/** In reStructuredText: what opens, the words, what leads elsewhere, what closes. Literals first, which hold no others. */
const ROLES = [/(``)([^`\n]{1,300})()(``)/g, /(:[a-z][\w+.:-]{0,40}:`[!~]?)(?!\d+`)([^`<>]{1,300}?)(\s*<[^<>`]{1,300}>)?(`)/gi,
  /(?<![`:])(`)([^`<>]{1,300}?)(\s*<[^<>`]{1,300}>)?(`__?)(?!\w)/g, /(\*\*)(?=\S)([^*\n]{1,200})()(?<=\S)(\*\*)/g];

/** A snippet of reStructuredText as one reads it: without the signs of roles, links, literals and strong words. */
export function withoutRoles(text, highlights) {
  const gone = new Uint8Array(text.length);
  for (const pattern of ROLES) {
    for (const { index, 0: whole, 1: opening, 2: words } of text.matchAll(pattern)) {
      if (gone.subarray(index, index + whole.length).some(Boolean)) continue;
      gone.fill(1, index, index + opening.length).fill(1, index + opening.length + words.length, index + whole.length);
    }
  }
  return without(text, gone, highlights);
}

/** The text and its highlights without the characters that are `gone`. */
function without(text, gone, highlights) {
  const places = []; // of each character of the text: its number among those that stay
  let kept = "";
  let count = 0;
  let at = 0;
  for (const letter of text) {
    places.push(count);
    if (!gone[at] && !(letter === "\n" && /(^|\n)\s*\n?$/.test(kept) && kept.endsWith("\n"))) {
      kept += letter;
      count += 1;
    }
    at += letter.length;
  }
  places.push(count);
  return [kept, highlights.map(([start, end]) => [places[start], places[end]]).filter(([start, end]) => end > start)];
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

/** Scripts that don't part their words. */
const UNPARTED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** What may be marked of a question whose answer isn't there to ask. */
export const wordsOf = (question) => question.toLowerCase().split(/[^\p{L}\p{N}_.-]+/u).filter((one) => one.length > (UNPARTED.test(one) ? 1 : 2));

const whole = (word) => (UNPARTED.test(word) ? escaped(word) : `(?<![\\p{L}\\p{N}_])${escaped(word)}(?![\\p{L}\\p{N}_])`);
const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

/** Marks whole words below `root`. */
export function markWords(root, words) {
  const wanted = words.filter((word) => word.trim().length > 1).slice(0, 60);
  if (!wanted.length) return;
  wanted.sort((one, other) => other.length - one.length);
  const pattern = new RegExp(wanted.map(whole).join("|"), "giu");
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

// AsciiDoc's blocks as elements, each knowing the lines that it comes from. No HTML is ever parsed.
import { alt, inline, valued } from "./asciidoc-inline.js";
import { tableOf } from "./asciidoc-table.js";
import { el } from "./dom.js";
import { link, picture } from "./inline.js";
import { named } from "./notes.js";
import { anchorsOf } from "./outline.js";
import { code, frontMatter, noted, spanning, titled } from "./parts.js";

const ATTRIBUTE = /^:(!?[\w-]+!?):(?:[ \t]+(.*))?$/;
const TITLE = /^(?:={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+[=#]+)?$/;
const DELIMITER = /^(?:(-{4,}|\.{4,}|\+{4,}|\/{4,}|={4,}|\*{4,}|_{4,}|--)|(```)[\w+#.,-]*|([|,:!])={3,})$/;
const META = /^\[(?!\[)([^\n]*)\]$/;
const ANCHOR = /^\[\[([^\],\s]+)(?:,[^\]]*)?\]\]$/;
const NAME = /^\.([^\s.].*)$/; // of the block below
const ITEM = /^\s*(?:([*-]|\*{2,6})|(\.{1,6})|(\d{1,9}\.|[a-zA-Z][.)])|(<(?:\d{1,3}|\.)>))\s+(\S.*)$/;
const TERM = /^\s*(\S[^\n]{0,400}?)(:{2,4}|;;)(?:\s+(.*))?$/;
const NOTE = /^(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+(.*)$/;
const MACRO = /^(image|video|audio|include|toc|ifdef|ifndef|ifeval|endif)::(\S*?)\[(.*)\]$/;
const DEEPEST = 12;

const isBlank = (line) => !line.text.trim();
const textOf = (lines) => lines.map((line) => line.text).join("\n");

/**
 * Blocks of `text`, whose first line is number `firstLine`; `headings` as the server gives them. `context`: {from,
 * address(target), follow(target)}.
 */
export function asciidoc(text, firstLine, headings, context) {
  const lines = text.split("\n").map((one, place) => ({ text: one.trimEnd(), number: firstLine + place }));
  const [attributes, places, captions] = [new Map(), new Set(), new Map()];
  for (const line of lines) {
    const attribute = ATTRIBUTE.exec(line.text);
    if (attribute) attributes.set(attribute[1].toLowerCase(), attribute[2] ?? "");
  }
  const titles = new Map(headings.map((one) => [one.line, one]));
  anchorsOf(headings).forEach((anchor, place) => captions.set(anchor, headings[place].text));
  lines.forEach((line, at) => {
    const anchor = anchorOf(line.text) ?? /^\[\[([^\],\s]+)/.exec(line.text)?.[1];
    if (!anchor) return;
    places.add(anchor);
    const below = lines.slice(at + 1, at + 6).find((one) => !isBlank(one) && !META.test(one.text));
    const caption = titles.get(below?.number)?.text ?? NAME.exec(below?.text ?? "")?.[1];
    if (caption) captions.set(anchor, caption);
  });
  const inside = { ...context, attributes, places, captions, titles };
  const front = firstLine === 1 ? header(lines, inside) : null;
  return front ? [...front.made, ...blocks(lines.slice(front.used), inside, 0)] : blocks(lines, inside, 0);
}

const anchorOf = (text) => ANCHOR.exec(text)?.[1] ?? /^\[[^\]]*?#([\w:.-]+)[^\]]*\]$/.exec(text)?.[1];

/** The document's title with the lines below it: authors, version, attributes. */
function header(lines, context) {
  let at = 0;
  const told = [];
  const skip = () => { for (; at < lines.length && (isBlank(lines[at]) || /^\/\/(?!\/)/.test(lines[at].text) || ATTRIBUTE.test(lines[at].text)); at += 1) if (ATTRIBUTE.test(lines[at].text)) told.push(lines[at]); };
  skip();
  if (at >= lines.length || !/^[=#]\s/.test(lines[at].text) || !context.titles.has(lines[at].number)) return null;
  const made = [spanning(titled(1, inline(TITLE.exec(lines[at].text)[1], context)), [lines[at]])];
  at += 1;
  const people = [];
  for (; at < lines.length && !isBlank(lines[at]) && !META.test(lines[at].text) && !MACRO.test(lines[at].text); at += 1) (ATTRIBUTE.test(lines[at].text) ? told : people).push(lines[at]);
  const shown = people.filter((line) => !line.text.startsWith("//"));
  if (shown.length) made.push(spanning(el("p", { class: "as-written" }, inline(textOf(shown), context)), shown));
  if (told.length) made.push(spanning(frontMatter(told), told));
  return { made, used: at };
}

function blocks(lines, context, depth) {
  if (depth > DEEPEST) return lines.length ? [spanning(el("pre", {}, textOf(lines)), lines)] : [];
  const made = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) { at += 1; continue; }
    const [elements, used] = blockAt(lines, at, context, depth);
    made.push(...elements);
    at += used;
  }
  return made;
}

/** The block at a line with what stands above it in brackets, as [elements, lines taken]. */
function blockAt(lines, start, context, depth) {
  const meta = { style: "", places: [], options: new Set(), named: new Map(), title: null, anchor: null };
  let at = start;
  for (; at < lines.length; at += 1) {
    const text = lines[at].text;
    const anchor = ANCHOR.exec(text);
    if (anchor) meta.anchor = anchor[1];
    else if (META.test(text)) described(valued(META.exec(text)[1], context), meta);
    else if (NAME.test(text) && !ITEM.test(text)) meta.title = [inline(NAME.exec(text)[1], context), lines[at]];
    else if (!(at > start && (isBlank(lines[at]) || /^\/\/(?!\/)/.test(text)) && at - start < 4)) break;
  }
  if (at >= lines.length || isBlank(lines[at])) return [[], Math.max(1, at - start)];
  const read = (inner) => blocks(inner, { ...context, signs: [] }, depth + 1);
  const [element, used] = block(lines, at, meta, read, context);
  const end = at + used;
  const heading = element && !/^H\d/.test(element.tagName) && meta.title && !meta.isNamed ? spanning(el("p", { class: "note-title" }, meta.title[0]), [meta.title[1]]) : null;
  const place = meta.anchor ? el("span", { class: "anchor", "data-anchor": meta.anchor }) : null;
  return [[place, heading, element && spanning(element, lines.slice(at, end))].filter(Boolean), end - start];
}

/** What stands in brackets above a block. */
function described(text, meta) {
  const parts = text.match(/(?:"[^"]*"|[^,"])+/g) ?? [];
  parts.forEach((part, place) => {
    const [, name, value] = /^\s*([\w-]+)\s*=\s*(.*)$/.exec(part) ?? [];
    if (name) meta.named.set(name, value.trim().replace(/^"(.*)"$/, "$1"));
    else if (place) meta.places[place] = part.trim().replace(/^"(.*)"$/, "$1");
    else {
      const [, style, rest] = /^\s*([^#.%]*)(.*)$/.exec(part);
      meta.style = style.trim() || meta.style;
      for (const [, sign, word] of rest.matchAll(/([#.%])([^#.%]+)/g)) {
        if (sign === "#") meta.anchor = word.trim();
        if (sign === "%") meta.options.add(word.trim());
      }
    }
  });
  if (text.startsWith(",")) meta.places[1] ??= parts[0]?.trim(); // [,language]
}

function block(lines, at, meta, read, context) {
  const text = lines[at].text;
  const found = context.titles.get(lines[at].number);
  if (found && (TITLE.test(text) || lines[at + 1])) return [titled(found.level, inline(TITLE.exec(text)?.[1] ?? text, context)), TITLE.test(text) ? 1 : 2];
  const delimiter = DELIMITER.exec(text);
  if (delimiter) return delimited(lines, at, delimiter, meta, read, context);
  if (/^\/\/(?!\/)/.test(text) || ATTRIBUTE.test(text) || /^<<<+$/.test(text)) return [null, 1];
  if (/^(?:'{3,}|-{3}|\*{3})$/.test(text)) return [el("hr"), 1];
  const macro = MACRO.exec(text);
  if (macro) return [macroOf(macro, text, context), 1];
  const item = listAt(lines, at, read, context, context.signs ?? []);
  if (item) return item;
  if (/^\s/.test(text) || /^(listing|literal|source)$/.test(meta.style)) return literal(lines, at, meta);
  return paragraph(lines, at, meta, read, context);
}

function macroOf([, name, target, list], text, context) {
  if (name === "image") {
    const shown = picture(alt(list, valued(target, context)));
    const url = /(?:^|,)\s*link="?([^",\]]+)/.exec(list)?.[1];
    return el("p", {}, url ? link([shown], valued(url, context), context) : shown);
  }
  if (name === "video" || name === "audio") return el("p", {}, picture(alt(list, target)));
  if (name === "include") return el("p", {}, el("code", {}, text));
  return /^if(n?def)$/.test(name) && list ? el("p", {}, inline(list, context)) : null;
}

/** What is indented, or a paragraph that its style says is code, as it is. */
function literal(lines, at, meta) {
  let end = at;
  while (end < lines.length && !isBlank(lines[end])) end += 1;
  const inner = lines.slice(at, end);
  const least = Math.min(...inner.map((line) => line.text.length - line.text.trimStart().length));
  return [code(inner.map((line) => line.text.slice(least)).join("\n"), meta.places[1]), end - at];
}

function delimited(lines, at, [mark, rule, fence, table], meta, read, context) {
  const closes = fence ?? mark;
  let end = at + 1;
  while (end < lines.length && lines[end].text !== closes) end += 1;
  const inner = lines.slice(at + 1, end);
  const used = Math.min(end + 1, lines.length) - at;
  if (table) {
    meta.isNamed = true;
    const name = meta.title?.[0] ?? null;
    return [tableOf(inner, meta, table, name, read, (words) => inline(words, context)) ?? el("pre", {}, textOf(inner)), used];
  }
  const sign = fence ? "-" : rule === "--" ? "open" : rule[0];
  if (sign === "/" || meta.style === "comment") return [null, used];
  if (/[-.]/.test(sign) || (sign === "open" && /^(source|listing|literal)$/.test(meta.style)) || /^(stem|latexmath|asciimath)$/.test(meta.style)) {
    return [code(textOf(inner), fence ? mark.slice(3).split(",")[0] : meta.places[1] ?? meta.named.get("language")), used];
  }
  if (sign === "+") return [code(textOf(inner), "raw"), used];
  if (meta.style === "verse") return [el("blockquote", {}, el("p", { class: "as-written" }, inline(textOf(inner), context)), attribution(meta, context)), used];
  if (sign === "_" || meta.style === "quote") return [el("blockquote", {}, read(inner), attribution(meta, context)), used];
  const kind = /^(note|tip|important|warning|caution)$/i.test(meta.style) ? named(meta.style) : "";
  if (!kind && sign === "open" && !meta.title) return [el("div", {}, read(inner)), used];
  meta.isNamed = true;
  return [asNote(kind, meta, read(inner)), used];
}

function asNote(kind, meta, inner) {
  const title = meta.title && spanning(el("p", { class: "note-title" }, kind && `${kind}: `, meta.title[0]), [meta.title[1]]);
  return noted(title ?? (kind ? el("p", { class: "note-title" }, kind) : null), inner);
}

function attribution(meta, context) {
  const told = [meta.places[1], meta.places[2]].filter(Boolean).join(", ");
  return told ? el("p", {}, "— ", inline(told, context)) : null;
}

const startsBlock = (text) => DELIMITER.test(text) || META.test(text) || ANCHOR.test(text);

function paragraph(lines, at, meta, read, context) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !startsBlock(lines[end].text)) end += 1;
  const used = lines.slice(at, end);
  const inner = used.filter((line) => !/^\/\/(?!\/)/.test(line.text) && !/^(?:ifdef|ifndef|ifeval|endif)::\S*\[\]$/.test(line.text));
  const note = NOTE.exec(inner[0]?.text ?? "");
  const kind = note?.[1] ?? /^(NOTE|TIP|IMPORTANT|WARNING|CAUTION)$/.exec(meta.style)?.[1];
  const words = inline(textOf(note ? [{ ...inner[0], text: note[2] }, ...inner.slice(1)] : inner), context);
  if (kind) meta.isNamed = true;
  if (kind) return [asNote(named(kind), meta, el("p", {}, words)), end - at];
  if (meta.style === "quote" || meta.style === "verse") return [el("blockquote", {}, el("p", { class: meta.style === "verse" ? "as-written" : "" }, words), attribution(meta, context)), end - at];
  return [el("p", {}, words), end - at];
}

// -- lists -----------------------------------------------------------------------------------------------------------

/** The sign of an item's kind and level, its term and its words; null for a line that begins none. */
function itemOf(text) {
  const match = ITEM.exec(text);
  if (match) return { sign: match[1] ?? match[2] ?? (match[4] ? "<>" : /\d/.test(match[3]) ? "1." : match[3].replace(/[a-zA-Z]/, "a")), words: match[5] };
  const term = /^\s*\/\//.test(text) ? null : TERM.exec(text);
  return term ? { sign: term[2], term: term[1], words: term[3] ?? "" } : null;
}

/** The list at a line, with those inside it, as [element, lines taken]; `above` are the signs of those around it. */
function listAt(lines, at, read, context, above) {
  const first = itemOf(lines[at].text);
  if (!first || above.length > DEEPEST) return null;
  const items = [];
  let end = at;
  let next = at;
  while (next < lines.length) {
    const item = itemOf(lines[next].text);
    if (item?.sign !== first.sign) break;
    const [element, after] = itemAt(lines, next, item, read, context, [...above, first.sign]);
    items.push(element);
    end = after;
    next = ahead(lines, after);
  }
  const isOrdered = /^[.\da<]/.test(first.sign);
  const start = /^\s*(\d+)\./.exec(lines[at].text)?.[1];
  const made = first.term !== undefined ? el("dl", {}, items) : el(isOrdered ? "ol" : "ul", { start: start && start !== "1" ? start : null, class: first.sign === "a." ? "lower-alpha" : "" }, items);
  return [made, end - at];
}

/** The next line that isn't blank: lists go on behind blank lines. */
function ahead(lines, at) {
  let next = at;
  while (next < lines.length && isBlank(lines[next])) next += 1;
  return next;
}

function itemAt(lines, at, item, read, context, signs) {
  const text = item.words ? [{ ...lines[at], text: item.words }] : [];
  let end = at + 1;
  if (!item.words && item.term !== undefined) {
    const below = ahead(lines, end);
    if (below < lines.length && !itemOf(lines[below].text) && !startsBlock(lines[below].text) && (below === end || /^\s/.test(lines[below].text)) && lines[below].text !== "+") end = below;
  }
  for (; end < lines.length && !isBlank(lines[end]) && lines[end].text !== "+" && !itemOf(lines[end].text) && !startsBlock(lines[end].text) && !NAME.test(lines[end].text); end += 1) text.push({ ...lines[end], text: lines[end].text.trimStart() });
  const task = item.term === undefined ? /^\[([ xX*])\]\s+/.exec(text[0]?.text ?? "") : null;
  const words = textOf(text.filter((line) => !/^\/\/(?!\/)/.test(line.text)));
  const parts = task ? [task[1] === " " ? "☐ " : "☑ ", ...inline(words.slice(task[0].length), context)] : inline(words, context);
  const [inner, after] = attached(lines, end, read, context, signs);
  const used = lines.slice(at, after);
  if (item.term === undefined) return [spanning(el("li", {}, parts, inner), used), after];
  const told = [...(parts.length ? [el("p", {}, parts)] : []), ...inner];
  return [spanning(el("div", {}, el("dt", {}, inline(item.term, context)), told.length ? el("dd", {}, told) : null), used), after];
}

/** What belongs to an item below its words: lists of another sign, what is indented, and blocks behind a plus. */
function attached(lines, from, read, context, signs) {
  const inner = [];
  let end = from;
  for (;;) {
    const next = ahead(lines, end);
    if (next >= lines.length) break;
    const text = lines[next].text;
    const item = itemOf(text);
    if (text === "+") {
      const below = ahead(lines, next + 1);
      const isOwn = below < lines.length && !signs.includes(itemOf(lines[below].text)?.sign);
      const [made, used] = isOwn ? blockAt(lines, below, { ...context, signs }, signs.length) : [[], 0];
      inner.push(...made);
      end = isOwn ? below + used : next + 1;
    } else if (item && !signs.includes(item.sign)) {
      const [made, used] = listAt(lines, next, read, context, signs) ?? [null, 0];
      if (!made) break;
      inner.push(spanning(made, lines.slice(next, next + used)));
      end = next + used;
    } else if (!item && /^\s/.test(text)) {
      const [made, used] = literal(lines, next, { places: [] });
      inner.push(spanning(made, lines.slice(next, next + used)));
      end = next + used;
    } else break;
  }
  return [inner, end];
}

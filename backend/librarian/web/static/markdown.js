// Markdown's blocks as elements, each knowing the lines that it comes from. No HTML is ever parsed.
import { el } from "./dom.js";
import { ENDLESS, inline, isEmpty, labelOf, literal } from "./inline.js";
import { note, opensNote } from "./notes.js";
import { code, frontMatter, noted, scrolled, spanning, titled } from "./parts.js";

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}(?=\S)| |\t|$)(.*)$/;
const DELIMITER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const REFERENCE = /^ {0,3}\[([^\]^]+)\]:[ ]*\n?[ ]*<?(\S+?)>?(?: *\n? *(?<=\s)["'(].*["')])? *(?=\n|$)/;
const SILENT = /^ {0,3}<(script|style|template|iframe|object|svg|math|textarea|noscript)\b/i;
const TABLE = /^ {0,3}<table\b/i;
const ABRUPT = /^ {0,3}<(?:table\b|!--(?!.*-->))/i; // what a paragraph ends before
const LONGEST_TAG = 20; // lines
const DEEPEST = 12;

const isBlank = (line) => !line.text.trim();

/** Blocks of `text`, whose first line is number `firstLine`. `context`: {from, address(target), follow(target)}; adds `references`. */
export function markdown(text, firstLine, context) {
  const lines = text.split("\n").map((one, place) => ({ text: one.replace(/\t/g, "    "), number: firstLine + place }));
  const references = new Map(context.references ?? []);
  for (const at of lines.keys()) {
    const found = reference(lines, at);
    if (found) references.set(labelOf(found.name), found.url);
  }
  const inside = { ...context, references };
  const start = firstLine === 1 && /^---\s*$/.test(lines[0].text) ? metadata(lines) : null;
  return start ? [start.element, ...blocks(lines.slice(start.used), inside, 0)] : blocks(lines, inside, 0);
}

/** Blocks of what was written out of another format (Word, HTML, tables): its words are what they are, none is markup. */
export function written(text, firstLine, headings) {
  const lines = text.split("\n").map((one, place) => ({ text: one, number: firstLine + place }));
  return blocks(lines, { titles: new Map(headings.map((one) => [one.line, one])) }, 0);
}

const words = (text, context) => (context.titles ? literal(text) : inline(text, context));

function metadata(lines) {
  const end = lines.findIndex((line, place) => place > 0 && /^(---|\.\.\.)\s*$/.test(line.text));
  return end < 1 ? null : { used: end + 1, element: spanning(frontMatter(lines.slice(1, end)), lines.slice(0, end + 1)) };
}

/** What a link may name elsewhere as {name, url, used}: its address, and then its title, may stand on a line of their own. */
function reference(lines, at) {
  if (!/^ {0,3}\[[^\]^]+\]:/.test(lines[at].text)) return null;
  const match = REFERENCE.exec(lines.slice(at, at + 3).map((line) => line.text).join("\n"));
  return match && { name: match[1], url: match[2], used: match[0].split("\n").length };
}

function blocks(lines, context, depth) {
  if (depth > DEEPEST) return [spanning(el("pre", {}, lines.map((line) => line.text).join("\n")), lines)];
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const left = isBlank(lines[at]) ? 1 : context.titles ? 0 : reference(lines, at)?.used;
    if (left) { at += left; continue; }
    const [element, used] = block(lines, at, context, depth);
    if (element) made.push(spanning(element, lines.slice(at, at + used)));
    at += Math.max(1, used);
  }
  return made;
}

function block(lines, at, context, depth) {
  const text = lines[at].text;
  if (context.titles) {
    const found = context.titles.get(lines[at].number);
    return found ? [title(found.level, found.text, context), 1]
      : fence(lines, at) ?? quote(lines, at, context, depth) ?? list(lines, at, context, depth) ?? table(lines, at, context) ?? asWritten(lines, at);
  }
  return aside(lines, at, context, depth) ?? fence(lines, at) ?? heading(text, context) ?? (RULE.test(text) ? [el("hr"), 1] : null)
    ?? quote(lines, at, context, depth) ?? list(lines, at, context, depth) ?? table(lines, at, context)
    ?? rawTable(lines, at, context) ?? silent(lines, at, context) ?? indented(lines, at) ?? paragraph(lines, at, context);
}

function aside(lines, at, context, depth) {
  const found = note(lines, at);
  if (!found) return null;
  const name = found.title ? spanning(el("p", { class: "note-title" }, inline(found.title, context)), [lines[at]]) : null;
  return [noted(name, blocks(found.inner, context, depth + 1)), found.used];
}

function fence(lines, at) {
  const open = FENCE.exec(lines[at].text);
  if (!open) return null;
  const [, margin, ticks, info] = open;
  const closes = new RegExp(`^ {0,3}${ticks[0] === "~" ? "~" : "`"}{${ticks.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closes.test(lines[end].text)) end += 1;
  const strip = new RegExp(`^ {0,${margin.length}}`);
  const inner = lines.slice(at + 1, end).map((line) => line.text.replace(strip, "")).join("\n");
  return [code(inner, /^[\w+#.-]+/.exec(info.trim())?.[0]), Math.min(end + 1, lines.length) - at];
}

function heading(text, context) {
  const match = HEADING.exec(text);
  return match ? [title(match[1].length, match[2] ?? "", context), 1] : null;
}

function title(level, text, context) {
  const [named, anchor] = /\s*\{:?\s*#([^}\s]+)[^}]*\}\s*$/.exec(context.titles ? "" : text) ?? [""];
  return titled(level, words(text.slice(0, text.length - named.length), context), anchor);
}

function quote(lines, at, context, depth) {
  if (!/^ {0,3}>/.test(lines[at].text)) return null;
  let end = at;
  while (end < lines.length && (/^ {0,3}>/.test(lines[end].text) || (!isBlank(lines[end]) && !startsBlock(lines[end].text)))) end += 1;
  const inner = lines.slice(at, end).map((line) => ({ ...line, text: line.text.replace(/^ {0,3}> ?/, "") }));
  return [el("blockquote", {}, blocks(inner, context, depth + 1)), end - at];
}

const startsBlock = (text) => FENCE.test(text) || HEADING.test(text) || RULE.test(text) || ITEM.test(text) || /^ {0,3}>/.test(text) || opensNote(text);

function list(lines, at, context, depth) {
  const first = ITEM.exec(lines[at].text);
  if (!first) return null;
  const ordered = /\d/.test(first[2]);
  const kind = first[2].at(-1);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const match = ITEM.exec(lines[end].text);
    if (!match || match[2].at(-1) !== kind || /\d/.test(match[2]) !== ordered || RULE.test(lines[end].text)) break;
    const width = match[1].length + match[2].length + Math.max(1, match[3].length);
    const inner = [{ ...lines[end], text: match[4] }];
    end += 1;
    while (end < lines.length) {
      const line = lines[end];
      const margin = line.text.length - line.text.trimStart().length;
      if (isBlank(line)) {
        const next = lines.slice(end + 1).find((one) => !isBlank(one));
        if (!next || next.text.length - next.text.trimStart().length < width) break;
      } else if (margin < width && (margin === 0 || ITEM.test(line.text) || isBlank(lines[end - 1]))) {
        if (isBlank(lines[end - 1]) || startsBlock(line.text)) break;
      }
      inner.push({ ...line, text: line.text.slice(Math.min(margin, width)) });
      end += 1;
    }
    items.push(inner);
    let next = end;
    while (next < lines.length && isBlank(lines[next])) next += 1;
    if (next < lines.length && ITEM.test(lines[next].text)) end = next;
  }
  while (end > at + 1 && isBlank(lines[end - 1])) end -= 1;
  const start = ordered ? parseInt(first[2], 10) : null;
  return [el(ordered ? "ol" : "ul", { start: start !== null && start !== 1 ? start : null }, items.map((inner) => item(inner, context, depth))), end - at];
}

function item(lines, context, depth) {
  const task = context.titles ? null : /^\[([ xX])\]\s+/.exec(lines[0].text);
  const inner = task ? [{ ...lines[0], text: lines[0].text.slice(task[0].length) }, ...lines.slice(1)] : lines;
  const made = blocks(inner, context, depth + 1);
  const loose = inner.some((line, place) => place > 0 && place < inner.length - 1 && isBlank(line));
  const content = loose ? made : made.flatMap((one) => (one.tagName === "P" ? [...one.childNodes] : [one]));
  const box = task ? [task[1] === " " ? "☐ " : "☑ "] : [];
  return spanning(el("li", {}, box, content), lines);
}

function cells(text, context) {
  const row = text.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  if (context.titles) return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
  return (row.match(/(?:\\.|`[^`]*`|[^|\\`]|`|\\)+|(?<=\|)(?=\|)|^(?=\|)/g) ?? [row]).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

/** Whether a table begins here: a row above a line that parts it from others. A line that parts nothing makes a heading. */
const opensTable = (lines, at) => lines[at].text.includes("|") && DELIMITER.test(lines[at + 1]?.text ?? "") && !/^ *-+ *$/.test(lines[at + 1].text);

/** Whether a table begins below words that have no line of their own between: then it must be plain that it is one. */
const breaksIn = (lines, at, context) => opensTable(lines, at) && cells(lines[at].text, context).length === cells(lines[at + 1].text, context).length;

function table(lines, at, context) {
  if (!opensTable(lines, at)) return null;
  const head = cells(lines[at].text, context);
  let end = at + 2;
  while (end < lines.length && !isBlank(lines[end]) && lines[end].text.includes("|")) end += 1;
  const rows = lines.slice(at + 2, end).map((line) => spanning(
    el("tr", {}, cells(line.text, context).slice(0, head.length).map((cell) => el("td", {}, words(cell, context)))), [line]));
  return [scrolled(el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col" }, words(cell, context))))), el("tbody", {}, rows)), end - at];
}

/** A table written in HTML: its rows and cells, read like a paragraph each. Null for what isn't a simple one. */
function rawTable(lines, at, context) {
  if (!TABLE.test(lines[at].text)) return null;
  let end = at;
  while (end < lines.length && !/<\/table\b/i.test(lines[end].text)) end += 1;
  const used = lines.slice(at, end + 1);
  const text = used.map((line) => line.text).join("\n");
  if (text.split(/<table\b/i).length !== 2 || !/<\/table\s*>\s*$/i.test(text)) return null;
  const rows = [];
  let [place, number] = [0, 0];
  for (const row of text.matchAll(/<tr\b[^>]*>([^]*?)(?=<tr\b|<\/(?:tr|thead|tbody|table)\b)/gi)) {
    number += text.slice(place, row.index).split("\n").length - 1;
    place = row.index;
    const cells = [...row[1].matchAll(/<(t[dh])\b[^>]*>([^]*?)(?=<\/?t[dh]\b|$)/gi)];
    if (cells.length) rows.push(spanning(el("tr", {}, cells.map(([, name, inner]) => el(name.toLowerCase(), {}, inline(inner.trim(), context)))), used.slice(number, number + row[0].trimEnd().split("\n").length)));
  }
  const caption = /<caption\b[^>]*>([^]*?)<\/caption/i.exec(text)?.[1];
  return rows.length ? [scrolled(caption ? el("caption", {}, inline(caption, context)) : [], el("tbody", {}, rows)), end + 1 - at] : null;
}

/** Scripts, styles and comments: nothing to read but what stands behind them. Null for a tag that holds nothing, being closed at once or never. */
function silent(lines, at, context) {
  const text = lines[at].text;
  const name = SILENT.exec(text)?.[1];
  const closes = name ? new RegExp(`</${name}[^>]*>?\\s*(.*)`, "i") : /^ {0,3}<!--/.test(text) ? /-->\s*(.*)/ : null;
  if (!closes || (name && isEmpty(lines.slice(at, at + LONGEST_TAG).map((line) => line.text).join("\n")))) return null;
  let end = at;
  while (end < lines.length && !closes.test(lines[end].text)) end += 1;
  if (end === lines.length) return name && !ENDLESS.test(name) ? null : [null, end - at];
  const behind = closes.exec(lines[end].text)[1];
  if (!behind) return [null, end + 1 - at];
  const [element, used] = paragraph([{ ...lines[end], text: behind }, ...lines.slice(end + 1)], 0, context);
  return [element, end - at + used];
}

function indented(lines, at) {
  if (!/^ {4}/.test(lines[at].text)) return null;
  let end = at;
  while (end < lines.length && (/^ {4}/.test(lines[end].text) || isBlank(lines[end]))) end += 1;
  while (isBlank(lines[end - 1])) end -= 1;
  return [code(lines.slice(at, end).map((line) => line.text.slice(4)).join("\n")), end - at];
}

function paragraph(lines, at, context) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end])) {
    const text = lines[end].text;
    const underline = /^ {0,3}(=+|-+)[ \t]*$/.exec(text);
    if (underline) {
      const named = lines.slice(at, end).map((line) => line.text.trim()).join(" ");
      return [title(underline[1][0] === "=" ? 1 : 2, named, context), end + 1 - at];
    }
    if (breaksIn(lines, end, context) || ABRUPT.test(text)) break;
    if (startsBlock(text) && !/^ {0,3}\d+[.)]/.test(text.replace(/^ {0,3}1[.)]/, "-"))) break;
    end += 1;
  }
  const inner = lines.slice(at, end).map((line) => line.text.trimStart()).join("\n");
  return [el("p", {}, inline(inner.trimEnd(), context)), end - at];
}

function asWritten(lines, at) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end])) end += 1;
  return [el("p", { class: "as-written" }, literal(lines.slice(at, end).map((line) => line.text).join("\n"))), end - at];
}

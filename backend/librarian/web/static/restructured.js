// reStructuredText's blocks as elements, each knowing the lines that it comes from. No HTML is ever parsed.
import { el } from "./dom.js";
import { code, frontMatter, spanning, titled } from "./parts.js";
import { directive } from "./restructured-directives.js";
import { inline } from "./restructured-inline.js";
import { bulletsAt, dedented, endOf, isBlank, itemAt, linesOf, margin, parted, trimmed } from "./restructured-lines.js";
import { definitions, placeNamed } from "./restructured-names.js";
import { drawn } from "./restructured-tables.js";

const RULE = /^([!-/:-@[-`{-~])\1{3,}$/;
const ENUMERATOR = /^(\()?(\d{1,9}|[a-zA-Z]|[ivxlcdm]{2,9}|[IVXLCDM]{2,9}|#)([.)])(?: +|$)/;
const FIELD = /^:(?![: ])((?:[^:\\]|\\.|:(?![ `]|$)){0,199}[^ :\\]):(?: +|$)/;
const OPTION = /^((?:-\w|\+\w|--?[a-zA-Z0-9][\w-]*|\/[A-Z]+)(?:[ =](?:<[^<>]+>|[a-zA-Z][\w-]*))?(?:, (?:-\w|\+\w|--?[a-zA-Z0-9][\w-]*|\/[A-Z]+)(?:[ =](?:<[^<>]+>|[a-zA-Z][\w-]*))?)*)(?:  +|$)/;
const EXPLICIT = /^\.\.(?: +|$)/;
const DIRECTIVE = /^([\w:+.-]*[\w+.-]) ?::(?: +(.*)|$)/;
const NOTE = /^\[(\d+|#[\w.-]*|\*|[\p{L}\p{N}][\p{L}\p{N}._:+-]*)\](?: +|$)/u;
const TARGET = /^_(?:`(?:[^`\\]|\\.)+`|(?![ _])(?:[^\\:]|\\.|:(?! |$))+|_):(?: |$)/;
const SUBSTITUTION = /^\|(?! )[^|]*\|(?: |$)/;
const OTHER = /^(?:\.\.|\||>>>)(?: |$)|^[-*+•‣⁃] /; // what begins something else than a term
const DEEPEST = 12;

/**
 * Blocks of `text`, whose first line is number `firstLine`; `headings` as the server gives them. `context`: {from,
 * address(target), follow(target)}.
 */
export function restructured(text, firstLine, headings, context) {
  const lines = linesOf(text, firstLine);
  const inside = { ...context, ...definitions(lines, headings), titles: new Map(headings.map((one) => [one.line, one])) };
  const made = blocks(lines, inside, 0);
  const first = lines.find((line) => !isBlank(line));
  if (firstLine > 1 || !made.length || !FIELD.test(first.text)) return made;
  const about = lines.slice(0, Number(made[0].dataset.end));
  return [spanning(frontMatter(trimmed(about)), trimmed(about)), ...made.slice(1)];
}

const source = (lines) => el("pre", {}, lines.map((line) => line.text).join("\n"));

function blocks(lines, context, depth) {
  if (depth > DEEPEST) return lines.length ? [spanning(source(dedented(lines)), lines)] : [];
  const made = [];
  let literal = false; // the paragraph above announces that its words end
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) { at += 1; continue; }
    const [element, used, announces] = (literal && verbatim(lines, at)) || block(lines, at, context, depth);
    if (element) made.push(...[element].flat().map((one) => (one.tagName === "SPAN" ? one : spanning(one, lines.slice(at, at + used)))));
    at += used;
    literal = Boolean(announces);
  }
  return made;
}

function block(lines, at, context, depth) {
  const read = (inner) => blocks(inner, context, depth + 1);
  const text = lines[at].text;
  return (depth ? null : title(lines, at, context)) ?? (text[0] === " " ? quote(lines, at, read) : null)
    ?? explicit(lines, at, read, context) ?? bullets(lines, at, read) ?? enumerated(lines, at, read)
    ?? pairs(lines, at, FIELD, (match) => inline(match[1], context), read) ?? pairs(lines, at, OPTION, (match) => el("code", {}, match[1]), read)
    ?? session(lines, at) ?? verses(lines, at, context) ?? table(lines, at, read) ?? rule(lines, at)
    ?? defined(lines, at, read, context) ?? paragraph(lines, at, context);
}

function title(lines, at, context) {
  const found = context.titles.get(lines[at].number);
  if (!found || at + 1 >= lines.length) return null;
  const isFramed = RULE.test(lines[at].text) || /^([^\w\s])\1*$/.test(lines[at].text);
  return [titled(found.level, inline(lines[isFramed ? at + 1 : at].text.trim(), context)), Math.min(isFramed ? 3 : 2, lines.length - at)];
}

function quote(lines, at, read) {
  const end = endOf(lines, at);
  return [el("blockquote", {}, read(dedented(lines.slice(at, end)))), end - at];
}

/** What is indented, or each line begun by the same sign, below a paragraph that ends with two colons. */
function verbatim(lines, at) {
  const sign = lines[at].text[0];
  let end = at;
  if (sign === " ") end = endOf(lines, at);
  else if (/[!-/:-@[-`{-~]/.test(sign)) while (end < lines.length && lines[end].text[0] === sign) end += 1;
  return end > at ? [code(dedented(lines.slice(at, end)).map((line) => line.text).join("\n")), end - at] : null;
}

// -- lists -----------------------------------------------------------------------------------------------------------

/** What an item of a list shows: blocks, but bare words where all its paragraphs are one, with or without a list below. */
function itemOf(inner, read) {
  const made = read(inner);
  const isLoose = made.filter((one) => one.tagName === "P").length > 1;
  const content = isLoose ? made : made.flatMap((one) => (one.tagName === "P" ? [...one.childNodes] : [one]));
  return spanning(el("li", {}, content), trimmed(inner));
}

function bullets(lines, at, read) {
  const found = bulletsAt(lines, at);
  return found && [el("ul", {}, found[0].map((inner) => itemOf(inner, read))), found[1] - at];
}

const SHAPES = { a: "lower-alpha", A: "upper-alpha", i: "lower-roman", I: "upper-roman" };
const ROMAN = { i: 1, v: 5, x: 10, l: 50, c: 100, d: 500, m: 1000 };

function numberOf(sign, kind) {
  if (/\d/.test(sign)) return parseInt(sign, 10);
  if (kind === "a" || kind === "A") return sign.toLowerCase().charCodeAt(0) - 96;
  return [...sign.toLowerCase()].reduce((sum, one, place, all) => sum + (ROMAN[one] < (ROMAN[all[place + 1]] ?? 0) ? -1 : 1) * ROMAN[one], 0);
}

function kindOf(sign) {
  if (/[\d#]/.test(sign)) return "1";
  const isRoman = sign.length > 1 || /^i$/i.test(sign);
  return sign === sign.toLowerCase() ? (isRoman ? "i" : "a") : isRoman ? "I" : "A";
}

function enumerated(lines, at, read) {
  const first = ENUMERATOR.exec(lines[at].text);
  if (!first || (first[1] && first[3] === ".")) return null;
  const kind = kindOf(first[2]);
  const start = first[2] === "#" ? 1 : numberOf(first[2], kind);
  const numbered = (line, number) => {
    const match = line && ENUMERATOR.exec(line.text);
    if (!match || match[1] !== first[1] || match[3] !== first[3]) return null;
    return match[2] === "#" || ((kind === "1" ? /\d/ : /[a-z]/i).test(match[2]) && numberOf(match[2], kind) === number) ? match : null;
  };
  const items = [];
  let end = at;
  for (let next = at, match = first; match; match = numbered(lines[next], start + items.length)) {
    const below = lines[next + 1];
    if (below && !isBlank(below) && !margin(below) && !numbered(below, start + items.length + 1)) break; // words that only begin like one
    const [inner, after] = itemAt(lines, next, match[0].length);
    items.push(inner);
    end = after;
    for (next = after; next < lines.length && isBlank(lines[next]);) next += 1;
  }
  if (!items.length) return null;
  return [el("ol", { start: start === 1 ? null : start, class: SHAPES[kind] ?? "" }, items.map((inner) => itemOf(inner, read))), end - at];
}

/** A name and what belongs to it, as a list of such is made of. */
const pair = (names, inner, lines) => spanning(el("div", {}, names.map((name) => el("dt", {}, name)), inner.length ? el("dd", {}, inner) : null), lines);

/** Fields and options of a command line: what `sign` matches stands in front, the rest indented below. */
function pairs(lines, at, sign, named, read) {
  const made = [];
  let end = at;
  for (let next = at; next < lines.length;) {
    const match = sign.exec(lines[next].text);
    if (!match) break;
    const after = endOf(lines, next + 1);
    const rest = { ...lines[next], text: lines[next].text.slice(match[0].length) };
    if (sign === OPTION && !rest.text && after === next + 1) break;
    made.push(pair([named(match)], read(trimmed([rest, ...dedented(lines.slice(next + 1, after))])), lines.slice(next, after)));
    end = after;
    for (next = after; next < lines.length && isBlank(lines[next]);) next += 1;
  }
  return made.length ? [el("dl", { class: "fields" }, made), end - at] : null;
}

/** A line with lines indented directly below it: a term and its definition. */
function defined(lines, at, read, context) {
  const begins = (place) => place + 1 < lines.length && !margin(lines[place]) && !isBlank(lines[place]) && !isBlank(lines[place + 1])
    && margin(lines[place + 1]) > 0 && !/::$/.test(lines[place].text) && (place === at || !OTHER.test(lines[place].text));
  const made = [];
  let end = at;
  for (let next = at; begins(next);) {
    const after = endOf(lines, next + 1);
    const [term, ...kinds] = lines[next].text.split(/ +: +/);
    const name = [...inline(term, context), ...kinds.flatMap((kind) => [" : ", el("em", {}, inline(kind, context))])];
    made.push(pair([name], read(dedented(lines.slice(next + 1, after))), lines.slice(next, after)));
    end = after;
    for (next = after; next < lines.length && isBlank(lines[next]);) next += 1;
  }
  return made.length ? [el("dl", {}, made), end - at] : null;
}

// -- others ----------------------------------------------------------------------------------------------------------

function session(lines, at) {
  if (!/^>>>(?: |$)/.test(lines[at].text)) return null;
  let end = at;
  while (end < lines.length && !isBlank(lines[end])) end += 1;
  return [code(lines.slice(at, end).map((line) => line.text).join("\n")), end - at];
}

/** Lines that stay lines. */
function verses(lines, at, context) {
  if (!/^\|(?: |$)/.test(lines[at].text)) return null;
  const rows = [];
  let end = at;
  for (; end < lines.length && (/^\|(?: |$)/.test(lines[end].text) || margin(lines[end])); end += 1) {
    if (margin(lines[end])) rows.push(`${rows.pop()} ${lines[end].text.trim()}`);
    else rows.push(lines[end].text.slice(2));
  }
  return [el("p", {}, rows.flatMap((row, place) => [place ? el("br") : "", "\u00a0".repeat(row.length - row.trimStart().length), ...inline(row.trim(), context)])), end - at];
}

/** A table, or what should have been one as it is written. */
function table(lines, at, read) {
  if (!/^(\+-[-+]*-\+|=+(?: +=+)+)$/.test(lines[at].text)) return null;
  const found = drawn(lines, at, read);
  if (found) return found;
  let end = at;
  while (end < lines.length && !isBlank(lines[end])) end += 1;
  return [source(lines.slice(at, end)), end - at];
}

function rule(lines, at) {
  return RULE.test(lines[at].text) && (at + 1 === lines.length || isBlank(lines[at + 1])) ? [el("hr"), 1] : null;
}

function paragraph(lines, at, context) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !margin(lines[end])) end += 1;
  const text = lines.slice(at, end).map((line) => line.text).join("\n");
  const announces = /(?:^|[^\\:]):: *$/.test(text);
  const words = announces ? text.replace(/(?:^|\s+)::$/, "").replace(/::$/, ":") : text;
  return [words ? el("p", {}, inline(words, context)) : null, end - at, announces];
}

// -- explicit markup -------------------------------------------------------------------------------------------------

/** What two points begin: a directive, a note, a target, a substitution or a comment. */
function explicit(lines, at, read, context) {
  const text = lines[at].text;
  if (/^__ /.test(text)) return [null, 1];
  const opening = EXPLICIT.exec(text);
  if (!opening) return null;
  const first = { ...lines[at], text: text.slice(opening[0].length) };
  if (!first.text && (at + 1 === lines.length || isBlank(lines[at + 1]))) return [null, 1]; // ends what stands above
  const end = endOf(lines, at + 1);
  const below = end > at + 1 ? dedented(lines.slice(at + 1, end)) : [];
  const used = end - at;
  if (TARGET.test(first.text)) return target(lines, at, first.text);
  const note = NOTE.exec(first.text);
  if (note) return [footnote(note[1], trimmed([{ ...first, text: first.text.slice(note[0].length) }, ...below]), read, context), used];
  if (SUBSTITUTION.test(first.text)) return [null, used];
  const match = DIRECTIVE.exec(first.text);
  if (!match) return [null, used];
  const [options, rest] = parted(below);
  const argument = { ...first, text: match[2] ?? "" };
  const found = { name: match[1], argument, options, content: trimmed(rest), whole: trimmed([argument, ...rest]), below };
  return [directive(found, read, context), used];
}

function target(lines, at, text) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && margin(lines[end])) end += 1;
  const name = placeNamed(text);
  return [name ? el("span", { class: "anchor", "data-anchor": name }) : null, end - at];
}

function footnote(label, inner, read, context) {
  const key = label === "#" || label === "*" ? `${label}${(context.met[`.${label}`] += 1)}` : label.toLowerCase();
  const name = context.notes.get(key) ?? label;
  return el("div", { class: "footnote", "data-anchor": `note-${name}` }, el("span", {}, `[${name}]`), el("div", {}, read(inner)));
}

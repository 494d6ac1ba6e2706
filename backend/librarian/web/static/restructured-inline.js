// reStructuredText inside a paragraph, as nodes. What isn't understood stays as it is written; nothing is fetched.
import { el } from "./dom.js";
import { link, linkTo, picture } from "./inline.js";

const LONGEST = 20_000; // characters of a paragraph that are still looked at for markup
const DEEPEST = 4; // substitutions and links inside each other

const BEFORE = /^$|[\s"'([<{\-/:]|(?![\x00-\x7f])\p{P}/u; // what may stand in front of markup
const AFTER = String.raw`(?=$|[\s"')\]>}\-/:.,;!?\\]|(?![\x00-\x7f])\p{P})`; // and behind it
const CLOSED = { '"': '"', "'": "'", "(": ")", "[": "]", "{": "}", "<": ">" };
const WORD = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}]|[-._+:](?=[\p{L}\p{N}])){0,100}`;
const NEXT = new RegExp(String.raw`\\[^]|${"``"}|\*\*|\*|:[a-z0-9][\w.+:-]{0,60}:${"`"}|_${"`"}|${"`"}|\||\[(?:#[\w.-]*|\*|${WORD})\]_|https?://|(?<![\p{L}\p{N}])${WORD}__?`, "giu");
const ENDS = {
  "``": new RegExp(`(?<!\\s)\`\`${AFTER}`, "gu"),
  "**": new RegExp(`(?<![\\s\\\\])\\*\\*${AFTER}`, "gu"),
  "*": new RegExp(`(?<![\\s\\\\])\\*${AFTER}`, "gu"),
  "`": new RegExp(`(?<![\\s\\\\])\`(:[a-zA-Z0-9][\\w.+:-]*:|__?)?${AFTER}`, "gu"),
  "|": new RegExp(`(?<![\\s\\\\])\\|(__?)?${AFTER}`, "gu"),
};
const BEHIND = new RegExp(AFTER, "uy");
const ADDRESS = /https?:\/\/[^\s<>"'`)\]}]+[^\s<>"'`)\]}.,;:!?*_|\\]/y;

const WORDS = /^(ref|numref|any|doc|download|index|token|eq|text|t|title|title-reference|emphasis|dfn|term|abbr|abbreviation|ac|guilabel|menuselection|strong|subscript|superscript|button-\w+)$/;
const LOOKS = { __proto__: null, sub: "sub", subscript: "sub", sup: "sup", superscript: "sup", kbd: "kbd", strong: "strong", guilabel: "strong", menuselection: "strong", emphasis: "em", dfn: "em", term: "em", title: "em", t: "em", "title-reference": "em" };
const VERBATIM = /^(code|literal|samp|file|command|math|kbd|regexp|makevar|eval|code-\w+|raw-\w+|c:expr|cpp:expr)$/; // whose <…> is no target
const NUMBERED = { pep: (number) => `https://peps.python.org/pep-${number.padStart(4, "0")}/`, rfc: (number) => `https://datatracker.ietf.org/doc/html/rfc${number}` };

/** A name as references spell it: case and white space don't matter. */
export const nameOf = (text) => unescaped(text).trim().replace(/\s+/g, " ").toLowerCase();

/** Without backslashes: behind one a space is nothing, any other character itself. */
export const unescaped = (text) => text.replace(/\\(\s?)([^]?)/g, (_, space, next) => (space ? next : next));

/**
 * Nodes of a piece of inline reStructuredText. `context`: {from, address(target), follow(target)} and what the document
 * defines (see `definitions`).
 */
export function inline(text, context, depth = 0) {
  if (text.length > LONGEST) return [text];
  const nodes = [];
  const spent = new Set(); // marks that nothing closes from here on
  let plain = "";
  let place = 0;
  const ends = (mark, from) => {
    if (spent.has(mark)) return null;
    ENDS[mark].lastIndex = from;
    const end = ENDS[mark].exec(text);
    if (!end) spent.add(mark);
    return end;
  };
  const add = (node, end) => {
    if (plain) nodes.push(plain);
    plain = "";
    nodes.push(...[node].flat());
    place = end;
  };
  while (place < text.length) {
    NEXT.lastIndex = place;
    const match = NEXT.exec(text);
    if (!match) break;
    plain += text.slice(place, match.index);
    place = match.index;
    const mark = match[0];
    const after = place + mark.length;
    if (mark[0] === "\\") {
      plain += /\s/.test(mark[1]) ? "" : mark[1];
      place = after;
      continue;
    }
    const before = text.slice(Math.max(0, place - 1), place);
    const opens = (BEFORE.test(before) || (before && text[place - 2] === "\\")) && !(before in CLOSED && CLOSED[before] === text[after]);
    const found = opens ? marked(text, place, mark, ends, context, depth) : null;
    if (found) add(...found);
    else {
      plain += mark;
      place = after;
    }
  }
  plain += text.slice(place);
  if (plain) nodes.push(plain);
  return nodes;
}

/** What a mark at a place makes, and where it ends; null where it is none. */
function marked(text, place, mark, ends, context, depth) {
  const after = place + mark.length;
  if (/^https?:/i.test(mark)) {
    ADDRESS.lastIndex = place;
    const address = ADDRESS.exec(text);
    return address && [link([address[0]], address[0], context), place + address[0].length];
  }
  if (mark[0] === "[") return behind(text, after) ? noteNumber(mark.slice(1, -2), context, after) : null;
  if (/^[\p{L}\p{N}]/u.test(mark)) {
    if (!mark.endsWith("_") || !behind(text, after)) return null;
    const name = mark.replace(/__?$/, "");
    const found = mark.endsWith("__") ? anonymous([name], context) : reference([name], name, context);
    return found && [found, after];
  }
  const [, role, kind] = /^:(.+):(`)$/.exec(mark) ?? [null, "", mark === "_`" ? "`" : mark];
  if (/\s/.test(text[after] ?? " ")) return null;
  const end = ends(kind, after + 1);
  if (!end) return null;
  const content = text.slice(after, end.index);
  const to = end.index + end[0].length;
  if (kind === "``") return [el("code", {}, content.replace(/\s*\n\s*/g, " ")), to];
  if (kind === "**") return [el("strong", {}, unescaped(content)), to];
  if (kind === "*") return [el("em", {}, unescaped(content)), to];
  if (kind === "|") return substituted(content, end[1] ?? "", context, depth, to);
  if (mark === "_`") return [el("span", { "data-anchor": nameOf(content) }, unescaped(content)), to];
  if (role) return end[1] ? null : [interpreted(role, content, context), to];
  if (end[1]?.startsWith(":")) return [interpreted(end[1].slice(1, -1), content, context), to];
  return [end[1] ? phrase(content, end[1] === "__", context, depth) ?? text.slice(place, to) : el("code", {}, unescaped(content)), to];
}

function behind(text, place) {
  BEHIND.lastIndex = place;
  return BEHIND.test(text);
}

const TARGETED = /^([^]*?)\s*(?<!\\)<([^<>]+)>$/;

/** `text <address>`_, `text <name_>`_ or `name`_; null where it leads nowhere. */
function phrase(content, isAnonymous, context, depth) {
  const [, words, where] = TARGETED.exec(content) ?? [];
  if (where === undefined) {
    const shown = [unescaped(content)];
    return isAnonymous ? anonymous(shown, context) : reference(shown, content, context);
  }
  const shown = words ? (depth < DEEPEST ? inline(words, context, depth + 1) : [words]) : [where];
  if (/[^\\]_$/.test(where)) return reference(shown, where.slice(0, -1), context) ?? shown;
  return link(shown, unescaped(where).replace(/\s+/g, ""), context);
}

const within = (words, anchor, context) => link(words, `#${encodeURIComponent(anchor)}`, context);

/** A link by name to what the document defines: an address, a place, a section or a note. Null where it does not. */
function reference(words, name, context) {
  let key = nameOf(name);
  for (let step = 0; step < 8; step += 1) {
    const url = context.targets.get(key);
    if (url === undefined) break;
    if (!url) return within(words, key, context);
    if (!/[^\\]_$/.test(url)) return link(words, unescaped(url), context);
    key = nameOf(url.replace(/^`|`?_$/g, ""));
  }
  return context.sections.has(key) ? within(words, context.sections.get(key), context) : null;
}

function anonymous(words, context) {
  const url = context.nameless[context.met.nameless];
  if (url === undefined) return null;
  context.met.nameless += 1;
  return /[^\\]_$/.test(url) ? reference(words, url.replace(/^`|`?_$/g, ""), context) ?? words : link(words, url, context);
}

/** [1]_, [#]_, [#name]_, [*]_ and [citation]_. */
function noteNumber(label, context, end) {
  const key = label === "#" || label === "*" ? `${label}${(context.met[label] += 1)}` : label.toLowerCase();
  const name = context.notes.get(key);
  if (name === undefined) return [`[${label}]`, end];
  return [el("sup", {}, within([`[${name}]`], `note-${name}`, context)), end];
}

function substituted(name, suffix, context, depth, end) {
  const found = context.substitutions.get(name) ?? context.substitutions.get(nameOf(name));
  if (!found || depth >= DEEPEST) return null;
  const shown = found.picture ? [picture(found.picture)] : inline(found.text, context, depth + 1);
  return [suffix ? reference(shown, name, context) ?? shown : shown, end];
}

/** What a role shows. Unknown ones name something of the code. */
function interpreted(role, content, context) {
  const name = role.toLowerCase();
  const short = name.replace(/^(std|py|c|cpp|js|rst):/, "");
  const numbered = NUMBERED[short];
  if (numbered && /^\d+(#|$)/.test(content)) return link([`${short.toUpperCase()} ${content.split("#")[0]}`], numbered(content.split("#")[0]), context);
  const [, title, target] = (VERBATIM.test(name) ? null : TARGETED.exec(content)) ?? [];
  const bare = unescaped(title || (target ?? content)).replace(/\s*\n\s*/g, " ");
  if (short === "doc" || short === "download") return page([bare], target ?? content, context, short === "doc");
  if (WORDS.test(short)) {
    const where = /^(ref|numref|any)$/.test(short) ? labelled(title && bare, target ?? content, context) : null;
    return where ?? (LOOKS[short] ? el(LOOKS[short], {}, bare) : [bare]);
  }
  if (LOOKS[name]) return el(LOOKS[name], {}, bare);
  if (/^\d+$/.test(bare) && !VERBATIM.test(name)) return [`${role} ${bare}`]; // an issue, a change: the number alone says nothing
  return el("code", {}, VERBATIM.test(name) || title ? bare : bare.replace(/^!|^~(?:.*[.:])?(?=[^.:]+$)/, ""));
}

/** A link to another page of the library, named without its ending, from the linking page's folder or, with a slash, from the documentation's. */
export function page(words, named, context, hasNoEnding = true) {
  const ending = /\.(?:rst\.txt|\w+)$/i.exec(context.from)?.[0] ?? "";
  const clean = unescaped(named).trim();
  const path = clean.replace(/^\/+/, "");
  if (!path || /^[a-z]+:/i.test(path) || /[*?#]/.test(path)) return [...words];
  const folder = context.from.split("/").slice(0, -1);
  const folders = clean.startsWith("/") ? folder.map((_, cut) => folder.slice(0, folder.length - cut)) : [folder];
  const found = [];
  for (const one of folders) {
    const parts = [...one];
    for (const part of path.split("/")) {
      if (part === "..") parts.pop();
      else if (part && part !== ".") parts.push(part);
    }
    if (parts.length) found.push(hasNoEnding ? parts.join("/") + ending : parts.join("/"));
  }
  const plain = hasNoEnding && found.length ? [found[0].slice(0, found[0].length - ending.length)] : []; // of another format
  return found.length ? linkTo(words, { paths: [...found, ...plain], anchor: "" }, context) : [...words];
}

/** :ref:`words <label>`: a link where this document has the label, whose section's name is shown in want of words. */
function labelled(words, label, context) {
  const key = nameOf(label);
  if (context.targets.get(key) !== "") return null;
  return within([words || context.captions.get(key) || label], key, context);
}

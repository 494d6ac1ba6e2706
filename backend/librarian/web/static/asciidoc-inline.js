// AsciiDoc inside a paragraph, as nodes. What isn't understood stays as it is written; nothing is fetched.
import { el } from "./dom.js";
import { link, linkTo, picture } from "./inline.js";

const LONGEST = 20_000; // characters of a paragraph that are still looked at for markup
const DEEPEST = 6;
const CHARACTERS = {
  __proto__: null,
  empty: "", sp: " ", nbsp: "\u00a0", zwsp: "\u200b", wj: "\u2060", apos: "'", quot: '"', lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", deg: "°",
  plus: "+", brvbar: "¦", vbar: "|", amp: "&", lt: "<", gt: ">", startsb: "[", endsb: "]", caret: "^", asterisk: "*", tilde: "~", backslash: "\\",
  backtick: "`", "two-colons": "::", "two-semicolons": ";;", cpp: "C++", pp: "++",
};

const bounded = (sign) => new RegExp(String.raw`(?<![\p{L}\p{N}_;:}\\])${sign}(\S|\S[^]{0,2000}?\S)${sign}(?![\p{L}\p{N}_])`, "uy"); // around words
const anywhere = (sign) => new RegExp(String.raw`(?<!\\)${sign}([^]{1,2000}?)${sign}`, "uy"); // inside words, too
const macro = (name) => new RegExp(String.raw`(?<![\p{L}\p{N}_\\])${name}:([^\s[\]:][^\s[\]]{0,500})?\[((?:[^\]\\]|\\.){0,2000})\]`, "uy");

/** What a sign makes: [pattern, (match, context, depth) → a node, several, or null for none]. */
const RULES = [
  [/\\([*_`#^~+{<[]|\S+:)/y, (m) => m[1]],
  [/\+\+\+([^]{0,2000}?)\+\+\+/y, (m) => m[1]],
  [/(?<![\p{L}\p{N}_])pass:[a-z,]*\[((?:[^\]\\]|\\.){0,2000})\]/uy, (m) => m[1]],
  [/``\+?([^]{1,2000}?)\+?``/y, (m, c, d) => mono(m[1], c, d)],
  [/(?<![\p{L}\p{N}_\\])`\+(?![\s`])([^]{1,2000}?)\+`(?![\p{L}\p{N}_])/uy, (m) => el("code", {}, m[1])],
  [/(["'])`(\S|\S[^]{0,2000}?\S)`\1/y, (m, c, d) => [m[1] === '"' ? "“" : "‘", ...inline(m[2], c, d + 1), m[1] === '"' ? "”" : "’"]],
  [bounded("`"), (m, c, d) => mono(m[1], c, d)],
  [/(?<![\p{L}\p{N}_])\+\+?(\S|\S[^]{0,2000}?\S)\+\+?(?![\p{L}\p{N}_+])/uy, (m) => m[1]],
  [/(?:\[[^\]\n]{0,100}\])?##([^]{1,2000}?)##|(?<![\p{L}\p{N}_])(?:\[([^\]\n]{0,100})\])?#(\S|\S[^]{0,2000}?\S)#(?![\p{L}\p{N}_])/uy,
    (m, c, d) => (m[2] || m[0][0] === "[" ? inline(m[1] ?? m[3], c, d + 1) : el("mark", {}, inline(m[1] ?? m[3], c, d + 1)))],
  [/\[(?:#([\w:-]+))?(?:[.%][^\]\n]{0,100})?(?<!\[)\](?=[*_`])/y, (m) => (m[1] ? el("span", { "data-anchor": m[1] }) : [])],
  [/\[\[([\p{L}_:][^\],\s]*)(?:,[^\]]*)?\]\]/uy, (m) => el("span", { "data-anchor": m[1] })],
  [/<<#?([^<>,\n]{1,300})(?:,\s*([^<>]{1,300}))?>>/y, (m, c, d) => reference(m[1], m[2], c, d)],
  [/\(\(\([^()]*\)\)\)/y, () => []],
  [/\(\(([^()]+)\)\)/y, (m, c, d) => inline(m[1], c, d + 1)],
  [/(?<![\p{L}\p{N}_\\])footnote(?:ref)?:([\w-]*)\[((?:[^\]\\]|\\.){0,2000})\]/uy, (m, c, d) => (m[2] ? el("small", {}, " [", inline(m[2], c, d + 1), "]") : `[${m[1]}]`)],
  [macro("xref"), (m, c, d) => crossing(m[1] ?? "", m[2], c, d)],
  [macro("link"), (m, c, d) => link(words(m[2], m[1], c, d), m[1] ?? "", c)],
  [macro("mailto"), (m, c, d) => link(words(m[2], m[1], c, d), `mailto:${m[1]}`, c)],
  [macro("(?:image|icon)"), (m) => picture(alt(m[2], m[1]))],
  [macro("anchor"), (m) => el("span", { "data-anchor": m[1] ?? "" })],
  [macro("kbd"), (m) => el("kbd", {}, m[2])],
  [macro("(?:btn|label)"), (m) => el("strong", {}, m[2])],
  [macro("menu"), (m) => el("strong", {}, [m[1], m[2]].filter(Boolean).join(" › "))],
  [macro("(?:stem|latexmath|asciimath)"), (m) => el("code", {}, m[2])],
  [macro("indexterm2?"), (m) => (m[0].startsWith("indexterm2") ? m[2] : [])],
  [/(?<!\\)(https?:\/\/[^\s<>[\]]{1,1000})\[((?:[^\]\\]|\\.){0,2000})\]/y, (m, c, d) => link(words(m[2], m[1], c, d), m[1], c)],
  [/<?(https?:\/\/[^\s<>"'`[\]]{1,1000}[^\s<>"'`[\]).,;:!?*_])>?/y, (m, c) => link([m[1]], m[1], c)],
  [anywhere(String.raw`\*\*`), (m, c, d) => el("strong", {}, inline(m[1], c, d + 1))],
  [anywhere("__"), (m, c, d) => el("em", {}, inline(m[1], c, d + 1))],
  [bounded(String.raw`\*`), (m, c, d) => el("strong", {}, inline(m[1], c, d + 1))],
  [bounded("_"), (m, c, d) => el("em", {}, inline(m[1], c, d + 1))],
  [/\^([^\s^]{1,200})\^/y, (m, c, d) => el("sup", {}, inline(m[1], c, d + 1))],
  [/~([^\s~]{1,200})~/y, (m, c, d) => el("sub", {}, inline(m[1], c, d + 1))],
  [/ \+(?=\n|$)/y, () => el("br")],
  [/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|nbsp|quot|apos));/iy, (m) => (m[3] ? CHARACTERS[m[3].toLowerCase()] : letter(m[1] ? parseInt(m[1], 10) : parseInt(m[2], 16)))],
];
const NEXT = /[\\+`"'#[<(*_^~&]|(?<![\p{L}\p{N}_])(?:pass|footnote|footnoteref|xref|link|mailto|image|icon|anchor|kbd|btn|label|menu|stem|latexmath|asciimath|indexterm2?|https?):| \+(?=\n|$)/gu;

/** Nodes of a piece of inline AsciiDoc. `context`: {from, address(target), follow(target), attributes, captions}. */
export function inline(text, context, depth = 0) {
  const given = depth ? text : valued(text, context);
  if (depth > DEEPEST || given.length > LONGEST) return [given];
  const nodes = [];
  let plain = "";
  let place = 0;
  scan: while (place < given.length) {
    NEXT.lastIndex = place;
    const ahead = NEXT.exec(given);
    if (!ahead) break;
    plain += given.slice(place, ahead.index);
    place = ahead.index;
    for (const [pattern, make] of RULES) {
      pattern.lastIndex = place;
      const match = pattern.exec(given);
      const made = match && make(match, context, depth);
      if (!match || made === null) continue;
      place += match[0].length;
      if (typeof made === "string") plain += made;
      else {
        if (plain) nodes.push(plain);
        plain = "";
        nodes.push(...[made].flat());
      }
      continue scan;
    }
    plain += given[place];
    place += 1;
  }
  plain += given.slice(place);
  if (plain) nodes.push(plain);
  return nodes;
}

/** Text with the values of the document's attributes; unknown ones stay as they are written. */
export function valued(text, { attributes }, depth = 0) {
  if (!text.includes("{") || depth > 3 || text.length > LONGEST) return text;
  return text.replace(/(\\?)\{([\w-]+)\}/g, (whole, escaped, name) => {
    const value = attributes.get(name.toLowerCase());
    if (escaped) return whole.slice(1);
    return value !== undefined ? valued(value, { attributes }, depth + 1) : CHARACTERS[name.toLowerCase()] ?? whole;
  });
}

const mono = (text, context, depth) => el("code", {}, inline(text, context, depth + 1));

const letter = (code) => (code > 31 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : "");

/** The first word of a list in brackets: what a picture or link says. */
export const alt = (list, path = "") => /^\s*(?:"([^"]*)"|(?:alt=)?"?([^",=\]]*)"?(?=,|$))/.exec(list)?.slice(1).find((one) => one?.trim())?.trim() ?? path.split("/").at(-1);

function words(list, target, context, depth) {
  const text = /[\w-]+=/.test(list) ? list.replace(/(?:^|,)\s*[\w-]+=(?:"[^"]*"|[^,]*)/g, "") : list;
  const shown = text.replace(/\^$/, "").replace(/^"(.*)"$/, "$1").replace(/\\\]/g, "]").trim();
  return shown ? inline(shown, context, depth + 1) : [target ?? ""];
}

/** <<place>> or <<place,words>>: places are named by the document or made of a heading's words. */
function reference(place, text, context, depth) {
  const [path, anchor] = place.includes("#") ? place.split("#") : /\.adoc$/.test(place) ? [place, ""] : ["", place];
  const named = context.captions.get(anchor) ?? context.captions.get(anchor.toLowerCase().replace(/^_/, "").replace(/[_ ]+/g, "-"));
  const shown = text ? inline(text, context, depth + 1) : [named ?? (path || `[${anchor}]`)];
  return linkTo(shown, target(path, anchor, context), context);
}

function crossing(place, text, context, depth) {
  if (/^[^.:#]+$/.test(place) || place.startsWith("#")) return reference(place.replace(/^#/, ""), text && text.replace(/^"(.*)"$/, "$1"), context, depth);
  const [path, anchor = ""] = place.split("#");
  return linkTo(words(text, path, context, depth), target(path, anchor, context), context);
}

/** Where a page is: beside the linking one or, as Antora has it, in a module's pages. */
function target(path, anchor, { from, places }) {
  if (!path) return { paths: [], anchor: places.has(anchor) ? anchor : anchor.replace(/^_/, "") };
  const [file, module, component] = path.replace(/^.*@/, "").split(":").reverse();
  const named = /\.\w+$/.test(file) ? file : `${file}.adoc`;
  const antora = /^(.*\/)([^/]+)(\/modules\/)([^/]+)\/pages\//.exec(from) ?? /^(.*\/)?()(modules\/)([^/]+)\/pages\//.exec(from);
  const parts = from.split("/").slice(0, -1);
  for (const part of named.split("/")) {
    if (part === "..") { if (!parts.length) return null; parts.pop(); }
    else if (part && part !== ".") parts.push(part);
  }
  const beside = module ? [] : [parts.join("/")];
  const there = antora && !named.includes("..") ? [`${antora[1] ?? ""}${component ?? antora[2]}${antora[3]}${module || (component ? "ROOT" : antora[4])}/pages/${named.replace(/^\.?\//, "")}`] : [];
  return beside.length + there.length ? { paths: [...new Set([...beside, ...there])], anchor } : null;
}


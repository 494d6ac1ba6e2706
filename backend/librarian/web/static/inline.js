// Markdown inside a paragraph, as nodes. Raw HTML loses its tags but for a few harmless ones; nothing is fetched.
import { el } from "./dom.js";
import { emphasised, Run } from "./emphasis.js";

const KEPT = { __proto__: null, br: "br", kbd: "kbd", sub: "sub", sup: "sup", b: "strong", strong: "strong", i: "em", em: "em", code: "code", mark: "mark" };
const SILENT = /^(script|style|template|iframe|object|svg|math|textarea|title|noscript)$/i;
export const ENDLESS = /^(script|style|textarea)$/i; // what they hold goes on to the end where nothing closes them
const LATIN = "iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml".split(" ");
const ENTITIES = { // what they spell; those of Latin-1 stand there in a row
  __proto__: null,
  ...Object.fromEntries(LATIN.map((name, place) => [name, String.fromCharCode(0xa1 + place)])),
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", ensp: "\u2002", emsp: "\u2003", thinsp: "\u2009", ast: "*", lowast: "∗", ndash: "–", mdash: "—",
  hellip: "…", bull: "•", lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“", rdquo: "”", bdquo: "„", lsaquo: "‹", rsaquo: "›", euro: "€", trade: "™", minus: "−",
  larr: "←", uarr: "↑", rarr: "→", darr: "↓", harr: "↔", rArr: "⇒", le: "≤", ge: "≥", ne: "≠", asymp: "≈", infin: "∞", check: "✓",
};
const LONGEST = 20_000; // characters of a paragraph that are still looked at for markup
const DEEPEST = 8;

/**
 * Where a link leads: {href} outside, {paths, anchor} inside the library, or null where it may not lead anywhere.
 * `paths` are what it may mean, likeliest first; none for a place in the same document.
 */
function linkTarget(url, from) {
  const plain = url.replace(/[\u0000-\u0020]+/g, "");
  if (/^(https?:)?\/\//i.test(plain)) {
    try {
      const found = new URL(plain, "https://x.invalid");
      return found.protocol === "http:" || found.protocol === "https:" ? { href: found.href } : null;
    } catch { return null; }
  }
  if (/^mailto:[^?]+@/i.test(plain)) return { href: plain };
  if (/^[a-z][a-z0-9+.-]*:/i.test(plain)) return null;
  const [path, fragment = ""] = url.replace(/[\u0000-\u001f]+/g, "").trim().split("#");
  let named, anchor;
  try { named = decodeURIComponent(path.split("?")[0]); anchor = decodeURIComponent(fragment); } catch { return null; }
  const paths = named ? meant(named, from) : [];
  return paths && { paths, anchor };
}

/** From the linking file's folder, or as sites serve that file, as a folder; from a site's root, whose addresses may have parts in front. */
function meant(named, from) {
  if (named.startsWith("/")) {
    const parts = joined([], named);
    const [product] = from.split("/");
    const ends = parts && [0, 1, 2].filter((cut) => parts.length > (cut < 2 ? cut : 3)).map((cut) => [product, ...parts.slice(cut)].join("/"));
    return parts && [parts.join("/"), ...ends];
  }
  const folder = from.split("/").slice(0, -1);
  const beside = joined(folder, named);
  const below = named.startsWith("../") ? joined([...folder, "page"], named) : null;
  return beside ? [...new Set([beside, below ?? beside].map((one) => one.join("/")))] : null;
}

function joined(folder, named) {
  const parts = [...folder];
  for (const part of named.split("/")) {
    if (part === "..") { if (!parts.length) return null; parts.pop(); }
    else if (part && part !== ".") parts.push(part);
  }
  return parts;
}

const entity = (whole, name) => {
  if (name[0] !== "#") return ENTITIES[name] ?? whole;
  const code = name[1] === "x" || name[1] === "X" ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  return code > 31 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : "";
};
const decoded = (text) => text.replace(/&(#x?[0-9a-f]{1,6}|[a-z][a-z0-9]{1,7});/gi, entity);

export const link = (content, url, context) => linkTo(content, linkTarget(url, context.from), context);

/** A link to what `linkTarget` gives. */
export function linkTo(content, target, context) {
  if (!target) return el("span", { class: "dead", title: "This link is not followed." }, content);
  if (target.href) return el("a", { href: target.href, rel: "noopener noreferrer nofollow", target: "_blank" }, content);
  return el("a", { href: context.address(target), class: "inner", onclick: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    context.follow(target);
  } }, content);
}

/** A reference's name, which may be wrapped and in any case. */
export const labelOf = (text) => text.trim().toLowerCase().replace(/\s+/g, " ");

/** Whether a tag that stands first is closed at once. */
export const isEmpty = (text) => /^\s*<[^<>]*\/>/.test(text);

const RULES = [
  [/^\\([\\`*_{}[\]()#+\-.!~|<>&"'$%/=?@^])/, (m) => m[1]],
  [/^(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/, (m) => el("code", {}, m[2].replace(/\n/g, " ").replace(/^ (.+) $/, "$1"))],
  [/^(!?)\[\[(?=[^\s|])([^[\]|#\n]*)(#[^[\]|\n]*)?(?:\|([^[\]\n]*))?\]\](?![([])/, (m, c) => wikiLink(m[1], m[2].replace(/\\$/, ""), m[3], m[4], c)],
  [/^!\[([^\]]*)\](?:\((?:[^()\s]|\([^()\s]*\))*(?:\s+"[^"]*")?\)|\[[^\]]*\])/, (m) => picture(m[1])],
  // an image's sign alone is a character only where no image follows: read in two ways each, thirty of them never end
  [/^\[((?:[^[\]\\`!]|!(?!\[[^\]]*\]\([^)]*\))|\\.|`[^`]*`|!\[[^\]]*\]\([^)]*\)|\[[^\]]*\])*)\]\(\s*(?:<([^<>\n]*)>|\{\{[<%]\s*(?:rel)?ref\s+"([^"\n]*)"\s*[>%]\}\}|((?:[^()\s<>]|\([^()\s]*\))*))(?:\s+["'(][^"')]*["')])?\s*\)/,
    (m, c, d) => link(inline(m[1], c, d + 1), decoded(m[2] ?? m[3] ?? m[4]), c)],
  [/^\[((?:[^[\]\\]|\\.|!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\]))+)\](?:\[([^\]]*)\])?/, (m, c, d) => {
    const url = c.references.get(labelOf(m[2] || m[1]));
    return url === undefined ? [`[`, ...inline(m[1], c, d + 1), m[2] === undefined ? "]" : `][${m[2]}]`] : link(inline(m[1], c, d + 1), url, c);
  }],
  [/^<(https?:\/\/[^\s<>]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)>/, (m, c) => link([m[1]], m[1].includes("://") ? m[1] : `mailto:${m[1]}`, c)],
  [/^<!--[\s\S]*?(?:-->|$)/, () => []],
  [/^<([a-z][a-z0-9-]*)(?:\s[^<>]*)?\/?>/i, (m, c, d, rest, isFirst) => html(m, c, d, rest, isFirst)],
  [/^<\/[a-z][a-z0-9-]*\s*>/i, () => []],
  [/^~~(?=\S)([\s\S]*?\S)~~/, (m, c, d) => el("del", {}, inline(m[1], c, d + 1))],
  [/^\{\{[<%]\s*[\w-]+\s(?:[^{}"]|"[^"]*")*[>%]\}\}/, (m) => shown(m[0])],
  [/^(?: {2,}|\\)\n/, () => el("br")],
  [/^https?:\/\/[^\s<>"'`)\]}]+[^\s<>"'`)\]}.,;:!?]/, (m, c) => link([m[0]], m[0], c)],
];
const NEXT = /[\\`!\[<*_~]|\{\{[<%]|https?:\/\/| {2,}\n/;

export function picture(words) {
  return el("span", { class: "picture", title: "Pictures are not shown." }, words || "picture");
}

/** Obsidian's `[[Page#Heading|shown]]`: the one page of that name, else the one beside the linking page or in a folder above it. */
function wikiLink(embeds, page, heading, words, context) {
  if (embeds && /\.(?!md$)[a-z]\w{1,4}$/i.test(page)) return picture(/^\d+(x\d+)?$/.test(words ?? "") ? "" : words);
  const place = heading && !heading.startsWith("#^") ? heading.split("#").pop().trim() : "";
  const folders = context.from.split("/").slice(0, -1);
  const file = /\.md$/i.test(page) ? page : `${page}.md`;
  const paths = page ? [file, ...folders.map((_, above) => [...folders.slice(0, folders.length - above), file].join("/"))] : [];
  const anchor = place.toLowerCase().replace(/[^\p{L}\p{N}_\- ]+/gu, "").replace(/ /g, "-");
  return linkTo([words || [page, place].filter(Boolean).join(" › ")], { paths, anchor }, context);
}

/** What a site generator's shortcode shows, where it says so; else the shortcode as it is written. */
function shown(shortcode) {
  const text = /\b(?:text|title|caption|alt)="([^"]+)"/.exec(shortcode)?.[1];
  const heading = /^..[<%]\s*heading\s+"([^"]+)"/.exec(shortcode)?.[1];
  const term = /\bterm_id="([^"]+)"/.exec(shortcode)?.[1];
  return text ?? heading ?? term?.replace(/-/g, " ") ?? shortcode;
}

/** A raw tag: its words stay, the tag goes, unless it is one of the few that are kept; scripts and the like go whole. */
function html(match, context, depth, rest, isFirst) {
  const name = match[1].toLowerCase();
  const after = rest.slice(match[0].length);
  const end = after.toLowerCase().indexOf(`</${name}`);
  if (SILENT.test(name)) {
    const holds = !isEmpty(rest) && (end >= 0 || ENDLESS.test(name));
    return { nodes: [], used: !holds ? match[0].length : end < 0 ? rest.length : match[0].length + end };
  }
  if (name === "img") return { nodes: [picture(/\salt\s*=\s*["']([^"']*)/i.exec(match[0])?.[1])], used: match[0].length };
  const href = name === "a" && end >= 0 ? /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(match[0]) : null;
  if (href) return { nodes: [link(inline(after.slice(0, end), context, depth + 1), decoded(href[1] ?? href[2] ?? href[3]), context)], used: match[0].length + end };
  const place = /\s(?:id|name)\s*=\s*["']?([^\s"'>]+)/i.exec(match[0])?.[1];
  if (place && !KEPT[name]) return { nodes: [el("span", { "data-anchor": place })], used: match[0].length };
  if (name === "br" || name === "hr") return { nodes: [el("br")], used: match[0].length };
  if (/^(p|div|li|tr|dt|dd|h[1-6])$/.test(name)) return { nodes: [isFirst ? "" : el("br"), name === "li" ? "• " : ""], used: match[0].length };
  if (!KEPT[name] || end < 0) return { nodes: [], used: match[0].length };
  const inner = after.slice(0, end);
  return { nodes: [el(KEPT[name], {}, inline(inner, context, depth + 1))], used: match[0].length + end };
}

/** Text without markup, as nodes: addresses are links, all else is what it is. */
export const literal = (text) => text.split(/(https?:\/\/[^\s<>"')\]]+[^\s<>"')\].,;:!?])/)
  .map((part, place) => (place % 2 ? link([part], part, {}) : part));

/** Nodes of a piece of inline Markdown. `context`: {from, references, address(target), follow(target)}. */
export function inline(text, context, depth = 0) {
  if (depth > DEEPEST || text.length > LONGEST) return [text];
  const nodes = [];
  let plain = "";
  let place = 0;
  const flush = () => { if (plain) nodes.push(decoded(plain)); plain = ""; };
  scan: while (place < text.length) {
    const ahead = NEXT.exec(text.slice(place));
    if (!ahead) { plain += text.slice(place); break; }
    plain += text.slice(place, place + ahead.index);
    place += ahead.index;
    const rest = text.slice(place);
    if (rest[0] === "*" || rest[0] === "_") {
      flush();
      const [signs] = /^(?:\*+|_+)/.exec(rest);
      nodes.push(new Run(text, place, signs.length));
      place += signs.length;
      continue;
    }
    const inWord = rest[0] === "h" && /[\p{L}\p{N}]/u.test(text[place - 1] ?? "");
    if (!inWord) {
      for (const [pattern, make] of RULES) {
        const match = pattern.exec(rest);
        if (!match) continue;
        flush();
        const made = make(match, context, depth, rest, !nodes.length);
        if (made?.used !== undefined) { nodes.push(...made.nodes); place += made.used; }
        else { nodes.push(...[made].flat()); place += match[0].length; }
        continue scan;
      }
    }
    const run = /^([~`]+|[\s\S])/.exec(rest)[0];
    plain += run;
    place += run.length;
  }
  flush();
  return emphasised(nodes);
}

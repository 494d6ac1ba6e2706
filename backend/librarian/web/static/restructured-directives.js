// The directives of docutils, Sphinx and some of their extensions. Of those that it doesn't know the content is shown below
// their line; HTML and other raw matter is text.
import { el } from "./dom.js";
import { link, picture } from "./inline.js";
import { named } from "./notes.js";
import { code, noted, spanning } from "./parts.js";
import { inline, page, unescaped } from "./restructured-inline.js";
import { dedented, endOf, isBlank, margin, trimmed } from "./restructured-lines.js";
import { csvTable, listTable } from "./restructured-tables.js";

const all = (names) => new Set(names.trim().split(/\s+/));
const NOTE = all("note tip hint important warning caution danger error attention seealso todo impl-detail availability abstract");
const TITLED = all("admonition topic sidebar dropdown details collapse tab tab-item group-tab card grid-item-card grid-item margin only ifconfig");
const VERSION = /^(?:version-?(added|changed|removed|extended)|(deprecated)(?:-removed)?)$/;
const LITERAL = all("math parsed-literal productionlist graphviz digraph graph mermaid uml plantuml jinja kernel-render raw prompt doctest testcode testoutput testsetup testcleanup ipython");
const CODE = all("code code-block sourcecode code-tab");
const BARE = all("container compound cssclass rst-class tabs tab-set grid div centered hlist acks example");
const QUOTE = all("epigraph highlights pull-quote");
const IMAGE = all("image figure kernel-image kernel-figure");
const SILENT = all(`index contents highlight highlightlang currentmodule py:currentmodule meta tabularcolumns default-role default-domain role
  sectionauthor moduleauthor codeauthor program sectnum section-numbering target-notes py:namespace c:namespace c:namespace-push c:namespace-pop
  cpp:namespace cpp:namespace-push cpp:namespace-pop`);
/** What describes an object: those that stand without their kind, as its signature says enough, and with it. */
const SIGNED = /^(?:(?:py|c|cpp|js|rst|std):)?(?:function|method|attribute|data|member|var|property|macro|option|cmdoption|envvar|setting|confval|event|opcode|pdbcommand|describe|object|directive|auto(?:function|method|attribute|data|decorator|property))$/;
const KIND = /^(?:(?:py|c|cpp|js|rst):)?(?:class|exception|module|classmethod|staticmethod|abstractmethod|decorator|decoratormethod|coroutinefunction|coroutinemethod|awaitablefunction|awaitablemethod|struct|union|enum|enumerator|type|alias|concept|role|directive:option|auto(?:class|exception|module))$/;
const CHANGES = { added: "New in version", changed: "Changed in version", removed: "Removed in version", extended: "Extended in version", deprecated: "Deprecated since version" };

/**
 * What a directive shows: an element, several, or null for one that only tells a builder something. `found`: {name,
 * argument, options, content, whole, below}: the argument as a line, `whole` with the content, `below` all lines under it.
 */
export function directive(found, read, context) {
  const name = found.name.toLowerCase();
  const { argument, content, options, whole } = found;
  const given = argument.text;
  const words = () => (given ? inline(given, context) : null);
  if (NOTE.has(name)) return noted(titleOf(name === "impl-detail" ? "Implementation detail" : named(name)), read(whole));
  if (TITLED.has(name)) return noted(given ? spanning(titleOf(/^(only|ifconfig)$/.test(name) ? `Only ${given}` : words()), [argument]) : null, read(content));
  if (VERSION.test(name)) return version(name, whole, read);
  if (CODE.has(name)) return content.length ? code(textOf(content), [options.get("caption"), given].filter(Boolean).join(" · ")) : null;
  if (LITERAL.has(name)) return verbatim(name, found, context);
  if (BARE.has(name)) return read(name === "centered" ? whole : content);
  if (QUOTE.has(name)) return el("blockquote", {}, read(whole));
  if (IMAGE.has(name)) return image(argument, options, content, read, context);
  if (SILENT.has(name) || (name === "class" && !content.length && /^[a-z -]+$/.test(given))) return null; // docutils' class is a style
  if (name === "toctree" || name === "autosummary") return entries(name, options, content, context);
  if (name === "rubric") return titleOf(words());
  if (name === "glossary") return glossary(content, read, context);
  if (name === "table") return [given && titleOf(words()), ...read(content)].filter(Boolean);
  if (name === "list-table" || name === "flat-table") return listTable(content, options, words(), read) ?? described(name, found, read);
  if (name === "csv-table") return csvTable(content, options, words(), read) ?? described(name, found, read);
  if (name === "button-link") return el("p", {}, link(content.length ? inline(textOf(content), context) : [given], given, context));
  return described(name, found, read);
}

const titleOf = (words) => el("p", { class: "note-title" }, words);
const textOf = (lines) => lines.map((line) => line.text).join("\n");

function version(name, [first, ...rest], read) {
  const [, change, deprecated] = VERSION.exec(name);
  const [, number, words] = /^(\S*)\s*(.*)$/.exec(first?.text ?? "");
  return noted(titleOf(`${CHANGES[change ?? deprecated]} ${number}`), first ? read(trimmed([{ ...first, text: words }, ...rest])) : []);
}

/** What is shown letter by letter; what stands behind the colons is part of some, and tells how to run others. */
function verbatim(name, { argument, content, whole }, context) {
  const isText = /^(math|parsed-literal|productionlist)$/.test(name);
  const inner = isText ? whole : content;
  if (name === "parsed-literal") return code(inline(textOf(inner), context));
  return inner.length || argument.text ? code(textOf(inner), [name === "productionlist" ? "" : name, isText ? "" : argument.text].filter(Boolean).join(" ")) : null;
}

/** The pages of a table of contents, each a link. */
function entries(name, options, content, context) {
  const rows = content.filter((line) => !isBlank(line)).map((line) => {
    const [, title, path] = /^(.*?)\s*<([^<>]+)>$/.exec(line.text) ?? [];
    if (name === "autosummary") return spanning(el("li", {}, el("code", {}, line.text.trim().replace(/^~(?:.*\.)?/, ""))), [line]);
    const target = path ?? line.text.trim();
    const words = [title || target];
    return spanning(el("li", {}, /^https?:/.test(target) ? link(words, target, context) : target === "self" ? words : page(words, target, context, !/\.(rst|md|txt|ipynb)$/.test(target))), [line]);
  });
  const caption = options.get("caption");
  return rows.length ? [...(caption ? [titleOf(inline(caption, context))] : []), el("ul", {}, rows)] : null;
}

/** Terms, one or several in a row, and what is indented below them. */
function glossary(lines, read, context) {
  const made = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && !margin(lines[end]) && !isBlank(lines[end])) end += 1;
    const after = Math.max(endOf(lines, end), end);
    const terms = lines.slice(at, end).map((line) => el("dt", { "data-anchor": `term-${unescaped(line.text)}` }, inline(line.text.split(" : ")[0], context)));
    const inner = trimmed(lines.slice(end, after));
    made.push(spanning(el("div", {}, terms, el("dd", {}, read(inner.length ? dedented(inner) : []))), lines.slice(at, after)));
    for (at = Math.max(after, at + 1); at < lines.length && isBlank(lines[at]);) at += 1;
  }
  return el("dl", {}, made);
}

function image(argument, options, content, read, context) {
  const shown = picture(options.get("alt")?.replace(/\s+/g, " ") || argument.text.split("/").at(-1));
  const target = options.get("target");
  const linked = target && !/_$/.test(target) ? link([shown], target, context) : shown;
  return content.length ? el("figure", {}, linked, el("figcaption", {}, read(content))) : el("p", {}, linked);
}

/** An object's signatures, or the line of a directive that isn't known, with the content below. */
function described(name, { argument, options, content, below }, read) {
  const isObject = SIGNED.test(name) || KIND.test(name);
  const [more, inner] = isObject ? signatures(below) : [[], content];
  const kind = SIGNED.test(name) ? "" : `${isObject ? name.replace(/^(?:auto|\w+:)/, "") : name} `;
  const signed = textOf([argument, ...more]).replace(/\\\n\s*/g, "").split("\n").filter((one) => one.trim());
  const synopsis = options.get("synopsis");
  const told = isObject ? synopsis && ` — ${synopsis}` : [...options].map(([key, value]) => ` :${key}: ${value}`.trimEnd());
  const heads = (signed.length ? signed : [""]).map((one) => el("dt", {}, el("code", {}, `${kind}${unescaped(one)}`.trim()), told));
  return el("dl", { class: "object" }, spanning(el("div", {}, heads, inner.length ? el("dd", {}, read(inner)) : null), [argument, ...below]));
}

/** Further signatures stand below the first, before options and content. */
function signatures(below) {
  const end = below.findIndex((line) => isBlank(line) || /^:[\w-]+:(?: |$)/.test(line.text));
  const more = below.slice(0, end < 0 ? below.length : end);
  let rest = end < 0 ? [] : below.slice(end);
  while (rest.length && !isBlank(rest[0])) rest = rest.slice(1); // options
  return [more, trimmed(rest)];
}

// Notes, warnings and tabs as site generators write them: what names each, and the lines that it holds.

const KINDS = "note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|info|success|question|failure|bug|example|abstract|todo|alert|callout|details|dropdown";
const INDENTED = /^ {0,3}(?:(?:!!!|\?\?\?\+?)(?= +[\w-]| *")(?: +([\w-]+)(?: +[\w-]+)*)?(?: *"(.*)")?|===[!+]? +"(.+)")$/; // MkDocs
const FENCED = [
  /^ {0,3}(:{3,}) *(?:\{?\.?([\w-]+)\}?)(?:\[(.*)\]| ([^{}]*))?(?:\{[^{}]*\})?$/, // Docusaurus, VitePress, MyST
  /^ {0,3}(\/{3,}) *([\w-]+)(?: *\|(.*))?$/, // PyMdown
];
const SHORTCODE = new RegExp(`^ {0,3}\\{\\{[<%] *(${KINDS}|hint|tabs?)\\b(.*?)[>%]\\}\\} *$`, "i"); // Hugo
const ALERT = /^ {0,3}> ?\[!([a-z][\w-]*)(?:\|[^\]]*)?\][+-]? *(.*)$/i; // GitHub, Obsidian
const DIRECTIVE = new RegExp(`^ {0,3}(\`{3,}|~{3,})\\{(${KINDS})\\} *(.*)$`); // MyST
const NAMELESS = /^(code-group|tabs?|tab-set|tab-item|tabitem|steps|raw|v-pre|grid|columns?|container|admonition|alert)$/i;

const MARK = /^ {0,3}(?:!!!|\?\?\?|===|:::|\/\/\/|\{\{|> ?\[!|[`~]{3,}\{)/; // what all of them begin with
const CLOSING = /^ {0,3}(:{3,}|\/{3,}) *$/;
const CLOSING_SHORTCODE = /\{\{[<%] *\/ *([\w-]+) *[>%]\}\} *$/;

/** Whether a line may begin a note, whatever stands above it. */
export const opensNote = (text) => MARK.test(text) && [INDENTED, SHORTCODE, ...FENCED].some((opens) => opens.test(text.trimEnd()));

/** What a note of a kind is called; nothing where its kind says nothing. */
export const named = (kind) => (NAMELESS.test(kind) ? "" : kind[0].toUpperCase() + kind.slice(1).toLowerCase().replace("eealso", "ee also"));

/** The note that begins at a line as {title, inner, used}: lines that it holds, lines that it takes. Null where none does. */
export function note(lines, at) {
  const text = lines[at].text.trimEnd();
  if (!MARK.test(text)) return null;
  return indented(text, lines, at) ?? fenced(text, lines, at) ?? shortcode(text, lines, at) ?? alert(text, lines, at) ?? directive(text, lines, at);
}

function indented(text, lines, at) {
  const match = INDENTED.exec(text);
  if (!match) return null;
  const margin = text.length - text.trimStart().length + 4;
  const holds = (line) => !line.text.trim() || line.text.length - line.text.trimStart().length >= margin;
  let end = at + 1;
  while (end < lines.length && holds(lines[end])) end += 1;
  while (!lines[end - 1].text.trim()) end -= 1;
  const inner = lines.slice(at + 1, end).map((line) => ({ ...line, text: line.text.slice(margin) }));
  return { title: match[3] ?? match[2] ?? named(match[1]), inner, used: end - at };
}

function fenced(text, lines, at) {
  for (const opens of FENCED) {
    const match = opens.exec(text);
    if (!match) continue;
    const [, , kind, ...titles] = match;
    const end = closing(lines, at);
    if (end < 0) return null;
    const inner = lines.slice(at + 1, end);
    while (inner.length && /^(?: {4}|:)[\w-]+:( |$)/.test(inner[0].text)) inner.shift(); // its options
    return { title: titles.find((one) => one?.trim())?.trim() ?? named(kind), inner, used: end + 1 - at };
  }
  return null;
}

function shortcode(text, lines, at) {
  const match = SHORTCODE.exec(text);
  if (!match) return null;
  const end = closing(lines, at);
  if (end < 0) return null;
  const last = { ...lines[end], text: lines[end].text.replace(CLOSING_SHORTCODE, "") };
  const inner = [...lines.slice(at + 1, end), ...(last.text.trim() ? [last] : [])];
  const title = /\b(?:title|name|tabname|summary)="([^"]*)"|^ *"([^"]*)"/.exec(match[2]);
  return { title: /^tabs$/i.test(match[1]) ? "" : title?.[1] ?? title?.[2] ?? named(match[1]), inner, used: end + 1 - at };
}

function alert(text, lines, at) {
  const match = ALERT.exec(text);
  if (!match) return null;
  let end = at + 1;
  while (end < lines.length && /^ {0,3}>/.test(lines[end].text)) end += 1;
  const inner = lines.slice(at + 1, end).map((line) => ({ ...line, text: line.text.replace(/^ {0,3}> ?/, "") }));
  return { title: match[2] || named(match[1]), inner, used: end - at };
}

function directive(text, lines, at) {
  const match = DIRECTIVE.exec(text);
  if (!match) return null;
  const closes = new RegExp(`^ {0,3}${match[1][0]}{${match[1].length},} *$`);
  let end = at + 1;
  while (end < lines.length && !closes.test(lines[end].text)) end += 1;
  const inner = lines.slice(at + 1, end);
  while (inner.length && /^:[\w-]+:( |$)/.test(inner[0].text)) inner.shift(); // its options
  return { title: match[3].trim() || named(match[2]), inner, used: Math.min(end + 1, lines.length) - at };
}

const ends = new WeakMap(); // lines → where each that opens a note is closed

/** The line that closes what a line opens, with others of its kind inside; −1 where none does. */
function closing(lines, at) {
  if (!ends.has(lines)) ends.set(lines, pairs(lines));
  return ends.get(lines).get(at) ?? -1;
}

function pairs(lines) {
  const [found, open] = [new Map(), new Map()];
  lines.forEach((line, place) => {
    const text = line.text.trimEnd();
    const closed = CLOSING.exec(text)?.[1] ?? CLOSING_SHORTCODE.exec(text)?.[1].toLowerCase();
    const opened = FENCED.map((opens) => opens.exec(text)?.[1]).find(Boolean) ?? SHORTCODE.exec(text)?.[1].toLowerCase();
    if (opened) open.set(opened, open.get(opened) ?? []).get(opened).push(place);
    else if (open.get(closed)?.length) found.set(open.get(closed).pop(), place);
  });
  return found;
}

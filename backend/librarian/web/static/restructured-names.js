// What a reStructuredText document defines by name, wherever in it: addresses, places, notes, substitutions.
import { anchorsOf } from "./outline.js";
import { nameOf } from "./restructured-inline.js";
import { isBlank, margin } from "./restructured-lines.js";

const TARGET = /^ *\.\. _(?:`((?:[^`\\]|\\.)+)`|(?![ _])((?:[^\\:]|\\.|:(?! |$))+)|(_)):(?: +(.*))?$/;
const NAMELESS = /^ *__ +(\S.*)$/;
const NOTE = /^ *\.\. \[(\d+|#[\w.-]*|\*|[\p{L}\p{N}][\p{L}\p{N}._:+-]*)\](?: |$)/u;
const SUBSTITUTION = /^ *\.\. \|([^|]+)\| *([\w-]+)::(?: +(.*))?$/;
const NAMED = /`([^`<]+?)\s*<([^`<>]+)>`_(?!_)/g;

/** The name of a target's line, without the points; empty for one that leads elsewhere or has no name. */
export function placeNamed(text) {
  const [, quoted, plain, , address] = TARGET.exec(`.. ${text}`) ?? [];
  return address ? "" : nameOf(quoted ?? plain ?? "");
}

/**
 * {targets, nameless, sections, captions, notes, substitutions, met}: addresses by name (empty for places in the document),
 * those without a name in order, anchors of headings by their words, headings by the targets above them, the labels shown
 * for notes, {text} or {picture} for words between bars, and counters of what has been met while reading.
 */
export function definitions(lines, headings) {
  const anchors = anchorsOf(headings);
  const found = {
    targets: new Map(), nameless: [], captions: new Map(), notes: new Map(), substitutions: new Map(),
    sections: new Map(headings.map((one, place) => [nameOf(one.text), anchors[place]])),
    met: { nameless: 0, "#": 0, "*": 0, ".#": 0, ".*": 0 },
  };
  const byLine = new Map(headings.map((one) => [one.line, one.text]));
  const labels = [];
  let above = []; // places that stand above what comes next
  lines.forEach((line, at) => {
    const target = TARGET.exec(line.text);
    if (!target && !isBlank(line)) {
      for (const name of byLine.has(line.number) ? above : []) found.captions.set(name, byLine.get(line.number));
      above = [];
    }
    if (!/^ *(\.\. |__ )/.test(line.text)) return;
    const more = () => {
      let end = at + 1;
      while (end < lines.length && !isBlank(lines[end]) && margin(lines[end]) > margin(line)) end += 1;
      return lines.slice(at + 1, end).map((one) => one.text.trim());
    };
    if (target) {
      const address = [target[4] ?? "", ...more()].join("");
      if (target[3]) found.nameless.push(address);
      else {
        const name = nameOf(target[1] ?? target[2]);
        found.targets.set(name, address);
        if (!address) above.push(name);
      }
      return;
    }
    const nameless = NAMELESS.exec(line.text);
    if (nameless) found.nameless.push([nameless[1], ...more()].join(""));
    const note = NOTE.exec(line.text)?.[1];
    if (note) labels.push(note);
    const substitution = SUBSTITUTION.exec(line.text);
    if (substitution) substitute(found.substitutions, substitution, more());
  });
  for (const match of lines.map((line) => line.text).join("\n").matchAll(NAMED)) if (!/_$/.test(match[2])) found.targets.set(nameOf(match[1]), match[2].replace(/\s+/g, ""));
  number(labels, found.notes);
  return found;
}

function substitute(found, [, name, kind, first = ""], more) {
  const options = more.filter((one) => /^:[\w-]+:/.test(one));
  const text = [first, ...more.filter((one) => !options.includes(one))].join(" ").trim();
  const alt = /^:alt: +(.*)$/.exec(options.find((one) => one.startsWith(":alt:")) ?? "")?.[1];
  const value = kind === "replace" ? { text }
    : kind === "image" ? { picture: alt || text.split("/").at(-1) }
      : kind === "unicode" ? { text: text.replace(/ *\.\. .*$/, "").replace(/\s*(?:0x|x|\\x|U\+?|\\u)([0-9a-f]{1,6})\b\s*|&#x([0-9a-f]{1,6});/gi, (_, one, other) => letter(one ?? other)) } : null;
  if (!value) return;
  found.set(name, value);
  if (!found.has(nameOf(name))) found.set(nameOf(name), value);
}

function letter(digits) {
  const number = parseInt(digits, 16);
  return number > 31 && number <= 0x10ffff && !(number >= 0xd800 && number <= 0xdfff) ? String.fromCodePoint(number) : "";
}

const SIGNS = ["*", "†", "‡", "§", "¶", "#"];

/** Labels as they are shown: numbers that are free for notes without one, signs for `*`. */
function number(labels, notes) {
  const taken = new Set(labels.filter((one) => /^\d+$/.test(one)));
  const met = { "#": 0, "*": 0 };
  let free = 0;
  for (const label of labels) {
    if (label === "*") {
      met["*"] += 1;
      notes.set(`*${met["*"]}`, SIGNS[(met["*"] - 1) % SIGNS.length].repeat(1 + Math.floor((met["*"] - 1) / SIGNS.length)));
    } else if (label[0] === "#") {
      do free += 1; while (taken.has(String(free)));
      if (label === "#") met["#"] += 1;
      notes.set(label === "#" ? `#${met["#"]}` : label.toLowerCase(), String(free));
    } else notes.set(label.toLowerCase(), label);
  }
}

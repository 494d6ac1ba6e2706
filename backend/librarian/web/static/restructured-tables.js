// The tables of reStructuredText: drawn ones (grid, simple) and those of directives (lists, CSV).
import { el } from "./dom.js";
import { scrolled, spanning } from "./parts.js";
import { bulletsAt, dedented, isBlank, trimmed } from "./restructured-lines.js";

const GRID = /^\+-[-+]*-\+$/;
const GRID_HEAD = /^\+=[=+]*=\+$/;
const SIMPLE = /^=+(?: +=+)+$/;
const SIMPLE_BORDER = /^=+[= ]*$/;
const SPAN = /^-[- ]*$/;
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/g; // two columns each
const FILL = "\u0000"; // behind a wide character

/** Rows of cells {lines, columns, rows, scope}, the last for what heads others, as elements. `read(lines)` makes blocks. */
function bodyOf(rows, read) {
  return rows.map(({ cells, lines }) => spanning(el("tr", {}, cells.map(({ scope = null, lines: inner, columns = 1, rows: down = 1 }) => {
    const made = read(trimmed(inner));
    const content = made.length === 1 && made[0].tagName === "P" ? [...made[0].childNodes] : made;
    return el(scope ? "th" : "td", { scope, colspan: columns > 1 ? columns : null, rowspan: down > 1 ? down : null }, content);
  })), lines));
}

function tableOf(rows, heads, read, caption = null) {
  const made = bodyOf(rows.map((row, place) => (place < heads ? { ...row, cells: row.cells.map((cell) => ({ ...cell, scope: "col" })) } : row)), read);
  return scrolled(caption ? el("caption", {}, caption) : [], heads ? el("thead", {}, made.slice(0, heads)) : [], el("tbody", {}, made.slice(heads)));
}

/** The drawn table that begins at a line, and how many lines it takes; null where none does or its lines don't meet. */
export function drawn(lines, at, read) {
  const text = lines[at].text;
  return GRID.test(text) ? grid(lines, at, read) : SIMPLE.test(text) ? simple(lines, at, read) : null;
}

// -- grid ------------------------------------------------------------------------------------------------------------

function grid(lines, at, read) {
  let end = at;
  while (end < lines.length && /^[+|]/.test(lines[end].text)) end += 1;
  while (end > at + 2 && !GRID.test(lines[end - 1].text)) end -= 1;
  const used = lines.slice(at, end);
  const filled = used.map((line) => line.text.replace(WIDE, `$&${FILL}`));
  const width = Math.max(...filled.map((line) => line.length));
  const head = filled.findIndex((line) => GRID_HEAD.test(line));
  const drawing = filled.map((line, place) => (place === head ? line.replaceAll("=", "-") : line).padEnd(width));
  const found = corners(drawing);
  if (!found) return null;
  const [tops, lefts] = ["top", "left"].map((side) => [...new Set(found.map((cell) => cell[side]))].sort((one, other) => one - other));
  const between = (sides, from, to) => sides.filter((side) => side >= from && side < to).length;
  const rows = tops.map((top) => {
    const cells = found.filter((cell) => cell.top === top).sort((one, other) => one.left - other.left);
    return {
      lines: used.slice(top + 1, Math.min(...cells.map((cell) => cell.bottom))),
      cells: cells.map(({ left, bottom, right }) => ({
        columns: between(lefts, left, right),
        rows: between(tops, top, bottom),
        lines: cut(used.slice(top + 1, bottom).map((line, place) => ({ ...line, text: drawing[top + 1 + place] })), left + 1, right),
      })),
    };
  });
  return [tableOf(rows, head > 0 ? between(tops, 0, head) : 0, read), end - at];
}

/** Columns of lines, without what fills them. */
const cut = (lines, from, to) => dedented(lines.map((line) => ({ ...line, text: line.text.slice(from, to).replaceAll(FILL, "").trimEnd() })));

/** The cells of a drawing as {top, left, bottom, right}, from corner to corner; null where they don't cover it. */
function corners(drawing) {
  const [last, edge] = [drawing.length - 1, drawing[0].length - 1];
  const done = Array(edge).fill(0); // of each column: the border that it is covered down to
  const open = [[0, 0]];
  const [cells, met] = [[], new Set()];
  while (open.length) {
    open.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    const [top, left] = open.shift();
    if (top === last || left === edge || top < done[left] || met.has(`${top} ${left}`)) continue;
    met.add(`${top} ${left}`);
    const cell = closed(drawing, top, left);
    if (!cell) continue;
    done.fill(cell.bottom, left, cell.right);
    cells.push(cell);
    open.push([top, cell.right], [cell.bottom, left]);
  }
  return done.every((bottom) => bottom === last) ? cells : null;
}

function closed(drawing, top, left) {
  for (let right = left + 1; /[-+]/.test(drawing[top][right] ?? ""); right += 1) {
    if (drawing[top][right] !== "+") continue;
    for (let bottom = top + 1; /[|+]/.test(drawing[bottom]?.[right] ?? ""); bottom += 1) {
      if (drawing[bottom][right] !== "+" || !/^\+[-+]*$/.test(drawing[bottom].slice(left, right))) continue;
      if (drawing.slice(top + 1, bottom).every((line) => /[|+]/.test(line[left]))) return { top, left, bottom, right };
    }
  }
  return null;
}

// -- simple ----------------------------------------------------------------------------------------------------------

function simple(lines, at, read) {
  let [end, borders] = [at + 1, 0];
  for (; end < lines.length; end += 1) {
    if (!SIMPLE_BORDER.test(lines[end].text)) continue;
    borders += 1;
    if (borders === 2 || end + 1 === lines.length || isBlank(lines[end + 1])) break;
  }
  if (end === lines.length) return null;
  const columns = [...lines[at].text.matchAll(/=+/g)].map((match) => [match.index, match.index + match[0].length]);
  const rows = [];
  let heads = 0;
  let begun = at + 1; // the row that is being read
  const finish = (to, line) => {
    const row = to > begun && lines.slice(begun, to).some((one) => !isBlank(one)) ? simpleRow(trimmed(lines.slice(begun, to)), columns, line) : null;
    if (row) rows.push(row);
    return row !== false;
  };
  for (let next = at + 1; next <= end; next += 1) {
    const text = lines[next].text;
    if (SIMPLE_BORDER.test(text) || SPAN.test(text)) {
      if (!finish(next, SPAN.test(text) ? text : "")) return null;
      if (SIMPLE_BORDER.test(text) && next < end) heads = rows.length;
      begun = next + 1;
    } else if (text.slice(...columns[0]).trim()) {
      if (!finish(next, "")) return null;
      begun = next;
    }
  }
  return rows.length ? [tableOf(rows, heads, read), end + 1 - at] : null;
}

/** A row's cells between `columns`, joined as dashes below it say; false where its words cross a border. */
function simpleRow(lines, columns, dashes) {
  const spans = dashes ? [...dashes.matchAll(/-+/g)].map((match) => [match.index, match.index + match[0].length]) : columns;
  const cells = [];
  for (const [place, [from, to]] of spans.entries()) {
    const isLast = place === spans.length - 1;
    if (!isLast && lines.some((line) => line.text.slice(to, spans[place + 1][0]).trim())) return false;
    const joined = columns.filter(([left]) => left >= from && left < to).length;
    if (!joined) return false;
    cells.push({ columns: joined, lines: cut(lines, from, isLast ? undefined : to) });
  }
  return { cells, lines };
}

// -- directives ------------------------------------------------------------------------------------------------------

const count = (options, name) => parseInt(options.get(name) ?? "0", 10) || 0;

/** `list-table` and `flat-table`: a list of lists. Null where the content is none. */
export function listTable(content, options, caption, read) {
  const [items, end] = (content.length && bulletsAt(content, 0)) || [[], -1];
  if (end !== content.length) return null;
  const rows = [];
  for (const item of items) {
    const from = item.findIndex((line) => line.text && !line.text.startsWith("..")); // behind comments
    const [cells, last] = (from >= 0 && bulletsAt(item, from)) || [[], -1];
    if (last !== item.findLastIndex((line) => !isBlank(line)) + 1) return null;
    rows.push({ lines: trimmed(item), cells: cells.map((lines, place) => ({ ...spread(lines), ...(place < count(options, "stub-columns") ? { scope: "row" } : {}) })) });
  }
  return rows.length ? tableOf(rows, count(options, "header-rows"), read, caption) : null;
}

/** A cell of the kernel's tables says itself how far it reaches. */
function spread(lines) {
  const spans = { cspan: 0, rspan: 0 };
  const first = lines[0].text.replace(/:([cr]span):`(\d+)` ?/g, (_, name, number) => { spans[name] = Number(number); return ""; });
  return { lines: [{ ...lines[0], text: first }, ...lines.slice(1)], columns: spans.cspan + 1, rows: spans.rspan + 1 };
}

/** `csv-table`. Null without content, which then lies in another file. */
export function csvTable(content, options, caption, read) {
  if (!content.length) return null;
  const split = (lines) => separated(lines, { tab: "\t", space: " " }[options.get("delim")] ?? (options.get("delim") || ","), options.get("quote") || '"');
  const header = options.get("header") ? split([{ text: options.get("header"), number: content[0].number }]) : [];
  const rows = [...header, ...split(content)].map((row) => ({ ...row, cells: row.cells.map((lines, place) => ({ lines, ...(place < count(options, "stub-columns") ? { scope: "row" } : {}) })) }));
  return tableOf(rows, header.length + count(options, "header-rows"), read, caption);
}

function separated(lines, delimiter, quote) {
  const rows = [];
  let [row, first, isQuoted] = [null, 0, false];
  lines.forEach((line, number) => {
    if (!isQuoted) {
      if (isBlank(line)) return;
      [row, first] = [[[{ ...line, text: "" }]], number];
    } else row.at(-1).push({ ...line, text: "" });
    const cell = () => row.at(-1).at(-1);
    for (let at = 0; at < line.text.length; at += 1) {
      const letter = line.text[at];
      if (isQuoted && letter === quote && line.text[at + 1] === quote) { cell().text += letter; at += 1; }
      else if (letter === quote && (isQuoted || !cell().text.trim())) { isQuoted = !isQuoted; if (isQuoted) cell().text = ""; }
      else if (!isQuoted && letter === delimiter) row.push([{ ...line, text: "" }]);
      else if (cell().text || letter !== " " || isQuoted) cell().text += letter;
    }
    if (!isQuoted) rows.push({ cells: row, lines: lines.slice(first, number + 1) });
  });
  if (isQuoted) rows.push({ cells: row, lines: lines.slice(first) });
  return rows;
}

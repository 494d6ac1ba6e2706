// AsciiDoc's tables: cells between bars, in rows by their number or by lines.
import { el } from "./dom.js";
import { scrolled, spanning } from "./parts.js";

const CELL = /(?<!\\)(?:(?<=^|\s)(?:(\d*)(?:\.(\d+))?([+*]))?(?:[<^>]?(?:\.[<^>])?)([aehlmsdv])?)?\|/g;
const MOST = 200; // columns, and copies of a cell

/**
 * The table of the lines between two delimiters. `meta` holds what stands in brackets above (see asciidoc.js); `read(lines)`
 * makes blocks, `words(text)` nodes. Null where it has no cells.
 */
export function tableOf(lines, meta, separator, title, read, words) {
  const found = separator === "," || meta.named.get("format") === "csv" ? separated(lines) : cellsOf(lines, separator);
  if (!found.length) return null;
  const first = lines.findIndex((line) => line.text.trim());
  const styles = columnsOf(meta.named.get("cols") ?? "");
  const width = styles.length || found.filter((cell) => cell.lines[0].number === lines[first].number).reduce((sum, cell) => sum + cell.columns, 0);
  const rows = rowsOf(found, width);
  const isImplied = first === 0 && lines.length > 1 && !lines[1].text.trim() && rows[0].at(-1).lines[0].number === lines[0].number;
  const hasHead = /header/.test(meta.named.get("options") ?? meta.named.get("opts") ?? "") || meta.options.has("header") || (isImplied && !meta.options.has("noheader"));
  const made = rows.map((row, place) => spanning(el("tr", {}, row.map((cell) => {
    const style = cell.style || styles[cell.column] || "";
    const isHead = (place === 0 && hasHead && rows.length > 1) || style === "h";
    return el(isHead ? "th" : "td", { colspan: cell.columns > 1 ? cell.columns : null, rowspan: cell.rows > 1 ? cell.rows : null }, contentOf(cell.lines, isHead ? "" : style, read, words));
  })), row.flatMap((cell) => cell.lines)));
  const isHeaded = hasHead && made.length > 1;
  return scrolled(title ? el("caption", {}, title) : [], isHeaded ? el("thead", {}, made[0]) : [], el("tbody", {}, isHeaded ? made.slice(1) : made));
}

function contentOf(lines, style, read, words) {
  if (style === "a") {
    const made = read(lines);
    return made.length === 1 && made[0].tagName === "P" ? [...made[0].childNodes] : made;
  }
  const text = lines.map((line) => line.text).join("\n").trim();
  if (style === "l") return el("pre", {}, text);
  const parts = text.split(/\n\s*\n/).map((part) => words(part.trim()));
  const shown = parts.length > 1 ? parts.map((part) => el("p", {}, part)) : parts[0];
  return style === "m" ? el("code", {}, shown) : style === "s" ? el("strong", {}, shown) : style === "e" ? el("em", {}, shown) : shown;
}

/** The styles of the columns that `cols` describes: "1,2a", "3*", "<.^2m". */
function columnsOf(cols) {
  const parts = cols.trim() ? cols.split(/[,;]/) : [];
  return parts.flatMap((one) => {
    const [, copies, style] = /^\s*(?:(\d+)\*)?.*?([aehlmsdv])?\s*$/.exec(one);
    return Array(Math.min(MOST, copies ? parseInt(copies, 10) : /^\s*\d+\s*$/.test(cols) ? parseInt(cols, 10) : 1)).fill(style ?? "");
  }).slice(0, MOST);
}

/** Cells in order: {lines, columns, rows, style}. */
function cellsOf(lines, separator) {
  const cells = [];
  const bars = separator === "|" ? CELL : new RegExp(CELL.source.replace(/\\\|$/, `\\${separator}`), "g");
  for (const line of lines) {
    const marks = [...line.text.matchAll(bars)];
    const before = line.text.slice(0, marks[0]?.index ?? line.text.length);
    if (cells.length && (before.trim() || !marks.length)) cells.at(-1).lines.push({ ...line, text: unbarred(before) });
    marks.forEach((mark, place) => {
      const [whole, columns, rows, sign, style] = mark;
      const text = unbarred(line.text.slice(mark.index + whole.length, marks[place + 1]?.index ?? line.text.length)).trim();
      const cell = { columns: sign === "+" ? Math.min(MOST, parseInt(columns, 10) || 1) : 1, rows: sign === "+" ? Math.min(MOST, parseInt(rows, 10) || 1) : 1, style };
      const copies = sign === "*" ? Math.min(MOST, parseInt(columns, 10) || 1) : 1;
      for (let copy = 0; copy < copies; copy += 1) cells.push({ ...cell, lines: [{ ...line, text }] });
    });
  }
  return cells.map((cell) => {
    while (cell.lines.length > 1 && !cell.lines.at(-1).text.trim()) cell.lines.pop();
    return cell;
  });
}

const unbarred = (text) => text.replace(/\\\|/g, "|");

function separated(lines) {
  return lines.filter((line) => line.text.trim()).flatMap((line) => [...line.text.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g)]
    .map((match) => ({ lines: [{ ...line, text: (match[1]?.replace(/""/g, '"') ?? match[2]).trim() }], columns: 1, rows: 1 })));
}

/** Cells in rows of so many columns, around those that reach down from above. */
function rowsOf(cells, width) {
  const rows = [[]];
  let taken = []; // of each column: rows that a cell above still reaches down
  let column = 0;
  const skip = () => { while (taken[column] > 0) column += 1; };
  for (const cell of cells) {
    skip();
    if (column >= width && rows.at(-1).length) {
      taken = taken.map((left) => left - 1);
      rows.push([]);
      column = 0;
      skip();
    }
    rows.at(-1).push({ ...cell, column });
    for (let step = 0; step < cell.columns; step += 1) taken[column + step] = cell.rows;
    column += cell.columns;
  }
  return rows;
}

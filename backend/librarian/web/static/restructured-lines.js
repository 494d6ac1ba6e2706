// Lines of reStructuredText, {text, number} each: what belongs together by its indentation.

export const isBlank = (line) => !line.text.trim();

export const margin = (line) => line.text.length - line.text.trimStart().length;

/** Lines of a text with tabs as spaces. */
export const linesOf = (text, firstLine) => text.split("\n").map((one, place) => ({
  text: one.trimEnd().split("\t").reduce((line, part) => line + " ".repeat(8 - (line.length % 8)) + part),
  number: firstLine + place,
}));

/** Where lines end from `at` on that `belong`, blank ones between them included. */
export function endOf(lines, at, belong = (line) => margin(line) > 0) {
  let end = at;
  for (let next = at; next < lines.length && (isBlank(lines[next]) || belong(lines[next], next)); next += 1) if (!isBlank(lines[next])) end = next + 1;
  return end;
}

/** Lines without the indentation that all of them share. */
export function dedented(lines) {
  const least = Math.min(...lines.filter((line) => !isBlank(line)).map(margin));
  return lines.map((line) => ({ ...line, text: line.text.slice(least) }));
}

/** Lines without blank ones at both ends. */
export function trimmed(lines) {
  const kept = lines.slice(Math.max(0, lines.findIndex((line) => !isBlank(line))));
  while (kept.length && isBlank(kept.at(-1))) kept.pop();
  return kept;
}

/**
 * The lines of an item whose sign takes `sign` characters of its first line, without sign and indentation, and the
 * line behind them. A line directly below another belongs to it also where it is indented less than it should be.
 */
export function itemAt(lines, at, sign) {
  let width = sign;
  if (lines[at].text.length <= sign) { // below a lone sign any indentation will do
    let below = at + 1;
    while (below < lines.length && isBlank(lines[below])) below += 1;
    width = (below < lines.length && margin(lines[below])) || sign;
  }
  const end = endOf(lines, at + 1, (line, next) => margin(line) >= width || (margin(line) > 0 && !isBlank(lines[next - 1])));
  const inner = lines.slice(at, end).map((line, place) => ({ ...line, text: line.text.slice(place ? Math.min(margin(line), width) : sign) }));
  return [inner, end];
}

const BULLET = /^([-*+•‣⁃])(?: +|$)/;

/** The items of the bulleted list that begins at a line, as their lines, and the line behind them; null where none does. */
export function bulletsAt(lines, at) {
  const sign = BULLET.exec(lines[at].text)?.[1];
  if (!sign) return null;
  const items = [];
  let end = at;
  for (let next = at; next < lines.length;) {
    const match = BULLET.exec(lines[next].text);
    if (match?.[1] !== sign) break;
    const [inner, after] = itemAt(lines, next, match[0].length);
    items.push(inner);
    end = after;
    for (next = after; next < lines.length && isBlank(lines[next]);) next += 1;
  }
  return [items, end];
}

const OPTION = /^:((?:\w+(?:[-_ ]\w+)*)):(?: +(.*))?$/;

/** What stands below a directive's line as [options, rest]: options directly below, the rest behind a blank line or them. */
export function parted(lines) {
  const options = new Map();
  let at = 0;
  for (let match = null; at < lines.length && (match = OPTION.exec(lines[at].text)); ) {
    const end = lines.findIndex((line, place) => place > at && (isBlank(line) || margin(line) === 0));
    const last = end < 0 ? lines.length : end;
    options.set(match[1], [match[2] ?? "", ...lines.slice(at + 1, last).map((line) => line.text.trim())].join("\n").trim());
    at = last;
  }
  return [options, lines.slice(at)];
}

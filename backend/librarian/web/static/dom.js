// Making elements. Text goes in as text nodes, never as markup; there is no other way in this page.

/** An element with attributes (false and null are left out, `on…` are listeners) and children (strings or nodes). */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const at = (id) => document.getElementById(id);

export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", ...attributes, onclick }, text);
}

/** Tells those who listen instead of looking. */
export function say(text) {
  at("said").textContent = text;
}

/** Puts content in the place of what an element held; whoever is at one of its controls stays there, and what is unfolded by its id stays so. */
export function renew(element, ...content) {
  const controls = () => [...element.querySelectorAll("a, button, summary")];
  const focused = controls().indexOf(document.activeElement);
  const unfolded = [...element.querySelectorAll("details[id][open]")].map((one) => one.id);
  element.replaceChildren(...content);
  for (const id of unfolded) if (at(id)) at(id).open = true;
  if (focused >= 0) (controls()[focused] ?? controls().at(-1))?.focus({ preventScroll: true });
}

/** Opens a dialog with a title, this content and a way out, or renews what it holds. */
export function showDialog(dialog, titleId, title, ...content) {
  renew(dialog,
    el("div", { class: "dialog-head" }, el("h2", { id: titleId }, title),
      button("Close", () => dialog.close(), { class: "plain" })),
    ...content);
  if (!dialog.open) dialog.showModal();
}

export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function formatted(iso, format) {
  const date = new Date(iso);
  return iso && !Number.isNaN(date.getTime()) ? format.format(date) : "";
}
export const day = (iso) => formatted(iso, DAY);
export const moment = (iso) => formatted(iso, MOMENT);

export function bytes(size) {
  const units = ["B", "kB", "MB", "GB"];
  let step = 0;
  while (size >= 1000 && step < units.length - 1) { size /= 1000; step += 1; }
  return `${size >= 10 || step === 0 ? Math.round(size) : size.toFixed(1)} ${units[step]}`;
}

// A passage as one line to paste elsewhere.
import { say } from "./dom.js";

export function citation(item) {
  const section = item.heading_path?.at(-1);
  const what = section && section !== item.title ? `“${section}”, ${item.title}` : item.title;
  const who = item.sender ? `${item.sender}: ` : "";
  const when = item.date ? `, ${item.date.slice(0, 10)}` : "";
  const page = item.page ? `, p. ${item.page}` : "";
  const lines = item.line_start === item.line_end ? `line ${item.line_start}` : `lines ${item.line_start}–${item.line_end}`;
  return `${who}${what}${when}. ${item.file_path}${page}, ${lines}. ${item.uri}`;
}

/** Copies text; where the clipboard is closed to this page, through a selection. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button?.focus();
  }
  say("Copied.");
  if (!button) return;
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

// Before the first question: what there is, what was asked here before, what was kept. And the dialogs on these.
import { at, button, el, plural, renew, showDialog } from "./dom.js";
import { nothingIndexed } from "./empty.js";
import { favourites, forget, history, singleKeys, useSingleKeys } from "./memory.js";

const safe = (address) => (typeof address === "string" && address.startsWith(`${location.pathname}?`) ? address : location.pathname);

function links(items, name, shown, redraw) {
  return el("ul", { class: "kept" }, items.slice(0, shown).map((one) => el("li", {},
    el("a", { href: safe(one.address), class: "inside" }, one.text),
    redraw ? button("✕", () => { forget(name, one.address); redraw(); }, { class: "plain", "aria-label": `Forget ${one.text}` }) : null)));
}

/** The start view. `choose(changes)` begins a search. */
export function showHome(facets, library, choose) {
  const asked = history();
  const kept = favourites();
  const parts = [];
  if (library && !library.documents && !library.emails) {
    parts.push(el("section", {}, nothingIndexed(library)));
  } else if (facets?.products.length) {
    parts.push(el("section", {}, el("h2", {}, "In this library"),
      el("ul", { class: "products" }, facets.products.slice(0, 24).map((one) => el("li", {},
        button([el("strong", {}, one.name), " ", el("span", {}, plural(one.count, facets.type === "emails" ? "email" : "document"))],
          () => choose({ product: one.name }), { class: "product" }))))));
  }
  if (asked.length) parts.push(el("section", {}, el("h2", {}, "Asked before"), links(asked, "history", 6)));
  if (kept.length) parts.push(el("section", {}, el("h2", {}, "Favourites"), links(kept, "favourites", 6)));
  renew(at("home"), ...parts);
  at("home").hidden = false;
}

/** `keeps`: whether the server keeps questions (`analytics.enabled`). */
export function showSaved(keeps) {
  const dialog = at("saved-dialog");
  const part = (title, name, items) => [el("h3", {}, title),
    items.length ? links(items, name, 200, () => showSaved(keeps)) : el("p", { class: "quiet" }, name === "history" ? "Questions that you ask appear here." : "Passages that you star appear here."),
    items.length ? button(`Forget all`, () => { forget(name); showSaved(keeps); }, { class: "plain" }) : ""];
  showDialog(dialog, "saved-title", "History and favourites",
    el("p", { class: "quiet" }, "These lists are stored in this browser only. ",
      keeps ? "The server receives what you search for and keeps each finished question (analytics.enabled is on)."
        : "The server receives what you search for, to answer it; it keeps no list of questions."),
    ...part("Favourites", "favourites", favourites()), ...part("History", "history", history()));
}

const MODES = [
  ["auto", "looks at the question and takes the mode that suits it. A good default."],
  ["hybrid", "words and meaning together. For questions in your own words that also name things."],
  ["keyword", "exact words, names, error codes and versions. “Quoted words” must occur, -word excludes."],
  ["semantic", "meaning alone: finds pages that say it in other words, also across languages the model knows."],
  ["rerank", "hybrid, then the best passages are read once more together with the question. Slower, more exact at the top."],
  ["hyde", "searches with an imagined answer. For vague or long questions; does little for names and codes."],
];
const KEYS = [["/", "to the question"], ["↓ ↑", "through the results"], ["Enter", "open the result; in the question: the first one"],
  ["Esc", "close what is open, back to the result, back to the question"], ["c", "copy the result as a citation"],
  ["s", "keep the result as a favourite"], ["?", "this help"]];

export function showHelp() {
  showDialog(at("help-dialog"), "help-title", "Modes and keys",
    el("dl", { class: "modes" }, MODES.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
    el("h3", {}, "Keys"),
    el("dl", { class: "keys" }, KEYS.flatMap(([key, text]) => [el("dt", {}, key.split(" ").map((one) => el("kbd", {}, one))), el("dd", {}, text)])),
    el("p", {}, el("label", {},
      el("input", { type: "checkbox", id: "single-keys", checked: singleKeys(), onchange: (event) => useSingleKeys(event.target.checked) }),
      " / and ? are keys wherever nothing is typed")),
    el("h3", {}, "Grades"),
    el("p", {}, "Excellent, Good, Fair and Weak are steps of the calibrated relevance (from 0.75, 0.5, 0.25, 0): they mean the same in every question."));
}

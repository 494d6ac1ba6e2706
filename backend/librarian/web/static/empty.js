// When nothing was found, or nothing well: what to try instead.
import { at, button, el } from "./dom.js";
import { labelOf } from "./filters.js";

/** Buttons for an answer's suggestions. `act(changes)` changes the search, `read(path)` opens a document. */
function suggestionList(answer, state, act, read) {
  const items = answer.suggestions.map((one) => {
    if (one.kind === "term") return [el("span", {}, one.text), button(`Search for “${one.value}”`, () => act({ q: one.value }))];
    if (one.kind === "mode") return [el("span", {}, one.text), button(`Use mode ${one.value}`, () => act({ mode: one.value }))];
    if (one.kind === "document") return [el("span", {}, "A document with a near name:"), button(one.value, () => read(one.value), { class: "link" })];
    const filter = one.kind === "filter" ? labelOf(one.value) : null;
    if (filter) {
      const unset = Array.isArray(state[filter.name]) ? [] : "";
      return [el("span", {}, one.text), button(`Drop “${filter.label}”`, () => act({ [filter.name]: unset }))];
    }
    return [el("span", {}, one.text)];
  });
  return el("ul", { class: "suggestions" }, items.map((parts) => el("li", {}, parts)));
}

/** Fills the empty state. */
export function showEmpty(answer, state, library, act, read) {
  const box = at("empty");
  if (library && !library.documents && !library.emails) {
    box.replaceChildren(...nothingIndexed(library));
  } else {
    const other = state.type === "documents" ? "emails" : "documents";
    const known = new Set([answer.mode, state.mode, ...answer.suggestions.filter((one) => one.kind === "mode").map((one) => one.value)]);
    const modes = (library?.embeddings.enabled === false ? ["keyword"] : ["hybrid", "semantic", "keyword"]).filter((mode) => !known.has(mode));
    const many = library && (other === "emails" ? library.emails : library.documents);
    box.replaceChildren(
      el("h2", {}, `Nothing found for “${answer.query || "these filters"}”`),
      answer.suggestions.length ? suggestionList(answer, state, act, read) : "",
      modes.length || many ? el("p", { class: "tries" }, "Or try ",
        ...modes.map((mode) => button(`mode ${mode}`, () => act({ mode }))),
        many ? button(`the ${other}`, () => act({ type: other })) : "") : "");
  }
  box.hidden = false;
}

/** How to get something indexed. */
export function nothingIndexed(library) {
  const working = library.progress.phase !== "idle";
  return [
    el("h2", {}, working ? "The first index is being made" : "Nothing is indexed yet"),
    el("p", {}, working ? "Results appear here as files are read: this page looks again by itself." : `Librarian reads ${library.root_path || "its folder"}, laid out as product/component/file:`),
    working ? "" : el("pre", {}, "docs/\n  my-product/\n    guides/\n      first-steps.md\n    mail/\n      2026-01-12.eml"),
    working ? "" : el("p", {}, "Put files there (they are noticed within seconds), or point Librarian at another folder: ",
      el("code", {}, "./scripts/start.sh --root ~/my-docs"), ". For a folder without products add ", el("code", {}, "--layout flat"), "."),
    library.skipped.total ? el("p", {}, `Left out: ${Object.entries(library.skipped.by_reason).map(([reason, count]) => `${count} × ${reason}`).join(", ")}.`) : "",
  ];
}

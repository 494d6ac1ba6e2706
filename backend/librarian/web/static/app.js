// The page: one state, kept in the address; everything else follows from it.
import { call, Refused, Unreachable } from "./api.js";
import { blank, closed, filtersIn, fromAddress, opened, requestOf, toAddress } from "./address.js";
import { at, el, plural } from "./dom.js";
import { showEmpty } from "./empty.js";
import { Filters } from "./filters.js";
import { showHelp, showHome, showSaved } from "./home.js";
import { listen } from "./keyboard.js";
import { markedWords, wordsOf } from "./marks.js";
import { rememberQuestion } from "./memory.js";
import { Reader } from "./reader.js";
import { Results } from "./results.js";
import { Search } from "./search.js";
import { State } from "./state.js";

const DWELL = 2000; // milliseconds after which a question counts as asked

const SLOW = 1000; // milliseconds after which a search is said to be under way

let state = fromAddress();
let asked = ""; // the question whose answer is shown, as JSON
let answer = null;
let failed = false;
let draft = false; // whether the server takes the question that is shown for a half typed one
let settled = true; // whether what is asked has a place of its own in the browser's history
let retrying = 0; // timer of a question that is asked once more
let words = [];
let dwelling = 0;
let waiting = 0; // timer of saying that a search takes a while

const results = new Results(at("results"), open);
const filters = new Filters((changes) => change(changes, { push: true }), () => { if (!requestOf(state)) home(); });
const reader = new Reader({
  onClose: close,
  onFollow: (path, section) => {
    words = [];
    move({ ...closed(state), doc: path || state.doc, section }, { push: true });
    if (path) show();
    else reader.keep(state);
  },
  onTitle: nameTab,
  addressOf: (doc, section) => toAddress({ ...closed(state), doc, section }),
});
const search = new Search({
  onAnswer,
  onError,
  onBusy: (busy) => {
    at("search").classList.toggle("busy", busy);
    clearTimeout(waiting);
    if (busy) waiting = setTimeout(() => { at("summary").textContent = "Searching …"; }, SLOW);
  },
});
const library = new State({
  onChange: (now, before) => {
    search.wait = now.llm.enabled ? 700 : 150; // a language model is asked once the typing rests, not at every key
    if (before && before.generation !== now.generation) {
      filters.renew(state);
      if (!requestOf(state)) home();
      else if (answer && !answer.results.length) ask({ again: true, unasked: true });
    } else if (!before || before.documents !== now.documents) {
      if (!requestOf(state)) home();
    }
    at("again").hidden = !isBehind(now);
  },
  onLost: (error) => complain(error.message),
  onBack: () => {
    at("message").hidden = true;
    filters.renew(state);
    if (failed) ask({ again: true, unasked: !settled });
    if (reader.failed) reader.show(state, words, { focus: false });
  },
});

// -- state ---------------------------------------------------------------------------------------------------------

/** Writes the state to the address; a new entry of the browser's history with `push`. */
function move(next, { push = false } = {}) {
  state = next;
  const address = toAddress(state);
  if (address === location.pathname + location.search) return;
  if (push) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** The reader changed something about the search. */
function change(changes, { push = false, soon = false } = {}) {
  if (soon) {
    push = Boolean(state.doc || (settled && requestOf(state))); // one entry for all letters of a question
    settled = false;
  } else settled = true;
  move({ ...closed(state), ...changes }, { push });
  reader.close();
  controls();
  filters.show(state);
  if (soon) later();
  else ask();
}

/** The same by a button that goes with the answer: who pressed it goes on from the question. */
function choose(changes) {
  change(changes, { push: true });
  at("query").focus();
}

function controls() {
  if (at("query").value !== state.q) at("query").value = state.q;
  at(`type-${state.type}`).checked = true;
  at("mode").value = state.mode;
  nameTab();
}

function nameTab() {
  document.title = [reader.title, state.q, "Librarian"].filter(Boolean).join(" – ");
}

/** Everything from the state: at the start, and when the reader goes back or forth. */
function show() {
  settled = true;
  controls();
  filters.show(state);
  ask();
  if (state.doc) reader.show(state, words.length ? words : wordsOf(state.q));
  else leave();
  results.point(state);
}

// -- asking --------------------------------------------------------------------------------------------------------

function later() {
  const body = requestOf(state);
  if (!body) return ask();
  clearTimeout(retrying);
  asked = JSON.stringify(body);
  at("more").disabled = true; // it belongs to the question before
  search.soon(body);
}

/** `unasked`: nobody pressed a key for it just now. */
function ask({ again = false, unasked = false } = {}) {
  const body = requestOf(state);
  clearTimeout(retrying);
  if (!body) {
    at("message").hidden = !library.lost;
    failed = false;
    search.drop();
    asked = "";
    answer = null;
    clear();
    home();
    return;
  }
  const key = JSON.stringify(body);
  if (key === asked && !again) return;
  asked = key;
  at("more").disabled = true;
  search.now(body, 0, { draft: unasked });
}

function clear() {
  results.clear();
  at("summary").textContent = "";
  at("notices").replaceChildren();
  at("empty").hidden = at("more").hidden = at("again").hidden = true;
}

/** Whether the library knows more than the answer that is shown: the list stays as it is under who reads it until they ask. */
function isBehind(now) {
  if (!answer?.results.length) return false;
  const learnt = now.status === "ready" && now.embedded_chunks > answer.coverage.embedded_chunks;
  return now.generation > answer.generation || learnt;
}

function home() {
  showHome(filters.facets[state.type], library.now, choose);
}

function onAnswer(found, offset, isDraft) {
  failed = false;
  if (!offset) draft = isDraft && !settled;
  at("message").hidden = true;
  at("home").hidden = true;
  if (!offset) clear();
  answer = found;
  results.add(found.results, closed(state));
  results.point(state);
  at("more").hidden = found.next_offset === null;
  at("more").disabled = false;
  summarise(found);
  if (!results.count) showEmpty(found, state, library.now, choose, read);
  clearTimeout(dwelling);
  dwelling = setTimeout(remember, DWELL);
}

function summarise(found) {
  const facts = results.count ? [`${results.count} of ${found.capped ? "the best " : ""}${plural(found.total, "passage")}`] : ["Nothing found"];
  facts.push(found.requested_mode === found.mode ? found.mode : `${found.requested_mode} → ${found.mode}`);
  facts.push(`${Math.max(1, Math.round(found.took_ms))} ms${found.cache ? ", cached" : ""}`);
  at("summary").textContent = facts.join(" · ");
  const learning = library.now?.status === "indexing";
  const partly = found.coverage.embedded_chunks < found.coverage.chunks && found.retrievers.semantic.status === "ok"; // the same is among what is degraded
  const notice = (one) => {
    if (one.startsWith("reading:")) return ["", "Files are still being read; passages of the others are missing."];
    if (learning && one.startsWith("semantic:")) return ["", "The meanings are still being learnt; so far the words alone answer."];
    return ["warn", `Not everything works: ${one}`];
  };
  const notices = found.degraded.filter((one) => !(partly && one.startsWith("semantic:"))).map(notice);
  if (partly) {
    notices.push(["", `Meanings are known for ${found.coverage.embedded_chunks.toLocaleString()} of ${plural(found.coverage.chunks, "passage")} so far; words are searched in all.`]);
  }
  if (found.not_mentioned?.length) {
    const named = found.not_mentioned.map((one) => `“${one}”`).join(" or ");
    notices.push(["", `No ${state.type === "emails" ? "email" : "document"}${found.not_mentioned_in ? ` ${found.not_mentioned_in}` : ""} mentions ${named}.`]);
  } else if (!found.calibrated && results.count) notices.push(["", "Relevance isn’t calibrated to this library yet."]);
  if (results.count && found.answerable === "unlikely") notices.push(["", "Probably no passage answers this. These come nearest."]);
  if (results.count) notices.push(...[...found.notes, ...found.suggestions.map((one) => one.text)].map((text) => ["", text]));
  if (state.q.length >= at("query").maxLength) notices.push(["", `A question has at most ${plural(at("query").maxLength, "character")}: what came behind them wasn’t searched for.`]);
  const rewritten = found.rewritten;
  if (rewritten?.search_terms && rewritten.source !== "spelling") notices.push(["", `Also searched for: ${rewritten.search_terms} (${rewritten.source})`]);
  const boxes = notices.map(([kind, text]) => el("p", { class: `notice ${kind}` }, text));
  if (rewritten?.hypothetical_answer && rewritten.source !== "template") {
    boxes.push(el("details", { class: "notice" }, el("summary", {}, `Searched with an imagined answer too (${rewritten.source})`), el("p", {}, rewritten.hypothetical_answer)));
  }
  at("notices").replaceChildren(...boxes);
}

function onError(error) {
  failed = true;
  asked = "";
  complain(error.message);
  if (error instanceof Unreachable) {
    at("summary").textContent = ""; // nothing is searched until it is back
    library.look();
  }
  else if (error instanceof Refused && error.wait) retrying = setTimeout(() => ask({ again: true, unasked: !settled }), 1000 * error.wait);
  else clear();
}

function complain(text) {
  at("message").textContent = text;
  at("message").hidden = false;
}

function remember() {
  clearTimeout(dwelling);
  settled = true;
  if (!answer || state.q.trim() !== answer.query) return;
  if (answer.results.length) rememberQuestion(state.q.trim(), toAddress(closed(state)));
  if (draft && library.now?.features.analytics) call("/api/search", requestOf(state)).catch(() => {}); // to be kept
  draft = false;
}

// -- reading -------------------------------------------------------------------------------------------------------

function open(result) {
  remember();
  words = markedWords(result.snippet, result.highlights);
  move(opened(state, result), { push: true });
  reader.show(state, words);
  results.point(state);
}

function read(path) {
  words = [];
  move({ ...closed(state), doc: path }, { push: true });
  reader.show(state, words);
}

function close() {
  if (!reader.isOpen) return false;
  move(closed(state), { push: true });
  leave({ focus: true });
  results.point(state);
  return true;
}

/** Closes the document. Whoever read it is back at its result, or at the question where the results are about to be others. */
function leave({ focus = at("panel").contains(document.activeElement) } = {}) {
  const link = JSON.stringify(requestOf(state)) === asked && document.querySelector("#results a[aria-current]");
  reader.close();
  if (focus) (link || at("query")).focus();
}

// -- listening -----------------------------------------------------------------------------------------------------

at("query").addEventListener("input", (event) => change({ q: event.target.value }, { soon: true }));
at("search").addEventListener("submit", (event) => event.preventDefault());
at("search").addEventListener("change", (event) => {
  if (event.target.name === "type") change({ type: event.target.value }, { push: true });
  if (event.target.name === "mode") change({ mode: event.target.value }, { push: true });
});
at("more").addEventListener("click", async () => {
  const before = new Set(document.querySelectorAll("#results a.open"));
  at("more").disabled = true;
  await search.now(requestOf(state), answer.next_offset);
  if (document.activeElement === at("more") || document.activeElement === document.body) {
    [...document.querySelectorAll("#results a.open")].find((one) => !before.has(one))?.focus();
  }
});
at("again").addEventListener("click", () => {
  ask({ again: true });
  at("main").focus();
});
at("filters-button").addEventListener("click", (event) => {
  const isOpen = event.currentTarget.getAttribute("aria-expanded") !== "true";
  event.currentTarget.setAttribute("aria-expanded", String(isOpen));
  at("filters").classList.toggle("open", isOpen);
});
const elsewhere = (event) => event.ctrlKey || event.metaKey || event.shiftKey; // a new tab or window
at("home-link").addEventListener("click", (event) => {
  if (elsewhere(event)) return;
  event.preventDefault();
  move(blank(), { push: true });
  show();
  at("query").focus();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.inside");
  if (!link || elsewhere(event)) return;
  event.preventDefault();
  link.closest("dialog")?.close();
  words = [];
  history.pushState(null, "", link.getAttribute("href"));
  state = fromAddress();
  show();
});
at("state").addEventListener("click", () => library.showDialog());
at("help-button").addEventListener("click", showHelp);
at("modes-button").addEventListener("click", showHelp);
at("saved-button").addEventListener("click", () => showSaved(library.now?.features.analytics));
window.addEventListener("popstate", () => { state = fromAddress(); words = []; show(); });
listen({
  submit: () => {
    const first = document.querySelector("#results a.open");
    const current = JSON.stringify(requestOf(state)) === asked && answer && state.q.trim() === answer.query;
    settled = true;
    if (current && first && !at("search").classList.contains("busy")) first.click();
    else if (requestOf(state)) ask({ again: true });
  },
  close,
  help: showHelp,
});

// What the keyboard comes to isn't left behind the question's bar, which is as high as the window lets it be.
new ResizeObserver(([{ target }]) => document.documentElement.style.setProperty("--bar", `${target.offsetHeight + 8}px`))
  .observe(document.querySelector("body > search"));

// -- theme ---------------------------------------------------------------------------------------------------------

const THEMES = { "": "light", light: "dark", dark: "" };
function nameTheme() {
  at("theme-name").textContent = `Theme: ${document.documentElement.dataset.theme || "automatic"}`;
}
at("theme").addEventListener("click", () => {
  const next = THEMES[document.documentElement.dataset.theme ?? ""];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try { localStorage.setItem("librarian.theme", next); } catch { /* storage is off: the choice lasts for this page */ }
  nameTheme();
});

nameTheme();
show();
library.look();
if (!filtersIn(state).length && !state.doc) at("query").focus();

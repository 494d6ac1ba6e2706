// The page in a browser with scripts: it asks as one types, opens documents beside the results, and goes by keys.
// Every view is made by the server; this fetches parts of it and puts them in place.
import { favourites, forget, history, isFavourite, rememberQuestion, singleKeys, store, toggleFavourite } from "./memory.js";

const WAIT = 140; // milliseconds after the last key
const WAIT_WITH_MODEL = 700; // the same where a language model is asked
const SLOW = 1000; // milliseconds after which a search is said to be under way
const DWELL = 2000; // milliseconds after which a question counts as asked
const LOOKS = { ready: 15_000, degraded: 10_000, indexing: 1_000, lost: 1_500 }; // milliseconds between looks
const NARROW = matchMedia("(max-width: 59.99rem)"); // where the panel covers the page

const at = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const policy = window.trustedTypes?.createPolicy("librarian", { createHTML: (markup) => markup });

/** The elements of markup that this server has sent: the one place where text becomes elements. */
function elements(markup) {
  const parsed = new DOMParser().parseFromString(policy ? policy.createHTML(markup) : markup, "text/html");
  return [...parsed.body.children];
}

const AWAY = "Librarian can’t be reached. This page tries again by itself.";

class Refused extends Error {
  constructor(response, body) {
    const parts = elements(body);
    super(parts.find((one) => one.id === "main")?.querySelector("#message").textContent || `The server answers with status ${response.status}.`);
    Object.assign(this, { parts, wait: Number(response.headers.get("retry-after") || 0) });
  }
}

/** A part of the view at an address; raises `Refused` with what the server sent instead. */
async function part(name, address, { signal, draft = false } = {}) {
  const headers = { "librarian-part": name };
  if (draft) headers["librarian-draft"] = "1";
  let response;
  try {
    response = await fetch(address, { headers, signal, cache: "no-store" });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(AWAY);
  }
  const body = await response.text();
  const isOurs = response.headers.get("content-security-policy")?.includes("trusted-types librarian");
  if (!isOurs) throw new Error(AWAY); // a proxy's own page
  if (response.status === 401) location.reload();
  if (!response.ok) throw new Refused(response, body);
  return body;
}

// -- the address -----------------------------------------------------------------------------------------------------

const OPENED = ["doc", "lines", "section", "thread", "from_line"];
const parameters = (address = location.href) => new URL(address, location.href).searchParams;
const bare = (address) => address.split("#")[0];

/** The address with some parameters changed; an empty value removes one. */
function changed(changes, address = location.href) {
  const url = new URL(address, location.href);
  for (const [name, value] of Object.entries(changes)) value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
  return `${url.pathname}${url.search}`;
}

const closed = (address = location.href) => changed(Object.fromEntries(OPENED.map((name) => [name, ""])), address);
const question = () => (parameters().get("q") ?? "").trim();
const key = (address) => closed(address).split("?")[1] ?? ""; // what names a list of results
const isOpen = () => at("panel")?.hidden === false;

/** Goes to an address; `push` leaves the present one in the browser's history. */
function move(address, push) {
  const next = bare(address);
  if (new URL(next, location.href).href === bare(location.href)) return;
  if (push) window.history.pushState({ from: isOpen() ? "document" : "list" }, "", next); // what Esc goes back to
  else window.history.replaceState(window.history.state, "", next);
}

// -- results ---------------------------------------------------------------------------------------------------------

let shown = key(location.href); // the list that stands on the page
let running = null;
let [typing, retrying, dwelling, waiting] = [0, 0, 0, 0]; // timers
let draft = false; // the server takes the question that is shown for half typed
let settled = true; // what is asked has a place of its own in the browser's history

function busy(on) {
  at("search").classList.toggle("busy", on);
  clearTimeout(waiting);
  const summary = at("summary");
  if (on && summary) waiting = setTimeout(() => { summary.textContent = "Searching …"; }, SLOW);
}

/** Replaces filters and results by those of the address. `half`: the question may be half typed. */
async function refresh({ half = false, again = false } = {}) {
  clearTimeout(typing);
  clearTimeout(retrying);
  const address = closed();
  if (!again && key(address) === shown) { running?.abort(); busy(false); return; }
  running?.abort();
  const mine = running = new AbortController();
  busy(true);
  try {
    const markup = await part("results", address, { signal: mine.signal, draft: half });
    if (mine !== running) return;
    place(elements(markup));
    shown = key(address);
    draft = half;
    clearTimeout(dwelling);
    dwelling = setTimeout(settle, DWELL);
  } catch (error) {
    if (mine !== running || error.name === "AbortError") return;
    if (error instanceof Refused && error.wait) {
      complain(error.message);
      retrying = setTimeout(() => refresh({ half, again: true }), 1000 * error.wait);
    } else if (error instanceof Refused && error.parts.length) {
      place(error.parts);
      shown = key(address);
    } else {
      complain(error.message);
      shown = "";
      look();
    }
  } finally {
    if (mine === running) busy(false);
  }
}

/** Puts new filters and results in place; who is typing in a filter isn't interrupted. */
function place(parts) {
  const focus = document.activeElement;
  for (const next of parts) {
    const old = next.id && at(next.id);
    if (!old) continue;
    next.classList.toggle("open", old.classList.contains("open"));
    const field = old.contains(focus) && focus.closest("#filters > .field");
    const twin = field && next.querySelector(`#${focus.id}`)?.closest(".field");
    if (twin) { // it stays where it is, or it would lose the part that is typed
      for (const one of [...old.children]) if (one !== field) one.remove();
      const place = [...next.children].indexOf(twin);
      for (const [number, one] of [...next.children].entries()) {
        if (number < place) field.before(one);
        else if (number > place) old.append(one);
      }
      continue;
    }
    const inside = old.contains(focus) ? focus.id : "";
    old.replaceWith(next);
    if (inside) at(inside)?.focus();
  }
  const count = all("#chips .chip").length;
  at("filters-button").textContent = count ? `Filters (${count})` : "Filters";
  prepare(document);
  arrange();
}

/** What goes with each change of the page. */
function arrange() {
  point();
  cover();
  document.title = [isOpen() ? at("panel-title")?.textContent : "", question(), "Librarian"].filter(Boolean).join(" – ");
}

const complain = (text) => Object.assign(at("message"), { textContent: text, hidden: false });

/** The question rests: from now on it counts as asked, here and in the server's list of questions. */
function settle() {
  clearTimeout(dwelling);
  settled = true;
  if (!question() || key(location.href) !== shown) return;
  if (at("results")) rememberQuestion(question(), closed());
  if (draft && at("state")?.dataset.analytics === "true") part("results", closed()).catch(() => {});
  draft = false;
}

// -- what is opened ----------------------------------------------------------------------------------------------------

let opening = 0;
let origin = ""; // the link of the result that was opened last

/** Shows the document or thread of the address beside the results; nothing where it names none. */
async function open({ focus = true } = {}) {
  const number = ++opening;
  const given = parameters();
  if (!given.get("doc") && !given.get("thread")) return leave({ focus: at("panel").contains(document.activeElement) });
  at("panel").classList.add("loading");
  try {
    const markup = await part("panel", bare(location.href), { draft: true });
    if (number !== opening) return;
    at("panel").replaceWith(...elements(markup));
  } catch (error) {
    if (number !== opening) return;
    const head = make("div", { class: "panel-head" }, make("h2", { id: "panel-title" }, "Not shown"), make("a", { class: "plain button close", href: closed() }, "Close"));
    at("panel").replaceWith(make("section", { id: "panel", tabindex: "-1", "data-failed": "true", "aria-labelledby": "panel-title" },
      head, make("p", { class: "notice", role: "alert" }, error.message)));
  }
  document.body.classList.add("reading");
  const address = document.querySelector(".panel-head")?.dataset.address;
  if (address) move(changed({ doc: parameters(address).get("doc") }), false); // as the library spells it
  prepare(at("panel"));
  arrange();
  bring();
  if (focus) at("panel").focus({ preventScroll: true });
}

/** Scrolls to what the address names, below the panel's head. */
function bring() {
  const panel = at("panel");
  const passage = at("s-passage");
  const head = panel.querySelector(".panel-head");
  const above = (head && getComputedStyle(head).position === "sticky" ? head.offsetHeight : 0) + 8;
  panel.style.scrollPaddingTop = `${above}px`;
  panel.scrollTop += passage ? passage.getBoundingClientRect().top - panel.getBoundingClientRect().top - above : -panel.scrollTop;
}

/** Closes what is open. Who read it is back at its result, or at the question. */
function leave({ focus = false } = {}) {
  const link = document.querySelector("#main a[aria-current=true].open") ?? all("#main a.open").find((one) => one.href === origin);
  opening += 1;
  at("panel").hidden = true;
  at("panel").replaceChildren();
  document.body.classList.remove("reading");
  arrange();
  if (focus) (link ?? at("query")).focus();
}

/** By Esc or its button: the way back where the list is the entry before, else without one more entry. */
function close() {
  if (!isOpen()) return false;
  if (window.history.state?.from === "list") window.history.back();
  else {
    move(closed(), false);
    leave({ focus: true });
  }
  return true;
}

/** Shows which result is open. */
function point() {
  const given = parameters();
  for (const link of all("#main a.open")) {
    const its = parameters(link.href);
    if (given.get("doc") && its.get("doc") === given.get("doc") && its.get("lines") === given.get("lines")) {
      link.setAttribute("aria-current", "true");
      if (link.closest("#weak")) at("weak").open = true;
    } else link.removeAttribute("aria-current");
  }
}

/** What the panel hides is out of the keyboard's and the screen reader's way. */
function cover() {
  for (const one of all(".skip, .bar, body > search, #filters, #main")) one.inert = isOpen() && NARROW.matches;
}

// -- how the library is ------------------------------------------------------------------------------------------------

let [looking, isLost] = [0, false];

async function look() {
  clearTimeout(looking);
  let next = LOOKS.lost;
  try {
    const [state, progress] = elements(await part("state", "./"));
    const before = at("state");
    const changedSince = before.dataset.generation !== state.dataset.generation;
    before.replaceWith(state);
    at("progress")?.remove();
    if (progress) at("main").prepend(progress);
    next = LOOKS[state.dataset.word] ?? LOOKS.ready;
    const main = at("main").dataset;
    const isBehind = Number(state.dataset.generation) > Number(main.generation)
      || (state.dataset.word === "ready" && Number(state.dataset.embedded) > Number(main.embedded));
    const reading = isOpen() || at("main").contains(document.activeElement) || window.scrollY > 200;
    if (isLost) {
      isLost = false;
      at("message").hidden = true;
      if (at("panel").dataset.failed) open({ focus: false });
      refresh({ again: true });
    } else if (main.generation === undefined ? changedSince : isBehind) {
      if (Number(main.found) && (reading || changedSince)) at("again").hidden = false;
      else refresh({ again: true, half: true });
    }
  } catch (error) {
    if (!(error instanceof Refused)) {
      isLost = true;
      at("state").dataset.word = "lost";
      at("state-text").textContent = "Not reachable";
      complain(error.message);
    }
  }
  clearTimeout(looking);
  looking = setTimeout(look, document.hidden ? LOOKS.ready : next);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });

// -- copying, favourites, history --------------------------------------------------------------------------------------

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name_, value] of Object.entries(attributes)) element.setAttribute(name_, value);
  element.append(...children);
  return element;
}

function button(text, act, attributes = {}) {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", act);
  return element;
}

/** Copies text; where the clipboard is closed to this page, through a selection. */
async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", {}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    from.focus();
  }
  at("said").textContent = "Copied.";
  const before = from.textContent;
  from.textContent = "Copied";
  setTimeout(() => { from.textContent = before; }, 1500);
}

/** Shows what works only with this script, and adds what it is for. */
function prepare(root) {
  for (const one of root.querySelectorAll(".copy[hidden], .switch[hidden]")) one.hidden = false;
  for (const one of root.querySelectorAll(".passage[data-cite]")) addTools(one);
  for (const code of root.querySelectorAll(".document figure.code > pre:not([tabindex])")) {
    code.tabIndex = 0; // it scrolls
    code.before(button("Copy", (event) => copy(code.textContent, event.currentTarget), { class: "copy-code", "aria-label": "Copy this code" }));
  }
  for (const table of root.querySelectorAll(".document .table")) table.tabIndex = 0;
  if (at("saved")) showSavedAtHome();
}

/** Buttons that cite a passage and keep it. */
function addTools(passage) {
  const facts = passage.querySelector(".facts");
  if (facts.querySelector(".tools")) return;
  const link = passage.querySelector("a.open");
  const item = { address: bare(link.getAttribute("href")), text: passage.dataset.cite };
  const star = button("", () => { toggleFavourite(item); paint(); }, { class: "plain star", "aria-label": `Keep as a favourite: ${link.textContent}` });
  const paint = () => {
    star.textContent = isFavourite(item.address) ? "★" : "☆";
    star.setAttribute("aria-pressed", String(isFavourite(item.address)));
  };
  paint();
  facts.append(make("span", { class: "tools" },
    button("Cite", (event) => copy(item.text, event.currentTarget), { class: "plain cite", "aria-label": `Cite ${link.textContent}` }), star));
}

const inside = (address) => (/^(\.\/)?(\?|$)/.test(address) || address.startsWith(`${location.pathname}?`) ? address : "./");
const links = (items, list, redraw) => make("ul", { class: "kept" }, ...items.map((one) => make("li", {},
  make("a", { href: inside(one.address) }, one.text),
  redraw ? button("✕", () => { forget(list, one.address); redraw(); }, { class: "plain", "aria-label": `Forget ${one.text}` }) : "")));

function showSavedAtHome() {
  const parts = [["Asked before", "history", history()], ["Favourites", "favourites", favourites()]];
  at("saved").replaceChildren(...parts.flatMap(([title, list, items]) =>
    (items.length ? [make("h2", {}, title), links(items.slice(0, 6), list)] : [])));
  at("saved").hidden = !at("saved").children.length;
}

function showSaved() {
  const dialog = at("saved-dialog");
  const focus = dialog.contains(document.activeElement) ? [...dialog.querySelectorAll("button")].indexOf(document.activeElement) : -1;
  const keeps = at("state")?.dataset.analytics === "true";
  const section = (title, list, items, none) => [make("h3", {}, title), items.length ? links(items, list, showSaved) : make("p", { class: "quiet" }, none),
    items.length ? button("Forget all", () => { forget(list); showSaved(); }, { class: "plain" }) : ""];
  dialog.replaceChildren(
    make("div", { class: "dialog-head" }, make("h2", { id: "saved-title" }, "History and favourites"), button("Close", () => dialog.close(), { class: "plain close-dialog" })),
    make("p", { class: "quiet" }, "These lists are stored in this browser only. ",
      keeps ? "The server receives what you search for and keeps each finished question (analytics.enabled is on)."
        : "The server receives what you search for, to answer it; it keeps no list of questions."),
    ...section("Favourites", "favourites", favourites(), "Passages that you star appear here."),
    ...section("History", "history", history(), "Questions that you ask appear here."));
  if (!dialog.open) dialog.showModal();
  if (focus >= 0) [...dialog.querySelectorAll("button")].at(Math.min(focus, dialog.querySelectorAll("button").length - 1)).focus();
}

const showHelp = () => { at("single-keys").checked = singleKeys(); at("help-dialog").showModal(); };

// -- listening ---------------------------------------------------------------------------------------------------------

/** Another search; `soon`: while one types. */
function ask(address, { soon = false, focus } = {}) {
  const wasOpen = isOpen();
  const push = !soon || wasOpen || (settled && Boolean(question())); // one entry for all letters of a question
  settled = !soon;
  move(closed(address), push);
  if (wasOpen) leave();
  clearTimeout(typing);
  if (soon && question()) {
    busy(true);
    running?.abort();
    const wait = at("state")?.dataset.llm === "true" ? WAIT_WITH_MODEL : WAIT;
    typing = setTimeout(() => refresh({ half: true }), wait);
    at("more")?.setAttribute("inert", "");
    return;
  }
  refresh().then(() => focus?.());
}

/** What the form says, with the parameters that go with another kind of search left out. */
function fromForm() {
  const given = new URLSearchParams();
  for (const [field, value] of new FormData(at("search"))) {
    if (value && !(field === "type" && value === "documents") && !(/^(after|before)$/.test(field) && value < "1000")) given.append(field, value);
  }
  return given.size ? `./?${given}` : "./";
}

at("query")?.addEventListener("input", () => ask(changed({ q: at("query").value, page: "", path: "" }), { soon: true }));
document.addEventListener("change", (event) => {
  if (event.target.id === "single-keys") store("keys", event.target.checked ? "on" : "off");
  else if (event.target.name === "type") ask(changed({ q: at("query").value, type: event.target.value === "emails" ? "emails" : "" }, "./"));
  else if (event.target.form === at("search") && event.target.id !== "query") ask(fromForm());
});
at("search")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const first = document.querySelector("#main a.open");
  const current = key(location.href) === shown && !at("search").classList.contains("busy");
  settled = true;
  if (current && first && at("results") && document.activeElement === at("query")) first.click();
  else ask(fromForm());
});

document.addEventListener("click", (event) => {
  const target = event.target.closest?.("a, button, dialog");
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const use = (act) => { event.preventDefault(); act(); };
  if (target.matches(".copy")) return use(() => copy(target.dataset.copy ?? location.href, target));
  if (target.matches(".close-dialog")) return use(() => target.closest("dialog").close());
  if (target.id === "saved-button") return use(showSaved);
  if (target.id === "help-link" && at("help-dialog")) return use(showHelp);
  if (target.id === "filters-button" || target.matches(".close-filters")) return use(() => at("filters").classList.toggle("open"));
  if (!target.matches("a") || !at("panel") || target.target || target.hasAttribute("download")) return undefined;
  const url = new URL(target.href);
  if (url.origin !== location.origin || url.pathname !== location.pathname) return undefined;
  return use(() => follow(target, url));
});

/** Goes where a link of the page leads, without loading it anew. */
function follow(link, url) {
  link.closest("dialog")?.close();
  const address = `${url.pathname}${url.search}`;
  if (link.matches(".close")) { close(); return; }
  if (link.id === "again") { refresh({ again: true }).then(() => at("main").focus()); return; }
  const opens = url.searchParams.get("doc") || url.searchParams.get("thread");
  if (opens) {
    settle();
    const within = at("panel").contains(link);
    if (!within) origin = link.href;
    move(address, true);
    if (key(address) !== shown) refresh();
    open().then(() => { // who went by a link in the document goes on from where it led
      const place = within && at("s-passage");
      if (place) Object.assign(place, { tabIndex: -1 }).focus({ preventScroll: true });
    });
    return;
  }
  const isPage = link.matches("#more, [rel=prev]");
  ask(address, { focus: () => {
    sync();
    if (isPage) { scrollTo(0, 0); (document.querySelector("#main a.open") ?? at("main")).focus({ preventScroll: true }); } else at("query").focus();
  } });
  sync();
}

/** The form shows what the address says. */
function sync() {
  const given = parameters();
  if (at("query").value !== (given.get("q") ?? "")) at("query").value = given.get("q") ?? "";
  at(given.get("type") === "emails" ? "type-emails" : "type-documents").checked = true;
}

window.addEventListener("popstate", () => {
  if (!at("panel")) return;
  settled = true;
  sync();
  refresh();
  open();
});

const isTyping = (target) => target.closest("input:not([type=radio], [type=checkbox]), textarea, select") !== null;
const results = () => all("#main a.open").filter((one) => one.checkVisibility());

function toQuestion() {
  at("query").focus();
  at("query").select();
}

function step(by) {
  const found = results();
  const next = found.indexOf(document.activeElement) + by;
  if (next < 0) at("query").focus();
  else if (found[next]) {
    found[next].focus();
    found[next].closest("li").scrollIntoView({ block: "nearest" });
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]") || !at("panel")) return;
  const inQuery = event.target === at("query");
  const anywhere = !isTyping(event.target) && singleKeys();
  const result = event.target.closest("#main .passage a.open") && event.target.closest(".passage");
  let used = true;
  if (event.key === "/" && anywhere) toQuestion();
  else if (event.key === "?" && anywhere) showHelp();
  else if (event.key === "ArrowDown" && (inQuery || !event.target.closest("input, textarea, select, #panel"))) step(1);
  else if (event.key === "ArrowUp" && event.target.matches("#main a.open")) step(-1);
  else if (event.key === "Escape") {
    if (!close()) toQuestion();
  } else if ((event.key === "c" || event.key === "s") && result) result.querySelector(event.key === "c" ? ".cite" : ".star")?.click();
  else used = false;
  if (used) event.preventDefault();
});

// What the keyboard comes to isn't left behind the question's bar, which is as high as the window lets it be.
const bar = document.querySelector("body > search");
if (bar) new ResizeObserver(() => document.documentElement.style.setProperty("--bar", `${bar.offsetHeight + 8}px`)).observe(bar);
NARROW.addEventListener("change", cover);

// -- theme -------------------------------------------------------------------------------------------------------------

const THEMES = { "": "light", light: "dark", dark: "" };
const nameTheme = () => { if (at("theme")) at("theme-name").textContent = `Theme: ${document.documentElement.dataset.theme || "automatic"}`; };
nameTheme();
at("theme")?.addEventListener("click", () => {
  const next = THEMES[document.documentElement.dataset.theme || ""];
  document.documentElement.dataset.theme = next;
  store("theme", next);
  nameTheme();
});

document.documentElement.classList.add("scripted");
for (const one of all("#theme, #saved-button")) one.hidden = false;
prepare(document);
if (at("panel")) {
  cover();
  if (isOpen()) {
    const address = document.querySelector(".panel-head")?.dataset.address;
    if (address) move(changed({ doc: parameters(address).get("doc") }), false);
    bring();
    at("panel").focus({ preventScroll: true });
  } else at("query").setSelectionRange(at("query").value.length, at("query").value.length);
  if (at("results")) dwelling = setTimeout(settle, DWELL);
  look();
}

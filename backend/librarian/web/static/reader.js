// The panel that shows a document, scrolled to the passage.
import { call, Refused } from "./api.js";
import { copy } from "./citation.js";
import { at, button, day, el } from "./dom.js";
import { formOf } from "./formats.js";
import { markWords } from "./marks.js";
import { anchorsOf, outline } from "./outline.js";

const MOST = 200_000; // characters fetched at once
const BEFORE = [200, 20, 0]; // lines above a passage that lies beyond them: as many as leave room for it
const SIDED = "ul, ol, dl, table, blockquote, .note"; // what has markers, columns or a line at the side where it begins
const NARROW = window.matchMedia("(max-width: 59.99rem)"); // where the panel covers the page

/** The lines of an answer as elements, by the document's form. */
async function blocksOf({ file_path: path, content, line_start: first, headings }, context) {
  const form = formOf(path, headings.length > 0, content);
  // each is fetched with the first document of its kind
  if (form === "markdown") return (await import("./markdown.js")).markdown(content, first, context);
  if (form === "written") return (await import("./markdown.js")).written(content, first, headings);
  if (form === "restructured") return (await import("./restructured.js")).restructured(content, first, headings, context);
  if (form === "asciidoc") return (await import("./asciidoc.js")).asciidoc(content, first, headings, context);
  return (await import("./plain.js")).plain(content, first, headings, form === "code");
}

/** Who wrote a mail to whom, for the line of facts; nothing for a document that is none. */
function people(mail) {
  if (!mail) return [];
  return [`From ${mail.sender || "–"}`, mail.to.length ? `to ${mail.to.join(", ")}` : "", mail.cc.length ? `cc ${mail.cc.join(", ")}` : ""];
}

export class Reader {
  /**
   * `onClose()` when it closes itself; `onFollow(path, section)` when a link leads to another document, without a path
   * for a place in this one; `onTitle()` when `title` is another; `addressOf(path, section)` is what links show.
   */
  constructor({ onClose, onFollow, onTitle, addressOf }) {
    this.panel = at("panel");
    this.onClose = onClose;
    this.onFollow = onFollow;
    this.onTitle = onTitle;
    this.addressOf = addressOf;
    this.shown = "";
    this.title = "";
    this.headings = [];
    this.number = 0;
    NARROW.addEventListener("change", () => this.cover());
  }

  get isOpen() { return !this.panel.hidden; }

  /** Whether it couldn't show what was asked for. */
  get failed() { return this.isOpen && !this.shown; }

  /** Shows what the address names. `words` are marked in the passage. */
  async show({ doc, lines, section, thread }, words, { focus = true } = {}) {
    const key = JSON.stringify([doc, lines, section, thread]);
    if (key === this.shown) return;
    this.shown = key;
    const number = ++this.number;
    const [first, last] = lines.split("-").map((one) => parseInt(one, 10) || 0);
    this.open(el("p", { class: "quiet" }, "Loading …"));
    try {
      const [parts, answer] = await (thread ? this.conversation(thread, doc) : this.document(doc, first));
      if (number !== this.number) return;
      this.panel.replaceChildren(...parts);
      this.panel.scrollTop = 0;
      this.title = at("panel-title").textContent;
      this.onTitle();
      const mail = this.panel.querySelector("article.chosen");
      if (mail) {
        markWords(mail, words);
        this.bring(mail);
      } else if (section) await this.goToSection(section, answer);
      else this.goTo(first, last || first, words);
      if (focus) this.panel.focus({ preventScroll: true });
    } catch (error) {
      if (number === this.number) {
        this.shown = this.title = "";
        this.onTitle();
        this.panel.replaceChildren(el("div", { class: "panel-head" }, el("h2", { id: "panel-title" }, "Not shown"), this.closeButton()), el("p", { class: "notice", role: "alert" }, error.message));
        if (focus) this.panel.focus({ preventScroll: true });
      }
    }
  }

  open(...content) {
    this.panel.replaceChildren(el("div", { class: "panel-head" }, el("h2", { id: "panel-title" }, "Document"), this.closeButton()), ...content);
    this.panel.hidden = false;
    document.body.classList.add("reading");
    this.cover();
  }

  /** The same document is shown at another place: what the address names from here on. */
  keep({ doc, lines, section, thread }) {
    this.shown = JSON.stringify([doc, lines, section, thread]);
  }

  /** What the panel hides is out of the keyboard's and the screen reader's way. */
  cover() {
    for (const one of document.querySelectorAll(".skip, .bar, #progress, body > search, #filters, #main")) one.inert = this.isOpen && NARROW.matches;
  }

  close() {
    const was = this.isOpen;
    this.panel.hidden = true;
    this.panel.replaceChildren();
    document.body.classList.remove("reading");
    this.cover();
    this.shown = this.title = "";
    this.onTitle();
    this.number += 1;
    return was;
  }

  closeButton() {
    return button("Close", () => this.onClose(), { class: "plain close" });
  }

  async conversation(thread, mail) {
    const { readMail } = await import("./mail.js"); // fetched with the first mail
    return [await readMail(thread, mail, this.closeButton()), null];
  }

  async document(path, line) {
    let answer = await this.part(path);
    for (const before of BEFORE) {
      if (line <= answer.line_end || !answer.truncated) break;
      answer = await this.part(path, { line_start: Math.max(1, line - before) });
    }
    const body = el("div", { class: "document", lang: answer.language || null });
    const place = [answer.product, answer.component].filter(Boolean).join(" › ");
    const cite = button("Copy citation", () => copy(`${answer.title}. ${answer.file_path}`, cite), { class: "plain" });
    const link = button("Copy link", () => copy(location.href, link), { class: "plain" });
    const parts = [
      el("div", { class: "panel-head" }, el("div", {}, el("p", { class: "place" }, place),
        el("h2", { id: "panel-title", lang: answer.language || null }, answer.title), el("p", { class: "facts" }, [answer.file_path, ...people(answer.email), day(answer.last_modified), answer.language].filter(Boolean).join(" · "),
          answer.stale ? el("span", { class: "stale" }, " · the file has changed since it was read") : null)),
      el("div", { class: "panel-buttons" }, cite, link, this.closeButton()),
      outline(answer.headings, (heading) => this.trying(async () => this.land(await this.goToLine(heading.line, answer))))),
      body,
    ];
    await this.begin(body, answer);
    return [parts, answer];
  }

  /** Some lines of a document, with its whole outline, which the first of its parts came with. */
  async part(path, lines = {}) {
    const answer = await call("/api/document", { path, max_chars: MOST, ...lines });
    if (answer.headings.length === answer.heading_count) this.headings = answer.headings;
    return { ...answer, headings: this.headings };
  }

  /** The first of these paths that is a document's, as the library spells it; the likeliest where none is. */
  async find(paths) {
    for (const path of paths) {
      try {
        return (await call("/api/document", { path, max_chars: 1 })).file_path;
      } catch (error) {
        if (!(error instanceof Refused)) break;
      }
    }
    return paths[0];
  }

  /** Does what fetches more of the document; says so where that fails. */
  async trying(work) {
    this.panel.querySelector(".failed")?.remove();
    try {
      await work();
    } catch (error) {
      this.tell(error.message);
    }
  }

  /** Says in the panel's head what didn't work, until the next attempt. */
  tell(text) {
    this.panel.querySelector(".panel-head")?.append(el("p", { class: "notice failed", role: "alert" }, text));
  }

  /** Shows the lines of an answer, and a way to those before. */
  async begin(body, answer) {
    this.from = answer.line_start;
    body.replaceChildren(answer.line_start > 1 ? button(`Show lines 1–${answer.line_start - 1}`, () => this.trying(async () => {
      await this.reload(answer.file_path, 1, body);
      this.land(body.firstElementChild);
    }), { class: "earlier" }) : "");
    await this.fill(body, answer);
  }

  /** Adds the lines of an answer, and a way to go on. */
  async fill(body, answer) {
    const context = {
      from: answer.file_path,
      address: ({ paths, anchor }) => this.addressOf(paths[0] ?? answer.file_path, anchor),
      follow: ({ paths, anchor }) => this.trying(async () => {
        if (paths.length) return this.onFollow(await this.find(paths), anchor);
        this.onFollow("", anchor);
        this.land(await this.goToSection(anchor, answer));
      }),
    };
    body.append(...await blocksOf(answer, context));
    for (const one of body.querySelectorAll(SIDED)) one.dir = "auto"; // as its text goes
    if (!answer.truncated) return;
    const rest = answer.next_column === null
      ? { line_start: answer.next_line }
      : { line_start: answer.line_end, column_start: answer.next_column };
    const more = button("Load more of this document", () => this.trying(async () => {
      const next = await this.part(answer.file_path, rest);
      const before = more.previousElementSibling;
      more.remove();
      await this.fill(body, next);
      this.land(before?.nextElementSibling ?? body.firstElementChild);
    }));
    body.append(more);
  }

  async reload(path, line, body) {
    await this.begin(body, await this.part(path, { line_start: line }));
  }

  async goToLine(line, answer) {
    const body = this.panel.querySelector(".document");
    const last = Math.max(0, ...[...body.querySelectorAll("[data-end]")].map((one) => Number(one.dataset.end)));
    if (line > last || line < this.from) await this.reload(answer.file_path, Math.max(1, line), body);
    return this.bring(this.blockAt(line));
  }

  /** Whoever went by a control that is gone now, or out of sight, goes on from this element. */
  land(element) {
    if (!element) return;
    if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
    element.focus({ preventScroll: true });
  }

  /** To a heading by its anchor, to a place that the document names itself, or to a line as forges name it (L12, L12-L20). */
  async goToSection(anchor, answer) {
    const same = (one) => one.toLowerCase() === anchor.toLowerCase();
    const place = [...this.panel.querySelectorAll(".document [data-anchor]")].find((one) => same(one.dataset.anchor));
    if (place) return this.bring(place);
    const anchors = anchorsOf(answer.headings);
    const loosely = (one) => one.toLowerCase().replace(/[-_]+/g, "-"); // sites differ in how they write several
    const exact = anchors.findIndex(same);
    const heading = answer.headings[exact < 0 ? anchors.findIndex((one) => loosely(one) === loosely(anchor)) : exact];
    const line = heading?.line ?? (parseInt(/^L(\d+)(?:-L?\d+)?$/.exec(anchor)?.[1], 10) || 0);
    return line ? this.goToLine(line, answer) : this.tell(`This document has no section “${anchor}”.`);
  }

  /** Scrolls so that an element, or what lies a share of its height further down, comes below the panel's head; returns it. */
  bring(element, share = 0) {
    if (!element) return element;
    const head = this.panel.querySelector(".panel-head");
    const above = (head && getComputedStyle(head).position === "sticky" ? head.offsetHeight : 0) + 8;
    this.panel.style.scrollPaddingTop = `${above}px`;
    const box = element.getBoundingClientRect();
    this.panel.scrollTop += box.top + share * box.height - this.panel.getBoundingClientRect().top - above;
    return element;
  }

  blockAt(line) {
    const all = [...this.panel.querySelectorAll(".document > [data-line]")];
    return all.findLast((one) => Number(one.dataset.line) <= line) ?? all[0];
  }

  /** Marks the blocks of the passage and brings the first into view. */
  goTo(first, last, words) {
    if (!first) { this.panel.scrollTop = 0; return; }
    const isIn = (one) => Number(one.dataset.end) >= first && Number(one.dataset.line) <= last;
    const within = (block) => { // what lies in the passage whole, or of a long list or table the items or rows
      if (Number(block.dataset.line) >= first && Number(block.dataset.end) <= last) return [block];
      const inside = [...block.querySelectorAll("[data-line]")].filter(isIn);
      const nearest = inside.filter((one) => !inside.some((other) => other !== one && other.contains(one)));
      return nearest.length ? nearest.flatMap(within) : [block];
    };
    const blocks = [...this.panel.querySelectorAll(".document > [data-line]")].filter(isIn).flatMap(within);
    for (const block of blocks) {
      block.classList.add("chosen");
      markWords(block, words);
    }
    const front = blocks[0] ?? this.blockAt(first);
    if (!front) return;
    if (front.matches("details")) front.open = true;
    const [begin, end] = [Number(front.dataset.line), Number(front.dataset.end)];
    this.bring(front, front.matches("figure, pre") && first > begin ? (first - begin) / (end - begin + 1) : 0);
  }
}

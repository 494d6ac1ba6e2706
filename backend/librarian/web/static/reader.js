// The panel that shows a document, scrolled to the passage.
import { call } from "./api.js";
import { copy } from "./citation.js";
import { at, button, day, el } from "./dom.js";
import { readMail } from "./mail.js";
import { markdown } from "./markdown.js";
import { markWords } from "./marks.js";
import { anchorsOf, outline } from "./outline.js";
import { plain } from "./plain.js";

const MOST = 200_000; // characters fetched at once
const BEFORE = 200; // lines above a passage that lies beyond them
const MARKDOWN = /\.(md|markdown|mdown|mkd|mdx|docx|ipynb)$/i;

export class Reader {
  /** `onClose()` when it closes itself; `onFollow(path)` when a link leads to another document. */
  constructor({ onClose, onFollow }) {
    this.panel = at("panel");
    this.onClose = onClose;
    this.onFollow = onFollow;
    this.shown = "";
    this.number = 0;
  }

  get isOpen() { return !this.panel.hidden; }

  /** Shows what the address names. `words` are marked in the passage. */
  async show({ doc, lines, thread }, words, { focus = true } = {}) {
    const key = JSON.stringify([doc, lines, thread]);
    if (key === this.shown) return;
    this.shown = key;
    const number = ++this.number;
    const [first, last] = lines.split("-").map((one) => parseInt(one, 10) || 0);
    this.open(el("p", { class: "quiet" }, "Loading …"));
    try {
      const parts = thread ? await readMail(thread, doc, this.closeButton()) : await this.document(doc, first);
      if (number !== this.number) return;
      this.panel.replaceChildren(...parts);
      if (!thread) this.goTo(first, last || first, words);
      else this.panel.querySelector("article.chosen")?.scrollIntoView({ block: "start" });
      if (thread) markWords(this.panel.querySelector("article.chosen") ?? this.panel, words);
      if (focus) this.panel.focus({ preventScroll: true });
    } catch (error) {
      if (number === this.number) {
        this.shown = "";
        this.panel.replaceChildren(el("div", { class: "panel-head" }, el("h2", { id: "panel-title" }, "Not shown"), this.closeButton()), el("p", { class: "notice" }, error.message));
      }
    }
  }

  open(...content) {
    this.panel.replaceChildren(el("div", { class: "panel-head" }, el("h2", { id: "panel-title" }, "Document"), this.closeButton()), ...content);
    this.panel.hidden = false;
    document.body.classList.add("reading");
  }

  close() {
    const was = this.isOpen;
    this.panel.hidden = true;
    this.panel.replaceChildren();
    document.body.classList.remove("reading");
    this.shown = "";
    this.number += 1;
    return was;
  }

  closeButton() {
    return button("Close", () => this.onClose(), { class: "plain close" });
  }

  async document(path, line) {
    let answer = await call("/api/document", { path, max_chars: MOST });
    if (line > answer.line_end && answer.truncated) {
      answer = await call("/api/document", { path, max_chars: MOST, line_start: Math.max(1, line - BEFORE) });
    }
    const body = el("div", { class: "document" });
    const place = [answer.product, answer.component].filter(Boolean).join(" › ");
    const cite = button("Copy citation", () => copy(`${answer.title}. ${answer.file_path}`, cite), { class: "plain" });
    const link = button("Copy link", () => copy(location.href, link), { class: "plain" });
    const parts = [
      el("div", { class: "panel-head" }, el("div", {}, el("p", { class: "place" }, place),
        el("h2", { id: "panel-title" }, answer.title), el("p", { class: "facts" }, [answer.file_path, day(answer.last_modified), answer.language].filter(Boolean).join(" · "))),
      el("div", { class: "panel-buttons" }, cite, link, this.closeButton()),
      outline(answer.headings, (heading) => this.goToLine(heading.line, answer))),
      answer.line_start > 1 ? button(`Show lines 1–${answer.line_start - 1}`, () => this.reload(path, 1, body), { class: "earlier" }) : null,
      body,
    ].filter(Boolean);
    this.fill(body, answer);
    return parts;
  }

  /** Adds the lines of an answer, and a way to go on. */
  fill(body, answer) {
    const folder = answer.file_path.split("/").slice(0, -1).join("/");
    const follow = ({ path, anchor }) => {
      if (path) { this.onFollow(path); return; }
      const heading = answer.headings[anchorsOf(answer.headings).indexOf(anchor.toLowerCase())];
      if (heading) this.goToLine(heading.line, answer);
    };
    body.append(...(MARKDOWN.test(answer.file_path)
      ? markdown(answer.content, answer.line_start, { folder, follow })
      : plain(answer.content, answer.line_start, answer.headings, answer.file_path)));
    if (!answer.truncated) return;
    const rest = answer.next_column === null
      ? { line_start: answer.next_line }
      : { line_start: answer.line_end, column_start: answer.next_column };
    const more = button("Load more of this document", async () => {
      const next = await call("/api/document", { path: answer.file_path, max_chars: MOST, ...rest });
      more.remove();
      this.fill(body, next);
    });
    body.append(more);
  }

  async reload(path, line, body) {
    const answer = await call("/api/document", { path, max_chars: MOST, line_start: line });
    this.panel.querySelector(".earlier")?.remove();
    body.replaceChildren();
    this.fill(body, answer);
  }

  async goToLine(line, answer) {
    const body = this.panel.querySelector(".document");
    const last = Math.max(0, ...[...body.querySelectorAll("[data-end]")].map((one) => Number(one.dataset.end)));
    if (line > last || line < answer.line_start) await this.reload(answer.file_path, Math.max(1, line), body);
    this.blockAt(line)?.scrollIntoView({ block: "start" });
  }

  blockAt(line) {
    const all = [...this.panel.querySelectorAll(".document > [data-line]")];
    return all.findLast((one) => Number(one.dataset.line) <= line) ?? all[0];
  }

  /** Marks the blocks of the passage and brings the first into view. */
  goTo(first, last, words) {
    if (!first) { this.panel.scrollTop = 0; return; }
    const blocks = [...this.panel.querySelectorAll(".document > [data-line]")]
      .filter((one) => Number(one.dataset.end) >= first && Number(one.dataset.line) <= last);
    for (const block of blocks) {
      block.classList.add("chosen");
      markWords(block, words);
    }
    const front = (blocks[0] ?? this.blockAt(first));
    if (front?.matches("details")) front.open = true;
    front?.scrollIntoView({ block: "start" });
  }
}

// A conversation: oldest mail first, the chosen one open, what it quotes folded away.
import { call } from "./api.js";
import { copy } from "./citation.js";
import { button, bytes, el, moment, plural } from "./dom.js";
import { literal } from "./inline.js";

function mail(one, isChosen) {
  const rows = [["From", one.sender], ["To", one.to.join(", ")], ["Cc", one.cc.join(", ")], ["Date", moment(one.date)], ["File", one.file_path]];
  const inside = [
    el("dl", { class: "rows" }, rows.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    one.attachments.length ? el("ul", { class: "attachments", "aria-label": "Attachments" }, one.attachments.map((file) => el("li", {}, `${file.filename} `, el("span", { class: "quiet" }, `${file.content_type}, ${bytes(file.size)}`)))) : null,
    el("div", { class: "mail-text" }, literal(one.body)),
    ...one.quoted.map((text) => el("details", { class: "quoted" }, el("summary", {}, `Quoted text (${plural(text.split("\n").length, "line")})`), el("blockquote", {}, text))),
  ];
  return el("article", { class: isChosen ? "mail chosen" : "mail" }, el("details", { open: isChosen },
    el("summary", {}, el("strong", {}, one.sender), el("span", { class: "quiet" }, ` ${moment(one.date)}`),
      one.attachments.length ? el("span", { class: "quiet" }, ` · ${plural(one.attachments.length, "attachment")}`) : null), inside));
}

/** The panel's content for a thread; the mail of `path` is open, else the newest. */
export async function readMail(threadId, path, closeButton) {
  const thread = await call("/api/thread", { thread_id: threadId, max_chars: 0 });
  const found = thread.emails.findIndex((one) => one.file_path === path);
  const chosen = found < 0 ? thread.emails.length - 1 : found;
  const link = button("Copy link", () => copy(location.href, link), { class: "plain" });
  return [
    el("div", { class: "panel-head" }, el("div", {}, el("h2", { id: "panel-title" }, thread.subject || "(no subject)"),
      el("p", { class: "facts" }, `${plural(thread.emails.length, "email")} · ${thread.participants.join(", ")}`)),
    el("div", { class: "panel-buttons" }, link, closeButton)),
    ...thread.emails.map((one, place) => mail(one, place === chosen)),
  ];
}

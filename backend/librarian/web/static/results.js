// Results, grouped by document, in the order in which the best passage of each came.
import { opened, toAddress } from "./address.js";
import { citation, copy } from "./citation.js";
import { button, day, el, plural } from "./dom.js";
import { formOf } from "./formats.js";
import { isFavourite, toggleFavourite } from "./memory.js";
import { marked, withoutHeading, withoutMarkup, withoutRoles } from "./marks.js";
import { badge, why } from "./why.js";

export class Results {
  /** `onOpen(result)` is called when one is chosen. */
  constructor(list, onOpen) {
    this.list = list;
    this.onOpen = onOpen;
    this.clear();
  }

  clear() {
    this.groups = new Map();
    this.count = 0;
    this.list.replaceChildren();
  }

  /** Adds a page's results; `state` makes their links. */
  add(results, state) {
    this.count += results.length;
    for (const result of results) {
      let group = this.groups.get(result.file_path);
      if (!group) {
        group = this.group(result, state);
        this.groups.set(result.file_path, group);
        this.list.append(group);
      }
      group.querySelector(".passages").append(this.passage(result, state));
    }
  }

  /** Shows which passage is open. */
  point(state) {
    const address = state.doc ? toAddress(state) : null;
    for (const link of this.list.querySelectorAll("a.open")) {
      if (link.getAttribute("href") === address) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  group(result) {
    const mail = result.sender !== undefined;
    const spoken = { lang: result.language || null }; // for fonts and for voices that read aloud
    const place = [result.product, result.component, result.file_name].filter(Boolean);
    const facts = mail
      ? [result.sender, day(result.date), result.to.length ? `to ${result.to.join(", ")}` : "",
        result.attachments.length ? plural(result.attachments.length, "attachment") : ""]
      : [result.doc_type, ...result.tags.map((tag) => `#${tag}`), day(result.last_modified)];
    return el("li", { class: "group" },
      el("div", { class: "group-head" },
        el("p", { class: "place" }, place.flatMap((part, at) => at ? [el("span", { "aria-hidden": "true" }, " › "), part] : [part])),
        el("h2", mail && !result.subject ? {} : spoken, mail ? result.subject || "(no subject)" : result.title),
        el("p", { class: "facts" }, facts.filter(Boolean).join(" · "),
          result.stale ? el("span", { class: "stale" }, " · the file has changed since it was read") : null)),
      el("ul", { class: "passages" }));
  }

  passage(result, state) {
    const address = toAddress(opened(state, result));
    const path = result.heading_path.filter((part, place) => !(place === 0 && part === result.title));
    const mail = result.sender !== undefined;
    const title = path.length ? path.join(" › ") : mail ? "Read the mail" : result.title;
    const lines = result.line_start === result.line_end ? `line ${result.line_start}` : `lines ${result.line_start}–${result.line_end}`;
    const star = button(isFavourite(address) ? "★" : "☆", () => {
      const kept = toggleFavourite({ address, text: citation(result) });
      star.firstChild.data = kept ? "★" : "☆";
      star.setAttribute("aria-pressed", String(kept));
    }, { class: "plain star", "aria-pressed": String(isFavourite(address)), "aria-label": `Keep as a favourite: ${title}`, title: "Favourite" });
    const cite = button("Cite", () => copy(citation(result), cite), { class: "plain cite", "aria-label": `Cite ${title}`, title: "Copy as citation" });
    const bare = withoutHeading(result.snippet, result.highlights, result.heading_path.at(-1));
    const form = mail ? "text" : formOf(result.file_path, result.heading_path.length > 0);
    const shown = form === "markdown" || form === "written" ? withoutMarkup(...bare, form === "markdown") : form === "restructured" ? withoutRoles(...bare) : bare;
    return el("li", { class: "passage", id: `result-${result.rank}` },
      el("div", { class: "passage-head" },
        el("h3", {}, el("a", { class: "open", href: address, onclick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
          event.preventDefault();
          this.onOpen(result);
        } }, title)),
        badge(result),
        el("span", { class: "quiet" }, lines, result.page ? `, page ${result.page}` : ""),
        el("span", { class: "tools" }, cite, star)),
      el("p", { class: "snippet", lang: result.language || null }, marked(...shown)),
      result.also_in.length ? el("p", { class: "quiet" }, `Also in ${result.also_in.join(", ")}`) : null,
      why(result));
  }
}

// How the library is, live: a word in the header, progress while it indexes, everything in a dialog.
import { call, Refused } from "./api.js";
import { at, bytes, el, moment, plural, showDialog } from "./dom.js";

const WAIT = { ready: 15_000, degraded: 10_000, indexing: 1_000, lost: 1_500 }; // milliseconds between looks

export class State {
  /** `onChange(status, before)` hears of every look; `onBack()` once after the server was away. */
  constructor({ onChange, onBack, onLost }) {
    this.onChange = onChange;
    this.onBack = onBack;
    this.onLost = onLost;
    this.now = null;
    this.lost = false;
    this.timer = 0;
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.look(); });
  }

  async look() {
    clearTimeout(this.timer);
    let next = WAIT.lost;
    try {
      const before = this.now;
      this.now = await call("/api/status");
      next = WAIT[this.now.status] ?? WAIT.ready;
      this.show();
      this.onChange(this.now, before);
      if (this.lost) {
        this.lost = false;
        this.onBack();
      }
    } catch (error) {
      this.show(error);
      if (!(error instanceof Refused) && !this.lost) {
        this.lost = true;
        this.onLost(error);
      }
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), document.hidden ? WAIT.ready : next);
  }

  show(error) {
    const button = at("state");
    if (error) {
      button.dataset.word = "lost";
      at("state-text").textContent = error instanceof Refused ? "No access" : "Not reachable";
      return;
    }
    const status = this.now;
    button.dataset.word = status.status;
    const size = plural(status.documents + status.emails, "document");
    at("state-text").textContent = { ready: size, indexing: `Indexing · ${size}`, degraded: `Degraded · ${size}` }[status.status];
    const { share, text } = progressOf(status);
    at("progress").hidden = status.status !== "indexing";
    if (share === null) at("progress-bar").removeAttribute("value");
    else at("progress-bar").value = share;
    at("progress-text").textContent = text;
    if (at("state-dialog").open) this.showDialog();
  }

  showDialog() {
    const status = this.now;
    if (!status) return;
    const { embeddings, llm, caches, failures, skipped, storage } = status;
    const rows = [
      ["State", status.status === "ready" ? "Ready" : status.status === "indexing" ? `Indexing: ${progressOf(status).text}` : `Degraded: ${status.reasons.join("; ")}`],
      ["Holds", `${plural(status.documents, "document")}, ${plural(status.emails, "email")}, ${plural(status.chunks, "passage")} of ${plural(status.products, "product")}`],
      ["Searchable by meaning", embeddings.enabled ? `${status.embedded_chunks.toLocaleString()} of ${status.chunks.toLocaleString()} passages` : "off"],
      ["Embedding model", embeddings.enabled ? [embeddings.model, embeddings.backend, embeddings.device].filter(Boolean).join(", ") : "none"],
      ["Reranker", status.reranker || "by keyword and meaning, no model"],
      ["Language model", llm.enabled ? `${llm.model} (${llm.provider}), ${llm.connected === null ? "not asked yet" : llm.connected ? "connected" : "not connected"}` : "off"],
      ["Text is sent to", status.sent_to.join("; ") || "no other machine"],
      ["Follows changes", status.watching ? "yes" : "no"],
      ["Last look at the folder", moment(status.last_indexed_at) || "not yet"],
      ["Folder", status.root_path], ["Index", `${status.index_path} (${bytes(storage.disk_bytes)}; ${storage.catalog}, ${storage.keyword}, ${storage.vectors})`],
      ["Cached answers", `${caches.exact.entries.toLocaleString()} (${caches.exact.hits.toLocaleString()} hits, ${caches.exact.misses.toLocaleString()} misses)`],
      ["Version", status.version],
    ];
    const list = (id, title, items) => items.length ? el("details", { id }, el("summary", {}, title), el("ul", {}, items.map((one) => el("li", {}, el("code", {}, one.path), ` ${one.reason}`)))) : "";
    showDialog(at("state-dialog"), "state-title", "The library",
      el("dl", { class: "rows" }, rows.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
      list("state-failures", `${plural(failures.total, "file")} could not be read`, failures.items),
      list("state-skipped", `${plural(skipped.total, "file")} left out (${Object.entries(skipped.by_reason).map(([reason, count]) => `${count} × ${reason}`).join(", ")})`, skipped.examples),
      ...status.notes.map((note) => el("p", { class: "quiet" }, note)));
  }
}

function progressOf(status) {
  const { phase, files_done, files_total, chunks_embedded, chunks_total, eta_s } = status.progress;
  const left = eta_s ? `, about ${eta_s < 90 ? `${Math.ceil(eta_s)} s` : `${Math.ceil(eta_s / 60)} min`} left` : "";
  if (phase === "reading") return { share: files_total ? files_done / files_total : null, text: `Reading files: ${files_done.toLocaleString()} of ${files_total.toLocaleString()}${left}` };
  if (phase === "embedding" && chunks_total) return { share: chunks_total ? chunks_embedded / chunks_total : null, text: `Learning meanings: ${chunks_embedded.toLocaleString()} of ${chunks_total.toLocaleString()} passages${left}` };
  if (phase === "learning") return { share: null, text: "Learning what headings and links call the pages" };
  if (phase === "scanning") return { share: null, text: "Looking through the folder" };
  return { share: null, text: `${status.embedded_chunks.toLocaleString()} of ${status.chunks.toLocaleString()} passages are searchable by meaning` };
}

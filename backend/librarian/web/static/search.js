// Asking as one types: a little later, and only the latest answer counts.
import { call } from "./api.js";

// What an answer leaves out where there is nothing to say.
const ANSWER = { next_offset: null, capped: false, calibrated: true, cache: null, rewritten: null, routing: null, degraded: [], suggestions: [], notes: [] };
const RESULT = { heading_path: [], tags: [], highlights: [], also_in: [], why: [], to: [], cc: [], attachments: [], stale: false, page: null,
  relevance_score: null, keyword_score: null, semantic_score: null, rerank_score: null };

const complete = (answer) => ({ ...ANSWER, ...answer, results: answer.results.map((result) => ({ ...RESULT, ...result })) });

export class Search {
  /** `onAnswer(answer, offset, draft)`, `onError(error)` and `onBusy(flag)` hear of the latest question alone. */
  constructor({ onAnswer, onError, onBusy }) {
    this.onAnswer = onAnswer;
    this.onError = onError;
    this.onBusy = onBusy;
    this.wait = 150; // milliseconds after the last key
    this.number = 0;
    this.timer = 0;
    this.running = null;
  }

  soon(body) {
    clearTimeout(this.timer);
    this.onBusy(true);
    this.timer = setTimeout(() => this.now(body, 0, { draft: true }), this.wait);
  }

  /** Forget what is under way. */
  drop() {
    clearTimeout(this.timer);
    this.number += 1;
    this.running?.abort();
    this.running = null;
    this.onBusy(false);
  }

  /** `draft`: the question may be half typed, so the server doesn't keep it in its question log. */
  async now(body, offset = 0, { draft = false } = {}) {
    this.drop();
    const number = this.number;
    this.running = new AbortController();
    this.onBusy(true);
    try {
      const answer = await call("/api/search", { ...body, offset }, this.running.signal, { draft });
      if (number === this.number) this.onAnswer(complete(answer), offset, draft);
    } catch (error) {
      if (number === this.number && error.name !== "AbortError") this.onError(error);
    } finally {
      if (number === this.number) this.onBusy(false);
    }
  }
}

// Why a result is where it is: its points, source by source, as a bar and as a table.
import { el } from "./dom.js";

// What the ranker calls its sources (search/features.py), in plain words and one colour a family.
const SOURCES = {
  keyword: ["words", 1], keyword_further: ["words, further passages", 1], keyword_place: ["words, rank", 1],
  semantic: ["meaning", 2], semantic_further: ["meaning, further passages", 2], semantic_place: ["meaning, rank", 2],
  identifier: ["exact name", 3], rerank: ["second look", 4], "cross-encoder": ["second look", 4],
  keyword_scaled: ["words, beside the others", 1], semantic_scaled: ["meaning, beside the others", 2],
  body: ["text", 5], body_scaled: ["text, beside the others", 5],
  both: ["words and meaning in one passage", 5], both_scaled: ["words and meaning in one passage, beside the others", 5],
  hyde: ["imagined answer", 6], hyde_scaled: ["imagined answer, beside the others", 6], date: ["date", 7],
  passage: ["behind its document’s best passage", 7], evidence: ["strength of the best matches", 7],
  in_links: ["pages on the topic lead here", 7],
  changelog: ["tells what changed, which wasn’t asked", 7],
};
const label = (source) => SOURCES[source]?.[0] ?? source;
const hue = (source) => SOURCES[source]?.[1] ?? 7;
const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

export function why(result) {
  const reasons = [...result.why].sort((one, other) => Math.abs(other.points) - Math.abs(one.points));
  if (!reasons.length) return null;
  const total = reasons.reduce((sum, one) => sum + Math.max(0, one.points), 0);
  const bar = el("span", { class: "bar-of-reasons", "aria-hidden": "true" });
  for (const one of reasons) {
    if (one.points <= 0) continue;
    const part = el("span", { class: `reason hue-${hue(one.source)}`, title: `${label(one.source)} ${points(one.points)}` });
    part.style.flexGrow = String(one.points / total);
    bar.append(part);
  }
  const scores = [["words", result.keyword_score], ["meaning", result.semantic_score], ["second look", result.rerank_score]]
    .filter(([, score]) => score !== null).map(([name, score]) => `${name} ${score.toFixed(2)}`);
  return el("details", { class: "why" },
    el("summary", {}, "Why this result", bar),
    el("table", {},
      el("thead", {}, el("tr", {}, ...["Source", "Rank there", "Its score", "Points"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, reasons.map((one) => el("tr", {},
        el("th", { scope: "row" }, el("span", { class: `swatch hue-${hue(one.source)}`, "aria-hidden": "true" }), label(one.source)),
        el("td", {}, one.rank ?? "–"), el("td", {}, one.raw == null ? "–" : one.raw.toFixed(3)), el("td", {}, points(one.points)))))),
    el("p", { class: "quiet" }, `Relevance ${(result.relevance_score ?? 0).toFixed(2)}${scores.length ? ` · ${scores.join(", ")}` : ""}`));
}

const GRADES = [[0.75, "Excellent"], [0.5, "Good"], [0.25, "Fair"], [0, "Weak"]];

/** The calibrated relevance in a word; null for mails that were listed, not searched. */
export function badge(result) {
  if (result.relevance_score === null) return null;
  const [, name] = GRADES.find(([from]) => result.relevance_score >= from) ?? GRADES.at(-1);
  return el("span", { class: `badge ${name.toLowerCase()}`, title: `Relevance ${result.relevance_score.toFixed(2)}` }, name);
}

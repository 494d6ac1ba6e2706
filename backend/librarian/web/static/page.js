"use strict";
// A small client of /api/search and /api/document. All text is put in as text, never as markup.
const at = (id) => document.getElementById(id);
let token = sessionStorage.getItem("token") || "";
let asked = null;

async function call(path, body) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const response = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  if (response.status === 401) {
    token = await askForToken();
    return call(path, body);
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.error.message} ${answer.error.hint}`);
  return answer;
}

function askForToken() {
  const dialog = at("ask");
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", at("token").value);
      resolve(at("token").value);
    }, { once: true });
  });
}

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function marked(text, highlights) {
  const pre = element("pre");
  const letters = Array.from(text); // offsets count characters, not UTF-16 units
  let last = 0;
  for (const [start, end] of highlights) {
    if (start < last) continue;
    pre.append(letters.slice(last, start).join(""), element("mark", letters.slice(start, end).join("")));
    last = end;
  }
  pre.append(letters.slice(last).join(""));
  return pre;
}

function shown(result) {
  const item = element("li");
  const open = element("button", [result.title, ...result.heading_path.filter((part) => part !== result.title)].join(" › "));
  open.addEventListener("click", () => guarded(() => read(result.id)));
  const title = element("h2");
  title.append(open);
  const scores = [["keyword", result.keyword_score], ["semantic", result.semantic_score], ["rerank", result.rerank_score]]
    .filter(([, score]) => score !== null).map(([name, score]) => `${name} ${score.toFixed(2)}`).join(", ");
  item.append(title,
    element("p", `${result.file_path}, lines ${result.line_start}–${result.line_end}${result.page === null ? "" : `, page ${result.page}`}`, "where"),
    marked(result.snippet, result.highlights),
    element("p", `${result.relevance_score.toFixed(2)} (${scores}) · ${result.doc_type}${result.stale ? " · changed since" : ""}`, "facts"));
  return item;
}

async function search(offset) {
  const answer = await call("/api/search", { ...asked, offset });
  if (!offset) at("results").replaceChildren();
  at("results").append(...answer.results.map(shown));
  const notes = [`${answer.total} results, mode ${answer.mode}, ${Math.round(answer.took_ms)} ms`, ...answer.degraded, ...answer.suggestions.map((one) => one.text)];
  at("summary").textContent = notes.join(" · ");
  at("more").hidden = answer.next_offset === null;
  at("more").onclick = () => guarded(() => search(answer.next_offset));
}

async function read(path) {
  const answer = await call("/api/document", { path });
  at("document").replaceChildren(element("h2", answer.title), element("p", answer.file_path, "where"), element("pre", answer.content));
  at("document").hidden = false;
  at("document").scrollIntoView();
}

async function guarded(work) {
  at("message").hidden = true;
  try {
    await work();
  } catch (error) {
    at("message").textContent = error.message;
    at("message").hidden = false;
  }
}

at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  asked = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value));
  at("document").hidden = true;
  guarded(() => search(0));
});

guarded(async () => {
  const health = await call("/health");
  at("state").textContent = `${health.documents} documents, ${health.embedded_chunks} of ${health.chunks} passages embedded: ${[health.status, ...health.reasons].join(", ")}`;
  for (const product of (await call("/api/products")).products) at("product").append(new Option(product.name));
});

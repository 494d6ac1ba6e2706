// The page's state is in its address: what is read from it, what is written to it, and the request that it means.

const LISTS = ["file_types", "tags"];
const TEXTS = ["q", "type", "mode", "product", "component", "doc_type", "language", "after", "before", "sender",
  "subject", "attachments", "doc", "lines", "section", "thread"];

/** Filters by the kind of search that knows them, with the names that the server gives them. */
export const FILTERS = {
  documents: { product: "product", component: "component", file_types: "file_types", doc_type: "doc_type",
    tags: "tags", language: "language", after: "modified_after", before: "modified_before" },
  emails: { product: "product", component: "component", sender: "sender", subject: "subject_contains",
    attachments: "has_attachments", after: "date_after", before: "date_before" },
};

export function blank() {
  const state = Object.fromEntries(TEXTS.map((name) => [name, ""]));
  for (const name of LISTS) state[name] = [];
  state.type = "documents";
  return state;
}

export function fromAddress(search = location.search) {
  const given = new URLSearchParams(search);
  const state = blank();
  for (const name of TEXTS) if (given.get(name)) state[name] = given.get(name);
  for (const name of LISTS) state[name] = given.getAll(name).filter(Boolean);
  if (state.type !== "emails") state.type = "documents";
  return state;
}

export function toAddress(state) {
  const given = new URLSearchParams();
  for (const name of TEXTS) {
    if (state[name] && !(name === "type" && state.type === "documents")) given.set(name, state[name]);
  }
  for (const name of LISTS) for (const value of state[name]) given.append(name, value);
  const text = given.toString();
  return text ? `${location.pathname}?${text}` : location.pathname; // a proxy may have put the page below a path
}

/** Filters that are set, as [name, value] with lists one by one. */
export function filtersIn(state) {
  return Object.keys(FILTERS[state.type])
    .flatMap((name) => [state[name]].flat().filter(Boolean).map((value) => [name, value]));
}

/** The body for /api/search, or null where there is nothing to ask yet. */
export function requestOf(state) {
  const query = state.q.trim();
  const names = FILTERS[state.type];
  const body = { type: state.type, query };
  for (const [name, wire] of Object.entries(names)) {
    const value = state[name];
    if (Array.isArray(value) ? value.length : value) body[wire] = name === "attachments" ? value === "yes" : value;
  }
  if (!query && (state.type === "documents" || !filtersIn(state).length)) return null;
  if (state.mode) body.mode = state.mode;
  Object.assign(body, { brief: true, explain: true }, state.type === "documents" ? { include_weak: true } : {});
  return body;
}

/** A state that shows a passage of a result beside the same results. */
export function opened(state, result) {
  return { ...closed(state), doc: result.file_path, lines: `${result.line_start}-${result.line_end}`,
    thread: result.thread_id || "" };
}

export const closed = (state) => ({ ...state, doc: "", lines: "", section: "", thread: "" });

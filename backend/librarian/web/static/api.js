// The server: calls as JSON, its token asked for once, its errors as sentences.
import { at } from "./dom.js";

let token = "";
try { token = sessionStorage.getItem("librarian.token") || ""; } catch { /* storage is off: asked again next time */ }

/** The server answered, and said no. */
export class Refused extends Error {
  /** `wait` is after how many seconds it is worth asking again, 0 where that won't help. */
  constructor(status, { code = "", message = "", hint = "" } = {}, wait = 0) {
    super(`${message} ${hint}`.trim() || `The server answered ${status}.`);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.wait = wait;
  }
}

/** No answer at all. */
export class Unreachable extends Error {
  constructor() { super("The server can’t be reached. Trying again …"); }
}

let asking = null;

function askForToken() {
  asking ??= new Promise((resolve) => {
    const dialog = at("token-dialog");
    dialog.addEventListener("close", () => {
      token = at("token").value.trim();
      try { sessionStorage.setItem("librarian.token", token); } catch { /* kept for this page alone */ }
      asking = null;
      resolve();
    }, { once: true });
    at("token").value = "";
    dialog.showModal();
  });
  return asking;
}

/** A header's characters are bytes: those of UTF-8, one by one. */
const bytesOf = (text) => Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");

/** POSTs `body` to a path below the page’s own address where there is one, else GETs. Raises `Refused`, `Unreachable`, or an AbortError. */
export async function call(path, body, signal, { draft = false } = {}) {
  const sent = token;
  const headers = sent ? { authorization: `Bearer ${bytesOf(sent)}` } : {};
  if (draft) headers["librarian-draft"] = "1";
  let response;
  try {
    response = await fetch(`.${path}`, body
      ? { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body), signal }
      : { headers, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable();
  }
  if (response.status === 401) {
    if (sent === token) {
      at("token-wrong").hidden = !sent;
      await askForToken();
    }
    return call(path, body, signal, { draft });
  }
  let answer = null;
  try {
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  if (response.ok && answer) return answer;
  if (answer?.error?.message) throw new Refused(response.status, answer.error, Number(response.headers.get("retry-after")) || 0);
  // Not the server's own words: cut short, or a proxy's, which says 5xx while the server is away.
  throw response.ok || response.status >= 500 ? new Unreachable() : new Refused(response.status);
}

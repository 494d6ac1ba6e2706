// What this browser remembers, and nobody else: questions asked, passages kept, the theme and which keys are used.

const MOST = { history: 50, favourites: 200 };

function stored(name) {
  try { return localStorage.getItem(`librarian.${name}`); } catch { return null; } // storage is off
}

/** Remembers a text; where storage is full or off, nothing is remembered. */
export function store(name, text) {
  try { localStorage.setItem(`librarian.${name}`, text); } catch { /* the choice lasts for this page */ }
}

function read(name) {
  try {
    return JSON.parse(stored(name) || "[]").filter((one) => typeof one?.address === "string" && typeof one.text === "string");
  } catch {
    return [];
  }
}
const write = (name, items) => store(name, JSON.stringify(items.slice(0, MOST[name])));

/** Whether / and ? are keys anywhere on the page. Speech input and a slip of the hand press single keys unasked. */
export const singleKeys = () => stored("keys") !== "off";
export const history = () => read("history");
export const favourites = () => read("favourites");

/** `address` is where the question is asked again. */
export function rememberQuestion(text, address) {
  if (text) write("history", [{ text, address }, ...history().filter((one) => one.text !== text)]);
}

export const isFavourite = (address) => favourites().some((one) => one.address === address);

/** Keeps an item or lets it go. */
export function toggleFavourite(item) {
  const others = favourites().filter((one) => one.address !== item.address);
  write("favourites", isFavourite(item.address) ? others : [item, ...others]);
}

export const forget = (name, address) => write(name, address === undefined ? [] : read(name).filter((one) => one.address !== address));

// What this browser remembers, and nobody else: questions asked, passages kept and which keys are used.

const MOST = { history: 50, favourites: 200 };

function read(name) {
  try {
    const found = JSON.parse(localStorage.getItem(`librarian.${name}`) || "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one?.address === "string" && typeof one.text === "string") : [];
  } catch {
    return [];
  }
}

function write(name, items) {
  try {
    localStorage.setItem(`librarian.${name}`, JSON.stringify(items.slice(0, MOST[name])));
  } catch {
    // storage is full or off: nothing is remembered
  }
}

/** Whether / and ? are keys anywhere on the page. Speech input and a slip of the hand press single keys unasked. */
export const singleKeys = () => {
  try { return localStorage.getItem("librarian.keys") !== "off"; } catch { return true; }
};
export function useSingleKeys(on) {
  try { localStorage.setItem("librarian.keys", on ? "on" : "off"); } catch { /* storage is off: they stay keys */ }
}

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

export function forget(name, address) {
  write(name, address === undefined ? [] : read(name).filter((one) => one.address !== address));
}

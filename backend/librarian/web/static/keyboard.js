// Everything by keys: / arrows Enter Esc, c, s and ?.
import { at } from "./dom.js";
import { singleKeys } from "./memory.js";

const isTyping = (target) => target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select") !== null;

/** `open` opens a link, `close()` closes the panel and says whether it was open, `help()` shows the keys. */
export function listen({ submit, close, help }) {
  const links = () => [...document.querySelectorAll("#results a.open")];
  const current = () => links().indexOf(document.activeElement);
  const step = (by) => {
    const all = links();
    const next = current() + by;
    if (next < 0) at("query").focus();
    else if (all[next]) {
      all[next].focus();
      all[next].closest(".passage").scrollIntoView({ block: "nearest" });
    }
  };
  const press = (selector) => document.activeElement?.closest(".passage")?.querySelector(selector)?.click();

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    const inQuery = event.target === at("query");
    const typing = isTyping(event.target);
    const anywhere = !typing && singleKeys();
    let used = true;
    if (event.key === "/" && anywhere) { at("query").focus(); at("query").select(); }
    else if (event.key === "?" && anywhere) help();
    else if (event.key === "ArrowDown" && (inQuery || (!event.target.closest("input, textarea, select, #panel")))) step(1);
    else if (event.key === "ArrowUp" && current() >= 0) step(-1);
    else if (event.key === "Enter" && inQuery) submit();
    else if (event.key === "Escape") {
      if (!close()) {
        if (inQuery) at("query").select();
        else at("query").focus();
      }
    }
    else if (event.key === "c" && current() >= 0) press(".cite");
    else if (event.key === "s" && current() >= 0) press(".star");
    else used = false;
    if (used) event.preventDefault();
  });
}

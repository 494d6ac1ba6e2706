// Filters, with the values that the index really holds.
import { call } from "./api.js";
import { FILTERS, filtersIn } from "./address.js";
import { at, button, day, el } from "./dom.js";

const LABELS = { product: "Product", component: "Component", file_types: "File type", doc_type: "Kind", tags: "Tag",
  language: "Language", after: "From", before: "Until", sender: "From whom", subject: "Subject contains",
  attachments: "Attachments" };
const TAGS_SHOWN = 12;

export class Filters {
  /** `onChange(changes)` is called with the fields that the reader changed, `onLoad()` when there is something else to choose. */
  constructor(onChange, onLoad) {
    this.onChange = onChange;
    this.onLoad = onLoad;
    this.facets = {};
    this.known = new Set(); // kinds of search whose values are as the server last gave them
    this.state = null;
    this.allTags = false;
    this.typing = false;
    at("filters").addEventListener("focusout", ({ relatedTarget }) => {
      if (this.due && !at("filters").contains(relatedTarget)) this.fill();
    });
  }

  /** The library has changed: what is shown stays until the server has said what there is. */
  renew(state) {
    this.known.clear();
    this.load(state.type);
  }

  async load(type) {
    if (this.known.has(type)) return;
    this.known.add(type);
    try {
      this.facets[type] = await call(`/api/facets?type=${type}`);
    } catch {
      this.known.delete(type); // the state bar says what is wrong
      return;
    }
    this.due = true; // nobody who is choosing or typing there is interrupted
    if (!at("filters").contains(document.activeElement)) this.fill();
    this.onLoad();
  }

  show(state) {
    this.state = state;
    this.load(state.type);
    this.fill();
    this.showChips(state);
  }

  fill() {
    const state = this.state;
    const focused = document.activeElement?.id;
    this.due = this.typing;
    if (this.due) return;
    at("filters").replaceChildren(el("h2", {}, "Filters"), ...this.fields(state, this.facets[state.type] ?? {}));
    if (focused?.startsWith("filter-")) at(focused)?.focus();
  }

  fields(state, facets) {
    const products = facets.products ?? [];
    const product = products.find((one) => one.name === state.product);
    const shared = [
      this.choice("product", products, state.product, { component: "" }),
      this.choice("component", product?.components ?? [], state.component, {}, !product),
    ];
    const dates = [this.date("after", state, facets), this.date("before", state, facets)];
    if (state.type === "emails") {
      return [...shared, this.text("sender", state), this.text("subject", state),
        this.choice("attachments", [{ name: "yes" }, { name: "no" }], state.attachments), ...dates];
    }
    return [...shared,
      this.boxes("file_types", facets.file_types ?? [], state.file_types),
      this.choice("doc_type", facets.doc_types ?? [], state.doc_type),
      this.boxes("tags", facets.tags ?? [], state.tags),
      (facets.languages ?? []).length > 1 || state.language
        ? this.choice("language", facets.languages ?? [], state.language) : null,
      ...dates].filter(Boolean);
  }

  choice(name, items, chosen, also = {}, disabled = false) {
    const known = items.some((one) => one.name === chosen);
    const options = [["", "any"], ...items.map((one) => [one.name, one.count === undefined ? one.name : `${one.name} (${one.count.toLocaleString()})`])];
    if (chosen && !known) options.push([chosen, chosen]);
    const select = el("select", { id: `filter-${name}`, disabled: disabled && !chosen,
      onchange: (event) => this.onChange({ [name]: event.target.value, ...also }) },
      ...options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
    return el("div", { class: "field" }, el("label", { for: `filter-${name}` }, LABELS[name]), select);
  }

  boxes(name, items, chosen) {
    const known = new Set(items.map((one) => one.name));
    const all = [...items, ...chosen.filter((value) => !known.has(value)).map((value) => ({ name: value, count: 0 }))];
    if (!all.length) return null;
    const first = this.allTags ? all : all.filter((one, place) => place < TAGS_SHOWN || chosen.includes(one.name));
    return el("fieldset", { class: "field" }, el("legend", {}, LABELS[name]),
      el("div", { class: "boxes" }, first.map((one) => {
        const id = `filter-${name}-${one.name}`;
        return el("span", { class: "box" },
          el("input", { type: "checkbox", id, checked: chosen.includes(one.name), onchange: (event) => this.onChange({
            [name]: event.target.checked ? [...chosen, one.name] : chosen.filter((value) => value !== one.name) }) }),
          el("label", { for: id }, one.name, el("span", { class: "count" }, ` ${one.count.toLocaleString()}`)));
      })),
      all.length > first.length
        ? button(`All ${all.length}`, () => {
          this.allTags = true;
          this.show(this.state);
          at(`filter-${name}-${all.find((one) => !first.includes(one)).name}`)?.focus();
        }, { class: "plain" }) : null);
  }

  date(name, state, facets) {
    const id = `filter-${name}`;
    return el("div", { class: "field" }, el("label", { for: id }, LABELS[name]),
      el("input", { type: "date", id, value: state[name], min: facets.oldest?.slice(0, 10), max: facets.newest?.slice(0, 10),
        onchange: ({ target: { value } }) => {
          if (value && value < "1000") return; // its year is half typed
          this.typing = true; // part by part, and each may make it another date: the input stays
          this.onChange({ [name]: value });
          this.typing = false;
        } }));
  }

  text(name, state) {
    const id = `filter-${name}`;
    return el("div", { class: "field" }, el("label", { for: id }, LABELS[name]),
      el("input", { type: "search", dir: "auto", id, value: state[name], maxlength: 200,
        onchange: (event) => this.onChange({ [name]: event.target.value.trim() }) }));
  }

  showChips(state) {
    const chips = filtersIn(state).map(([name, value]) => {
      const text = `${LABELS[name]}: ${name === "after" || name === "before" ? day(value) || value : value}`;
      const without = Array.isArray(state[name]) ? state[name].filter((one) => one !== value) : "";
      const also = name === "product" ? { component: "" } : {};
      return el("li", {}, button([text, el("span", { "aria-hidden": "true" }, " ✕"), el("span", { class: "hidden" }, ", remove this filter")],
        () => { this.onChange({ [name]: without, ...also }); at("query").focus(); }, { class: "chip" }));
    });
    if (chips.length > 1) chips.push(el("li", {}, button("Clear all", () => { this.onChange(cleared(state)); at("query").focus(); }, { class: "plain" })));
    at("chips").replaceChildren(...chips);
    at("chips").hidden = !chips.length;
    const open = at("filters-button").getAttribute("aria-expanded") === "true";
    at("filters-button").textContent = chips.length ? `Filters (${filtersIn(state).length})` : "Filters";
    at("filters").classList.toggle("open", open);
  }
}

/** What unsets every filter of this kind of search. */
function cleared(state) {
  return Object.fromEntries(Object.keys(FILTERS[state.type]).map((name) => [name, Array.isArray(state[name]) ? [] : ""]));
}

export const labelOf = (wireName) => {
  const found = Object.values(FILTERS).flatMap((names) => Object.entries(names)).find(([, wire]) => wire === wireName);
  return found ? { name: found[0], label: LABELS[found[0]] } : null;
};

// A list of items with pages: to look through by mouse, finger or key, and to answer one by one.

import { apart, choices, find, itemLink, make, press, stored, tell } from "./dom.js";
import { likeLine } from "./reasons.js";
import { change, read } from "./sync.js";
import { figures, likely, t } from "./text.js";

const KEYS = { a: "anomaly", n: "normal" };

const isAnswered = ({ verdict }) => verdict === "anomaly" || verdict === "normal";

// What is known of an item: its answer, and before that a guess.
export function scored({ score, probability, verdict }) {
  if (score === null) return make("p", {});
  const known = isAnswered({ verdict }) ? t("results.answered", { verdict: t(`said.${verdict}`) }) : likely(probability);
  return make("p", { class: "scored muted" }, known, make("br"), t("results.score", { score: figures(score) }));
}

// Shows an answer that was stored. group: its choices, beside what is known of the item
export function settle(group, item, verdict) {
  press(group, verdict);
  group.parentElement.querySelector(".scored")?.replaceWith(scored({ ...item, verdict }));
}

function fieldLine(field) {
  return make("p", { class: "small" }, apart(field.name), " ", make("b", {}, apart(field.value)), make("span", { class: "muted" }, ` ${field.words}`));
}

export class ItemList {
  // place: the list; onPage(page): another page is wanted; onAnswer({item, verdict}): an answer was stored
  constructor(place, onPage, onAnswer = () => {}) {
    Object.assign(this, { place, onPage, onAnswer, mapped: false });
    place.addEventListener("keydown", (event) => this.#key(event));
  }

  async load(query) {
    const found = await read("items", "/api/items", query);
    if (found === null) return null; // another page is wanted by now
    this.place.start = (found.page - 1) * found.size + 1;
    const held = this.#entries().indexOf(document.activeElement);
    this.place.replaceChildren(...found.items.map((item) => this.#entry(item)));
    if (query.sort === "unlabelled") this.#divide(found.items);
    this.#entries()[held]?.focus({ preventScroll: true }); // the keyboard stays where it was
    this.#pager(found);
    return found;
  }

  #entry(item) {
    const isTable = item.kind === "table";
    const rank = make("span", { class: "rank" }, item.rank === null ? "" : `${item.rank}.`);
    const values = item.fields.length ? item.fields.map(fieldLine) : [make("p", { class: "small muted" }, t("card.no_single"))];
    const seen = isTable ? [make("div", {}, itemLink(item), scored(item)), make("div", {}, ...values, ...likeLine(item.resembles))] : [itemLink(item, this.mapped), scored(item)];
    const group = choices(item.title, item.verdict, (verdict) => this.#answer(item, verdict));
    const node = make("li", { class: isTable ? "" : "media", tabindex: "-1", "data-item": item.item }, rank, ...seen, group);
    node.addEventListener("answer", (event) => this.#answer(item, event.detail));
    Object.assign(node, { show: (verdict) => settle(group, item, verdict) });
    return node;
  }

  // Shows an answer that was stored, wherever it was given.
  settle(item, verdict) {
    this.#entries().find(({ dataset }) => dataset.item === item)?.show(verdict);
  }

  #entries() {
    return [...this.place.querySelectorAll("li[tabindex]")];
  }

  // A heading over the items that have an answer, where those without one come first.
  #divide(items) {
    const first = items.findIndex(isAnswered);
    if (first < 0) return;
    this.#entries()[first].before(make("li", { class: "divider" }, make("h3", {}, t("items.answered"))));
  }

  async #answer({ item, title }, verdict) {
    try {
      const reply = await change(item, "/api/answers", { item, verdict });
      if (reply === null) return; // a newer answer is on its way
      this.settle(item, reply.about.verdict);
      stored(title, reply.about.verdict);
      await this.onAnswer(reply.about);
    } catch (error) {
      tell(error);
    }
  }

  #pager({ page, n_pages: pages }) {
    const turn = (to, key) => make("button", { type: "button", disabled: to < 1 || to > pages, onclick: () => this.onPage(to) }, t(key));
    const words = make("span", {}, t("items.page", { page, pages }));
    find("pager").replaceChildren(...(pages > 1 ? [turn(page - 1, "items.previous"), words, turn(page + 1, "items.next")] : []));
  }

  // Up and down go through the list; a and n answer and go on.
  #key(event) {
    const own = event.target.closest("li");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const verdict = KEYS[event.key.toLowerCase()];
    if (own === null || event.ctrlKey || event.metaKey || event.altKey || (!step && !verdict)) return;
    event.preventDefault();
    if (verdict) own.dispatchEvent(new CustomEvent("answer", { detail: verdict }));
    const entries = this.#entries();
    entries[entries.indexOf(own) + (step ?? 1)]?.focus();
  }

  focus() {
    this.#entries()[0]?.focus({ preventScroll: true });
  }
}

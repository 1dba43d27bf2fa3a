// A list of alarms or items and the chosen one beside it: looked through by mouse, finger or key, answered one by one.

import { body, compared, pictureKey } from "./card.js";
import { SIGNS, apart, choices, find, imageAddress, make, press, say, status, stored, tell } from "./dom.js";
import { get } from "./api.js";
import { again, change, isGivenHere, read } from "./sync.js";
import { chance, figures, t } from "./text.js";

const KEYS = { a: "anomaly", n: "normal", u: "unsure", s: "skip" };
const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
const MOST = 5000; // values of a wide row
const narrow = matchMedia("(max-width: 70rem)");

const isAnswered = (verdict) => verdict === "anomaly" || verdict === "normal";
const isTaken = (target) => target.closest("input, select, textarea, summary, dialog, [role=slider], [role=application], .zoom.zoomed, .zoom.marking") !== null;

export class Inbox {
  // onPage(page): another page is wanted; onAnswer({item, verdict}): an answer was stored
  // page: where one of them can be opened by itself; rows of watched inputs have a page and an API of their own
  constructor(onPage, onAnswer = () => {}, page = "/") {
    Object.assign(this, { list: find("top"), pane: find("chosen"), onPage, onAnswer, page, api: page === "/" ? "/api" : `/api${page}`, mapped: false, chosen: null, busy: false, undoable: null });
    this.home = this.pane.parentElement;
    this.list.addEventListener("focusin", ({ target }) => target.dataset.item && target.dataset.item !== this.chosen && this.choose(target));
    this.list.addEventListener("click", (event) => this.#click(event));
    document.addEventListener("keydown", (event) => this.#key(event));
    narrow.addEventListener("change", () => this.#place());
  }

  // A page of the list.
  async load(query) {
    const found = await read("items", `${this.api}/items`, query);
    if (found === null) return null; // another page is wanted by now
    const held = this.#entries().indexOf(document.activeElement);
    this.home.append(this.pane);
    this.list.innerHTML = found.html; // escaped by the server; no script of it could run here
    this.list.classList.toggle("gallery", found.items.length > 0 && found.items[0].kind !== "table");
    find("none").hidden = found.total > 0;
    this.pager(found.page, found.n_pages);
    this.begin();
    this.#entries()[held]?.focus({ preventScroll: true }); // the keyboard stays where it was
    return found;
  }

  // Shows the first line beside the list, where there is room for it.
  begin() {
    const entries = this.#entries();
    this.#draw();
    const held = entries.find(({ dataset }) => dataset.item === this.chosen);
    if (held) this.#mark(held);
    else if (entries.length && !narrow.matches) this.choose(entries[0]);
    else this.#place();
  }

  pager(page, pages) {
    const turn = (to, key) => make("button", { type: "button", disabled: to < 1 || to > pages, onclick: () => this.onPage(to) }, t(key));
    const words = make("span", {}, t("items.page", { page, pages }));
    find("pager").replaceChildren(...(pages > 1 ? [turn(page - 1, "items.previous"), words, turn(page + 1, "items.next")] : []));
  }

  // Shows an item, with the values of others beside its own. most: how many values of a wide row
  async show(item, most) {
    Object.assign(this, { chosen: item, busy: true });
    const found = await read("chosen", `${this.api}/alarm`, { id: item, ...(most && { most }) });
    if (found === null) return; // another one was chosen meanwhile
    Object.assign(this, { busy: false, title: found.title });
    this.#fill(found);
  }

  // An item that need not be in the list, at another place of the page.
  async showAt(place, item) {
    const line = this.#entries().find((each) => place === this.home && each.dataset.item === item);
    if (line) this.#mark(line);
    else {
      for (const each of this.#entries()) each.removeAttribute("aria-current");
      if (this.pane.parentElement !== place) place.replaceChildren(this.pane);
      this.pane.hidden = false;
    }
    await this.show(item);
  }

  #fill(found) {
    const { item, title, alarm, verdict } = found;
    const likely = isAnswered(alarm.verdict) ? t(`said.${alarm.verdict}`) : t("alarms.probability", { share: chance(alarm.probability) });
    const known = alarm.score === null ? [] : [...(alarm.rank === null ? [] : [t("alarms.rank", { rank: alarm.rank })]), likely, t("alarms.p", { p: figures(alarm.p_value, 2) }), t("results.score", { score: figures(alarm.score) })];
    this.group = choices(title, verdict, (given) => this.answer(item, title, given, true), Object.values(KEYS));
    const like = alarm.resembles ? [make("p", { class: "small" }, t("reason.like", { verdict: t(`said.${alarm.resembles.verdict}`) }), " ", this.#link(alarm.resembles))] : [];
    const look = found.kind === "table" ? compared(found, () => this.show(item, MOST)) : body(found, found.has_map);
    this.pane.replaceChildren(
      make("div", { class: "item-head" }, make("h2", {}, apart(title)), ...(this.page === "/" ? [make("a", { class: "small", href: `/?${new URLSearchParams({ item })}` }, t("alarms.open"))] : [])),
      make("p", { class: "scored muted" }, known.join(" · ")),
      make("div", { class: "actions" }, this.group),
      ...(alarm.why ? [make("p", {}, alarm.why)] : []),
      ...like,
      ...look,
    );
  }

  #link({ item, title }) {
    return make("a", { href: `/?${new URLSearchParams({ item })}` }, apart(title));
  }

  // line: an entry of the list
  choose(line, focus = false) {
    this.chosen = line.dataset.item; // so that the focus does not choose it once more
    this.#mark(line);
    if (focus) line.focus({ preventScroll: narrow.matches });
    if (narrow.matches) line.scrollIntoView(); // the chosen one opens below its line
    this.show(line.dataset.item).catch(tell);
  }

  #mark(line) {
    for (const each of this.#entries()) each.removeAttribute("aria-current");
    line.setAttribute("aria-current", "true");
    this.#place(line);
  }

  // On a narrow screen the chosen one is shown below its line.
  #place(line = this.list.querySelector("[aria-current]")) {
    if (narrow.matches && line) line.append(this.pane);
    else this.home.append(this.pane);
    this.pane.hidden = narrow.matches && !line;
  }

  async answer(item, title, verdict, goesOn = false) {
    if (goesOn) this.#step(1);
    try {
      const reply = await change(item, "/api/answers", { item, verdict });
      if (reply === null) return; // a newer answer is on its way
      this.undoable = reply.undo;
      stored(title, reply.about.verdict);
      await this.settle(reply.about);
    } catch (error) {
      tell(error);
    }
  }

  async #undo() {
    if (this.undoable === null || !isGivenHere(this.undoable.event)) return;
    const { item, title, event } = this.undoable;
    this.undoable = null;
    try {
      const reply = await change(item, "/api/undo", { event });
      if (reply === null) return;
      this.undoable = reply.undo;
      status(t("saved.back", { title }), "saved");
      say(t("saved.back", { title }));
      await this.settle(reply.about);
      const line = this.#entries().find(({ dataset }) => dataset.item === item);
      if (line) this.choose(line, true);
    } catch (error) {
      tell(error);
    }
  }

  // Shows an answer that was stored, wherever it was given.
  async settle({ item, verdict }) {
    const line = this.#entries().find(({ dataset }) => dataset.item === item);
    if (line) {
      line.dataset.verdict = verdict ?? "";
      press(line.querySelector(".choices"), verdict);
      const said = isAnswered(verdict) ? [make("span", { class: verdict }, `${SIGNS[verdict]} ${t(`said.${verdict}`)}`)] : [line.dataset.chance];
      line.querySelector(".chance").replaceChildren(...said);
    }
    if (this.chosen === item && this.group) press(this.group, verdict);
    await this.onAnswer({ item, verdict });
  }

  #entries() {
    return [...this.list.querySelectorAll(":scope > li[data-item]")];
  }

  #step(by) {
    const entries = this.#entries();
    const at = entries.findIndex(({ dataset }) => dataset.item === this.chosen);
    if (at < 0 && this.chosen !== null) return; // it is not of this list
    const next = entries[at + by];
    if (next) this.choose(next, true);
    else entries[at]?.focus();
  }

  #click(event) {
    const line = event.target.closest("li[data-item]");
    if (line === null || this.pane.contains(event.target) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { item, title } = line.dataset;
    const button = event.target.closest("[data-verdict]:not(li)");
    if (button) this.answer(item, title, button.dataset.verdict, item === this.chosen);
    else this.choose(line, true);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTaken(event.target)) return;
    const key = event.key.toLowerCase();
    const isAnswer = key in KEYS && this.chosen !== null && !this.pane.hidden;
    if (isAnswer && !this.busy) this.answer(this.chosen, this.title, KEYS[key], true); // nothing is answered unseen
    else if (isAnswer) return;
    else if (event.key in STEPS) this.#step(STEPS[event.key]);
    else if (key === "z") this.#undo();
    else if (!pictureKey(key)) return;
    event.preventDefault();
  }

  focus() {
    this.#entries()[0]?.focus({ preventScroll: true });
  }

  // The pictures of the list, with or without their unusual places.
  #draw() {
    for (const image of this.list.querySelectorAll(".thumb")) {
      const { item } = image.closest("li").dataset;
      if (image.src.includes("map=") === this.mapped) continue;
      image.addEventListener("error", () => (image.src = imageAddress(item, 512)), { once: true }); // not to be seen yet
      image.src = imageAddress(item, 512, this.mapped);
    }
  }

  // A switch over a list of pictures.
  async offerMaps() {
    const { has_maps: hasMaps } = await again(() => get("/api/maps"));
    if (!hasMaps || find("gallery").hasChildNodes()) return;
    const button = make("button", { type: "button", "aria-pressed": "false", "aria-label": t("zoom.map_gallery") }, t("zoom.map"));
    const words = make("p", { class: "muted small", role: "status" });
    button.addEventListener("click", () => {
      this.mapped = !this.mapped;
      button.setAttribute("aria-pressed", String(this.mapped));
      words.textContent = this.mapped ? t("zoom.map_key") : "";
      this.#draw();
    });
    find("gallery").append(button);
    this.list.before(words);
  }
}

// A picture to look into: click, pinch, drag, or the keys + and −; another picture can take its place for a moment, and
// the key M draws unusual places over it.

import { imageAddress, make } from "./dom.js";
import { t } from "./text.js";

const MOST = 12;
const STEP = 1.6;
const PAN = 60; // pixels for an arrow key
const CLICK = 2.5; // a click on the whole picture goes this far

export class Zoom {
  // item: its id; words: what the picture is; hasMap: whether unusual places are known; mapped: and drawn at once
  constructor(item, words, hasMap = false, mapped = false) {
    [this.item, this.hasMap, this.mapped] = [item, hasMap, mapped];
    this.layers = []; // what lies over the picture and moves with it
    this.onPlace = () => {}; // called when the picture has moved, or is another one
    this.image = make("img", { class: "picture", draggable: "false", onload: () => this.#say(t("zoom.map_key")) });
    this.caption = make("p", { class: "caption", hidden: true });
    this.frame = make("div", { class: "zoom", tabindex: "0", role: "group", "aria-label": t("zoom.frame") }, this.image, this.caption);
    const tool = (text, name, key) => make("button", { type: "button", "aria-label": name, "aria-keyshortcuts": key, onclick: () => this.key(key) }, text);
    this.tools = make("div", { class: "zoom-tools", role: "group", "aria-label": t("zoom.tools") }, tool("+", t("zoom.in"), "+"), tool("−", t("zoom.out"), "-"), tool(t("zoom.fit"), t("zoom.fit_picture"), "0"));
    this.mapTool = tool(t("zoom.map"), t("zoom.map_picture"), "m");
    this.mapTool.setAttribute("aria-pressed", String(mapped));
    this.mapWords = make("p", { class: "map-words", role: "status" });
    if (hasMap) this.tools.append(this.mapTool, this.mapWords);
    this.words = words;
    this.#listen();
    this.show(null);
  }

  // Another item in its place, with words that say so; null brings the item itself back.
  show(other, caption = "") {
    this.shown = other ?? this.item;
    this.image.alt = other === null ? this.words : caption;
    this.caption.textContent = caption;
    this.caption.hidden = other === null;
    this.sharp = false;
    this.#load();
    this.fit();
  }

  #load() {
    this.#say(t("zoom.map_waits"));
    this.image.src = imageAddress(this.shown, this.sharp ? 2048 : 1024, this.mapped);
  }

  #say(ofMap) {
    this.mapWords.textContent = this.mapped ? ofMap : "";
  }

  #switchMap() {
    this.mapped = !this.mapped;
    this.mapTool.setAttribute("aria-pressed", String(this.mapped));
    this.#load();
  }

  fit() {
    [this.scale, this.x, this.y] = [1, 0, 0];
    this.#place();
  }

  zoom(factor, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2) {
    const scale = Math.min(MOST, Math.max(1, this.scale * factor));
    this.x = x - (x - this.x) * (scale / this.scale);
    this.y = y - (y - this.y) * (scale / this.scale);
    this.scale = scale;
    if (scale > 1.5 && !this.sharp) {
      this.sharp = true;
      this.#load();
    }
    this.#place();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.#place();
  }

  #place() {
    const inside = (at, size) => Math.min(0, Math.max(size * (1 - this.scale), at));
    this.x = inside(this.x, this.frame.clientWidth);
    this.y = inside(this.y, this.frame.clientHeight);
    for (const layer of [this.image, ...this.layers]) layer.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.frame.classList.toggle("zoomed", this.scale > 1);
    this.onPlace();
  }

  #listen() {
    const held = new Map(); // pointers that are down, by id
    let moved = 0;
    const at = (event) => {
      const box = this.frame.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.frame.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.frame.setPointerCapture(event.pointerId);
      held.set(event.pointerId, at(event));
      if (held.size === 1) moved = 0;
    });
    this.frame.addEventListener("pointermove", (event) => {
      if (!held.has(event.pointerId)) return;
      const [before, now] = [held.get(event.pointerId), at(event)];
      held.set(event.pointerId, now);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (held.size === 1) return this.pan(now[0] - before[0], now[1] - before[1]);
      const [other] = [...held].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
      this.zoom(apart(now) / apart(before), ...other);
    });
    this.frame.addEventListener("pointerup", (event) => {
      if (!held.delete(event.pointerId) || held.size || moved > 5) return;
      if (this.scale > 1) this.fit();
      else this.zoom(CLICK, ...at(event));
    });
    this.frame.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
    this.frame.addEventListener("wheel", (event) => {
      if (this.scale === 1 && !event.ctrlKey) return; // the page scrolls as everywhere
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), ...at(event));
    }, { passive: false });
    this.frame.addEventListener("keydown", (event) => this.#move(event));
    this.image.addEventListener("load", () => this.onPlace());
    new ResizeObserver(() => this.#place()).observe(this.frame);
  }

  // A key that zooms, wherever the focus is; says whether it was one.
  key(key) {
    const keys = { "+": STEP, "=": STEP, "-": 1 / STEP };
    if (key in keys) this.zoom(keys[key]);
    else if (key === "0") this.fit();
    else if (key === "m" && this.hasMap) this.#switchMap();
    else return false;
    return true;
  }

  // Arrows move a zoomed picture that has the focus; on the whole picture they go to another item.
  #move(event) {
    const moves = { ArrowLeft: [PAN, 0], ArrowRight: [-PAN, 0], ArrowUp: [0, PAN], ArrowDown: [0, -PAN] };
    if (!(event.key in moves) || this.scale === 1) return;
    this.pan(...moves[event.key]);
    event.preventDefault();
    event.stopPropagation();
  }
}

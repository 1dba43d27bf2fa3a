// Drawing on a picture: a point, a box or a brush, by mouse, finger or keys. Each stroke is stored at once.

import { get } from "./api.js";
import { draw, make, say, status, tell } from "./dom.js";
import { change } from "./sync.js";
import { t } from "./text.js";

const TOOLS = { p: "point", b: "box", r: "brush" };
const RADIUS = 0.025; // of the brush, as a share of the picture's shorter side
const STEP = 0.02; // of the picture, for an arrow key; a fifth of it with Shift
const DOT = 7; // pixels: the radius of a point
const MOST = 200; // regions, as the server takes them
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Marks {
  // zoom: the picture drawn on. marks: [{who, mine, regions}], as the server knows them
  constructor(zoom, marks) {
    Object.assign(this, { zoom, tool: null, started: null, cursor: null });
    this.take(marks);
    this.layer = draw("svg", { class: "marks", role: "img" });
    zoom.frame.append(this.layer);
    zoom.layers.push(this.layer);
    const button = (text, name, key) => make("button", { type: "button", title: name, "aria-label": name, "aria-keyshortcuts": key, onclick: () => this.key(key.toLowerCase()) }, text);
    this.buttons = Object.fromEntries(Object.entries(TOOLS).map(([key, tool]) => [tool, button(t(`mark.${tool}`), t(`mark.${tool}_name`), key.toUpperCase())]));
    this.back = button("⌫", t("mark.back"), "Backspace");
    this.tools = make("div", { class: "mark-tools", role: "group", "aria-label": t("mark.tools") }, ...Object.values(this.buttons), this.back);
    zoom.onPlace = () => this.#render();
    this.#listen();
    this.#choose(null);
  }

  take(marks) {
    this.own = marks.find(({ mine }) => mine)?.regions ?? [];
    this.others = marks.filter(({ mine }) => !mine).flatMap(({ regions }) => regions);
  }

  // A key of a tool, wherever the focus is; says whether it was one.
  key(key) {
    if (this.zoom.shown !== this.zoom.item) return false; // another picture is looked at
    if (key in TOOLS) this.#choose(this.tool === TOOLS[key] ? null : TOOLS[key]);
    else if (key === "escape" && this.tool !== null) this.#choose(null);
    else if (key === "backspace" && this.own.length) this.#store(this.own.slice(0, -1));
    else return false;
    return true;
  }

  #choose(tool) {
    Object.assign(this, { tool, started: null, cursor: null });
    for (const [name, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", String(name === tool));
    this.zoom.frame.classList.toggle("marking", tool !== null);
    if (tool !== null) {
      this.zoom.frame.focus({ preventScroll: true });
      say(t("mark.how"));
    }
    this.#render();
  }

  async #store(regions) {
    const { item } = this.zoom;
    this.own = regions.slice(-MOST);
    this.#render();
    try {
      const reply = await change(item, "/api/marks", { item, regions: this.own });
      if (reply === null) return; // more was drawn meanwhile
      this.take(reply.marks);
      status(t("mark.saved", { n: this.own.length }), "saved");
      say(t("mark.saved", { n: this.own.length }));
    } catch (error) {
      tell(error);
      this.take((await get("/api/item", { id: item })).marks);
    }
    this.#render();
  }

  // The picture's place in the frame before zooming: left, top, width, height.
  #box() {
    const { frame, image } = this.zoom;
    const [wide, tall] = [image.naturalWidth || 1, image.naturalHeight || 1];
    const scale = Math.min(frame.clientWidth / wide, frame.clientHeight / tall);
    return { left: (frame.clientWidth - wide * scale) / 2, top: (frame.clientHeight - tall * scale) / 2, width: wide * scale, height: tall * scale };
  }

  // Where an event lies in the picture, as shares of its sides.
  #at(event) {
    const frame = this.zoom.frame.getBoundingClientRect();
    const { left, top, width, height } = this.#box();
    const { x, y, scale } = this.zoom;
    const inside = (value) => Math.min(1, Math.max(0, value));
    return [inside(((event.clientX - frame.left - x) / scale - left) / width), inside(((event.clientY - frame.top - y) / scale - top) / height)];
  }

  #listen() {
    this.layer.addEventListener("pointerdown", (event) => {
      if (this.tool === null || event.button !== 0) return;
      event.stopPropagation();
      event.preventDefault();
      this.layer.setPointerCapture(event.pointerId);
      this.zoom.frame.focus({ preventScroll: true });
      this.cursor = null;
      this.started = [this.#at(event)];
      this.#render();
    });
    this.layer.addEventListener("pointermove", (event) => {
      if (this.started === null || !this.layer.hasPointerCapture(event.pointerId)) return;
      event.stopPropagation();
      this.#extend(this.#at(event));
    });
    this.layer.addEventListener("pointerup", (event) => {
      if (this.started === null) return;
      event.stopPropagation();
      this.#extend(this.#at(event));
      this.#finish();
    });
    this.layer.addEventListener("pointercancel", () => {
      this.started = null;
      this.#render();
    });
    this.zoom.frame.addEventListener("keydown", (event) => this.#press(event));
  }

  #extend(at) {
    const last = this.started.at(-1);
    if (this.tool === "point") this.started = [at];
    else if (this.tool === "box") this.started = [this.started[0], at];
    else if (Math.hypot(at[0] - last[0], at[1] - last[1]) > 0.004 && this.started.length < 500) this.started.push(at);
    this.#render();
  }

  #finish() {
    const points = this.started;
    this.started = null;
    const isBox = this.tool === "box" && points.length > 1 && points[0][0] !== points[1][0] && points[0][1] !== points[1][1];
    if (this.tool === "box" && !isBox) return this.#render(); // a click is no box
    const region = { shape: this.tool, points: this.tool === "point" ? points.slice(-1) : points };
    this.#store([...this.own, this.tool === "brush" ? { ...region, radius: RADIUS } : region]);
  }

  // Arrows move a cross, Enter or the space bar sets a point, begins and ends a box or a stroke.
  #press(event) {
    if (this.tool === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const isSet = event.key === "Enter" || event.key === " ";
    if (!(event.key in ARROWS) && !isSet) return;
    event.preventDefault();
    event.stopPropagation();
    this.cursor ??= [0.5, 0.5];
    if (isSet) return this.#set();
    const step = event.shiftKey ? STEP / 5 : STEP;
    this.cursor = this.cursor.map((value, axis) => Math.min(1, Math.max(0, value + step * ARROWS[event.key][axis])));
    if (this.started !== null) this.#extend(this.cursor);
    this.#render();
    say(t("mark.at", { x: Math.round(100 * this.cursor[0]), y: Math.round(100 * this.cursor[1]) }));
  }

  #set() {
    if (this.started !== null) return this.#finish();
    this.started = [this.cursor];
    if (this.tool === "point") this.#finish();
    else this.#render();
  }

  #render() {
    const { frame, scale } = this.zoom;
    const box = this.#box();
    const place = ([x, y]) => [box.left + x * box.width, box.top + y * box.height];
    const under = this.started === null ? [] : [{ shape: this.tool, points: this.started, radius: RADIUS }];
    const shapes = [
      ...this.others.map((region) => this.#shape(region, place, "other")),
      ...[...this.own, ...under].map((region) => this.#shape(region, place, "own")),
    ];
    if (this.tool !== null && this.cursor !== null) {
      const [x, y] = place(this.cursor);
      const arm = 12 / scale;
      shapes.push(draw("path", { class: "cross", d: `M ${x - arm} ${y} H ${x + arm} M ${x} ${y - arm} V ${y + arm}` }));
    }
    this.layer.setAttribute("viewBox", `0 0 ${frame.clientWidth || 1} ${frame.clientHeight || 1}`);
    this.layer.setAttribute("aria-label", t("mark.count", { n: this.own.length + this.others.length }));
    this.layer.classList.toggle("away", this.zoom.shown !== this.zoom.item);
    this.layer.replaceChildren(...shapes);
    this.back.disabled = this.own.length === 0;
  }

  #shape({ shape, points, radius }, place, kind) {
    const corners = points.map(place);
    const box = this.#box();
    if (shape === "point") return draw("circle", { class: kind, cx: corners[0][0], cy: corners[0][1], r: DOT / this.zoom.scale });
    if (shape === "box") {
      const [[x1, y1], [x2, y2]] = [corners[0], corners.at(-1)];
      return draw("rect", { class: kind, x: Math.min(x1, x2), y: Math.min(y1, y2), width: Math.abs(x2 - x1), height: Math.abs(y2 - y1) });
    }
    const path = corners.map((corner) => corner.join(",")).join(" ");
    if (shape === "polygon") return draw("polygon", { class: kind, points: path });
    const wide = Math.max(2, 2 * radius * Math.min(box.width, box.height));
    return draw("polyline", { class: `${kind} stroke`, points: corners.length > 1 ? path : `${path} ${path}`, "stroke-width": wide });
  }
}

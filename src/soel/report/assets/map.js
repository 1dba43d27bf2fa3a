// The map: every item a dot, drawn pixel by pixel into one image. No library, no generated code: 100,000 dots
// take a few milliseconds, so that dragging stays smooth on any machine.

const MARGIN = 0.06;
const NEAR = 14; // pixels within which a click means a dot

const rgb = (text) => [1, 3, 5].map((at) => parseInt(text.trim().slice(at, at + 2), 16));

export class PointMap {
  // onPick(row); a canvas has one map for good, and `show` gives it other points
  constructor(canvas, onPick) {
    Object.assign(this, { canvas, onPick, queued: false, ratio: window.devicePixelRatio || 1 });
    this.context = canvas.getContext("2d", { alpha: false });
    this.show({ x: new Float32Array(), y: new Float32Array(), score: new Float32Array() }, []);
    this.#listen();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
    new ResizeObserver(() => this.#resize()).observe(canvas);
    this.#paint();
  }

  // arrays: {x, y, score}; labelled: [{row, verdict}]
  show(arrays, labelled) {
    Object.assign(this, { ...arrays, labelled, picked: null });
    this.order = Uint32Array.from(this.x.keys()).sort((a, b) => this.score[a] - this.score[b]); // high scores on top
    this.shade = this.#shades();
    this.showAll();
  }

  // A shade by rank: half of the scale is for the highest tenth, which is what one looks for.
  #shades() {
    const shade = new Uint8Array(this.order.length);
    const last = Math.max(1, this.order.length - 1);
    this.order.forEach((row, at) => {
      const rank = at / last;
      shade[row] = Math.round(255 * (rank < 0.9 ? (0.5 * rank) / 0.9 : 0.5 + 5 * (rank - 0.9)));
    });
    return shade;
  }

  #paint() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const stops = [0, 1, 2, 3].map((at) => rgb(colour(`--scale-${at}`)));
    const pack = ([r, g, b]) => (255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
    this.palette = Uint32Array.from({ length: 256 }, (_, at) => {
      const place = (at / 255) * 3;
      const low = Math.min(2, Math.floor(place));
      return pack(stops[low].map((value, c) => value + (stops[low + 1][c] - value) * (place - low)));
    });
    this.ground = pack(rgb(colour("--surface")));
    this.colours = Object.fromEntries(["normal", "anomaly", "ink", "surface"].map((name) => [name, colour(`--${name}`)]));
    this.render();
  }

  #resize() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((side) => Math.max(1, Math.round(side * ratio)));
    if (width === this.canvas.width && height === this.canvas.height) return;
    Object.assign(this.canvas, { width, height });
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.ratio = ratio;
    this.showAll();
  }

  showAll() {
    const range = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
    const [[left, right], [bottom, top]] = [range(this.x), range(this.y)];
    const pad = 1 + 2 * MARGIN;
    const fit = (space, extent) => space / (pad * (extent || 1));
    this.scaleX = fit(this.canvas.width, right - left);
    this.scaleY = fit(this.canvas.height, top - bottom);
    this.moveX = this.canvas.width / 2 - ((left + right) / 2) * this.scaleX;
    this.moveY = this.canvas.height / 2 + ((top + bottom) / 2) * this.scaleY;
    this.render();
  }

  render() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      if (!this.pixels) return;
      const start = performance.now();
      this.#dots();
      this.#marks();
      this.canvas.dispatchEvent(new CustomEvent("drawn", { detail: performance.now() - start }));
    });
  }

  #dots() {
    const { pixels, x, y, scaleX, scaleY, moveX, moveY, shade, palette } = this;
    const { width, height } = this.canvas;
    const size = Math.max(2, Math.round((this.x.length > 20000 ? 2 : this.x.length > 3000 ? 4 : 6) * this.ratio));
    pixels.fill(this.ground);
    for (const row of this.order) {
      const left = (x[row] * scaleX + moveX - size / 2) | 0;
      const top = (moveY - y[row] * scaleY - size / 2) | 0;
      if (left < 0 || top < 0 || left + size >= width || top + size >= height) continue;
      const colour = palette[shade[row]];
      for (let line = top; line < top + size; line += 1) pixels.fill(colour, line * width + left, line * width + left + size);
    }
    this.context.putImageData(this.image, 0, 0);
  }

  #at(row) {
    return [this.x[row] * this.scaleX + this.moveX, this.moveY - this.y[row] * this.scaleY];
  }

  #marks() {
    const { context, ratio } = this;
    const half = 6 * ratio;
    context.lineWidth = 2 * ratio;
    for (const { row, verdict } of this.labelled) {
      const [x, y] = this.#at(row);
      context.beginPath();
      if (verdict === "anomaly") context.lineTo(x, y - half), context.lineTo(x + half, y + half), context.lineTo(x - half, y + half);
      else context.rect(x - half, y - half, 2 * half, 2 * half);
      context.closePath();
      context.strokeStyle = this.colours.surface;
      context.fillStyle = this.colours[verdict];
      context.fill();
      context.stroke();
    }
    if (this.picked === null) return;
    const [x, y] = this.#at(this.picked);
    context.beginPath();
    context.arc(x, y, 10 * ratio, 0, 7);
    context.strokeStyle = this.colours.ink;
    context.stroke();
  }

  nearest(x, y, within = NEAR * this.ratio) {
    let [best, row] = [within ** 2, null];
    for (let at = 0; at < this.x.length; at += 1) {
      const [dx, dy] = [this.x[at] * this.scaleX + this.moveX - x, this.moveY - this.y[at] * this.scaleY - y];
      const away = dx * dx + dy * dy;
      if (away < best) [best, row] = [away, at];
    }
    return row;
  }

  pick(row) {
    this.picked = row;
    this.render();
    if (row !== null) this.onPick(row);
  }

  zoom(factor, x = this.canvas.width / 2, y = this.canvas.height / 2) {
    this.scaleX *= factor;
    this.scaleY *= factor;
    this.moveX = x - (x - this.moveX) * factor;
    this.moveY = y - (y - this.moveY) * factor;
    this.render();
  }

  pan(dx, dy) {
    this.moveX += dx;
    this.moveY += dy;
    this.render();
  }

  #listen() {
    const { canvas } = this;
    const held = new Map(); // pointers that are down, by id
    let moved = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left) * this.ratio, (event.clientY - box.top) * this.ratio];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, place(event));
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held.has(event.pointerId)) return;
      const [before, now] = [held.get(event.pointerId), place(event)];
      held.set(event.pointerId, now);
      moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      if (held.size === 1) return this.pan(now[0] - before[0], now[1] - before[1]);
      const [other] = [...held].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
      this.zoom(apart(now) / apart(before), other[0], other[1]);
    });
    const release = (event) => {
      held.delete(event.pointerId);
      if (event.type === "pointerup" && moved < 5 * this.ratio) this.pick(this.nearest(...place(event)));
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 500), ...place(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 40 * this.ratio;
      const keys = {
        ArrowLeft: () => this.pan(step, 0), ArrowRight: () => this.pan(-step, 0),
        ArrowUp: () => this.pan(0, step), ArrowDown: () => this.pan(0, -step),
        "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), 0: () => this.showAll(),
        Enter: () => this.pick(this.nearest(canvas.width / 2, canvas.height / 2, Infinity)),
      };
      if (!(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}

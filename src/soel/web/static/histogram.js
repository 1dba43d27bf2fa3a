// The scores as bars with a threshold to drag, by mouse, finger or arrow keys.

import { draw } from "./dom.js";
import { figures, t } from "./text.js";

const HEIGHT = 240;
const FLOOR = 190; // where the bars stand; ticks of labelled items below
const MOST_BARS = 60;

export class Histogram {
  // onMove(threshold) after each move by hand
  constructor(place, onMove) {
    Object.assign(this, { place, onMove });
    new ResizeObserver(() => this.scores && this.render()).observe(place);
  }

  // scores: Float32Array; labelled: [{row, verdict}]
  show(scores, labelled) {
    Object.assign(this, { scores, labelled });
    this.sorted = Float32Array.from(scores).sort();
    this.low = this.sorted[0];
    this.high = this.#end();
    if (this.high <= this.low) [this.low, this.high] = [this.low - 0.5, this.low + 0.5];
    this.set(this.high);
  }

  // A few very high scores must not squeeze all others: the axis then ends earlier.
  #end() {
    const n = this.sorted.length;
    const top = this.sorted[n - 1];
    const most = this.sorted[Math.floor(0.99 * (n - 1))];
    return top - this.low > 3 * (most - this.low) && most > this.low ? this.low + 1.6 * (most - this.low) : top;
  }

  alarmsAbove(threshold) {
    let [from, to] = [0, this.sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.sorted[middle] > threshold) to = middle;
      else from = middle + 1;
    }
    return this.sorted.length - from;
  }

  // A threshold that n scores lie above, halfway to the next one.
  thresholdFor(n) {
    const size = this.sorted.length;
    const margin = (score) => 1e-6 * Math.max(1, Math.abs(score)); // the server has more digits
    if (n <= 0) return this.sorted[size - 1] + margin(this.sorted[size - 1]);
    if (n >= size) return this.sorted[0] - margin(this.sorted[0]);
    return (this.sorted[size - n] + this.sorted[size - n - 1]) / 2;
  }

  set(threshold) {
    this.threshold = threshold;
    this.render();
  }

  #x(score) {
    return 8 + ((Math.min(score, this.high) - this.low) / (this.high - this.low)) * (this.width - 16);
  }

  #score(x) {
    const score = this.low + ((x - 8) / (this.width - 16)) * (this.high - this.low);
    return Math.min(this.high, Math.max(this.low, score));
  }

  render() {
    this.width = Math.max(200, this.place.clientWidth);
    if (!this.svg) this.#build();
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.bars.replaceChildren(...this.#bars(), ...this.#ticks(), ...this.#axis());
    const x = this.#x(this.threshold);
    this.handle.setAttribute("transform", `translate(${x.toFixed(1)} 0)`);
    this.handle.setAttribute("aria-valuenow", this.threshold.toPrecision(4));
    this.handle.setAttribute("aria-valuemin", this.low.toPrecision(4));
    this.handle.setAttribute("aria-valuemax", this.high.toPrecision(4));
    this.handle.setAttribute("aria-valuetext", t("histogram.value", { score: figures(this.threshold), n: this.alarmsAbove(this.threshold) }));
  }

  #bars() {
    const n = Math.min(MOST_BARS, Math.max(12, Math.ceil(4 * Math.cbrt(this.sorted.length))));
    const heights = new Array(n).fill(0);
    const scale = n / (this.high - this.low);
    for (const score of this.sorted) heights[Math.min(n - 1, Math.max(0, Math.floor((score - this.low) * scale)))] += 1;
    const highest = Math.max(...heights);
    const tall = (height) => (highest > 200 ? Math.log1p(height) / Math.log1p(highest) : height / highest) * (FLOOR - 30);
    this.isLog = highest > 200;
    const cut = this.#x(this.threshold);
    return heights.flatMap((height, at) => {
      const [left, right] = [this.#x(this.low + at / scale) + 0.5, this.#x(this.low + (at + 1) / scale) - 0.5];
      const shape = { y: FLOOR - tall(height), height: tall(height) };
      const middle = Math.min(right, Math.max(left, cut));
      return [["below", left, middle], ["above", middle, right]]
        .filter(([, from, to]) => to > from && height > 0)
        .map(([name, from, to]) => draw("rect", { class: name, x: from, width: to - from, ...shape }));
    });
  }

  #ticks() {
    return this.labelled.map(({ row, verdict }) => {
      const x = this.#x(this.scores[row]);
      const y = verdict === "anomaly" ? FLOOR + 4 : FLOOR + 16;
      return draw("line", { class: `tick-${verdict}`, x1: x, x2: x, y1: y, y2: y + 10 });
    });
  }

  #axis() {
    const text = (x, anchor, words) => draw("text", { x, y: HEIGHT - 6, "text-anchor": anchor }, words);
    return [
      draw("line", { class: "axis", x1: 8, x2: this.width - 8, y1: FLOOR, y2: FLOOR }),
      text(8, "start", figures(this.low, 3)),
      text(this.width / 2, "middle", t(this.isLog ? "histogram.log" : "histogram.score")),
      text(this.width - 8, "end", this.high < this.sorted.at(-1) ? t("histogram.and_more", { score: figures(this.high, 3) }) : figures(this.high, 3)),
    ];
  }

  #build() {
    this.svg = draw("svg", { preserveAspectRatio: "none" });
    this.bars = draw("g", { "aria-hidden": "true" });
    this.handle = draw(
      "g",
      { class: "handle", role: "slider", tabindex: "0", "aria-label": t("histogram.threshold"), "aria-orientation": "horizontal" },
      draw("rect", { class: "catch", x: -16, y: 0, width: 32, height: FLOOR + 10 }),
      draw("line", { x1: 0, x2: 0, y1: 12, y2: FLOOR + 4 }),
      draw("rect", { class: "grip", x: -7, y: 0, width: 14, height: 24, rx: 4 }),
    );
    this.svg.append(this.bars, this.handle);
    this.place.replaceChildren(this.svg);
    this.#listen();
  }

  #listen() {
    const move = (event) => this.#byHand(this.#score(event.clientX - this.svg.getBoundingClientRect().left));
    this.handle.addEventListener("pointerdown", (event) => {
      this.handle.setPointerCapture(event.pointerId);
      this.handle.addEventListener("pointermove", move);
      event.preventDefault();
      this.handle.focus();
    });
    for (const name of ["pointerup", "pointercancel"]) {
      this.handle.addEventListener(name, () => this.handle.removeEventListener("pointermove", move));
    }
    this.handle.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: 1, ArrowDown: 1, ArrowRight: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
      if (!(event.key in steps)) return;
      event.preventDefault(); // one alarm more or fewer per key
      const n = this.alarmsAbove(this.threshold) + steps[event.key];
      this.#byHand(this.thresholdFor(Math.min(this.sorted.length, Math.max(0, n))));
    });
  }

  #byHand(threshold) {
    this.set(threshold);
    this.onMove(threshold);
  }
}

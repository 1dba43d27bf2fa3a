// The threshold over the histogram that the server drew: to drag by mouse or finger, or to move by arrow keys.

import { find } from "./dom.js";
import { figures, t } from "./text.js";

export class Histogram {
  // low, high: the ends of the axis; onMove(threshold) after each move by hand
  constructor(handle, { low, high }, onMove) {
    Object.assign(this, { handle, onMove, low: Number(low), high: Number(high), sorted: new Float32Array() });
    this.#listen();
  }

  // scores: Float32Array
  show(scores, threshold) {
    this.sorted = Float32Array.from(scores).sort();
    this.set(threshold);
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
    const share = Math.min(1, Math.max(0, (threshold - this.low) / (this.high - this.low)));
    this.handle.setAttribute("x", `${100 * share}%`);
    find("above-line").setAttribute("x", 1000 * share);
    const shown = Math.min(threshold, this.high);
    for (const [name, value] of Object.entries({ now: shown, min: Math.min(this.low, shown), max: this.high })) this.handle.setAttribute(`aria-value${name}`, value.toPrecision(4));
    this.handle.setAttribute("aria-valuetext", t("histogram.value", { score: figures(shown), n: this.alarmsAbove(threshold) }));
  }

  #listen() {
    const plot = this.handle.parentElement;
    const move = (event) => {
      const box = plot.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      this.#byHand(this.low + share * (this.high - this.low));
    };
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
    if (!this.sorted.length) return; // the scores are on their way
    this.set(threshold);
    this.onMove(threshold);
  }
}

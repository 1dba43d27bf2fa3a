// Clips over time: the score of each frame, what raises an alarm from when to when, and a way to the frame.

import { apart, draw, find, imageAddress, itemLink, make } from "./dom.js";
import { read } from "./sync.js";
import { figures, t } from "./text.js";

const [WIDTH, HEIGHT, PAD] = [1000, 120, 8];
const PAGE = 10; // frames that a page key goes on by
let hasMaps = false;

const clock = (seconds) => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;

// Draws all clips anew at this threshold; nothing where items are no frames.
export async function showTimeline(threshold) {
  const clips = await read("timeline", "/api/timeline", { threshold });
  if (clips === null) return; // another threshold is wanted by now
  find("timeline-panel").hidden = clips.length === 0;
  if (clips.length === 0) return;
  if (find("download-intervals")) find("download-intervals").href = `/api/intervals.csv?${new URLSearchParams({ threshold })}`;
  hasMaps = (await read("maps", "/api/maps"))?.has_maps ?? hasMaps;
  find("timeline").replaceChildren(...clips.map((clip) => line(clip, threshold)));
  find("timeline-no-maps").hidden = hasMaps;
}

function line({ clip, frames, events }, threshold) {
  const [first, last] = [frames[0].second, frames.at(-1).second];
  const scores = frames.map(({ score }) => score);
  const [low, high] = [Math.min(threshold, ...scores), Math.max(threshold, ...scores)];
  const x = (second) => PAD + ((WIDTH - 2 * PAD) * (second - first)) / (last - first || 1);
  const y = (score) => HEIGHT - PAD - ((HEIGHT - 2 * PAD) * (score - low)) / (high - low || 1);
  const step = (last - first) / Math.max(1, frames.length - 1);
  const cursor = draw("line", { class: "now", y1: 0, y2: HEIGHT, x1: -9, x2: -9 });
  const picture = draw("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", tabindex: "0", role: "slider", "aria-label": t("timeline.label", { clip, n: events.length }), "aria-valuemin": 0, "aria-valuemax": frames.length - 1, "aria-valuenow": 0, "aria-valuetext": clock(first) });
  for (const { start, end } of events) {
    picture.append(draw("rect", { class: "event", x: x(start - step / 2), width: x(end + step / 2) - x(start - step / 2), y: 0, height: HEIGHT }));
  }
  picture.append(draw("line", { class: "cut", x1: 0, x2: WIDTH, y1: y(threshold), y2: y(threshold) }));
  picture.append(draw("polyline", { class: "scores", points: frames.map(({ second, score }) => `${x(second)},${y(score)}`).join(" ") }), cursor);
  let at = 0; // the frame that is shown
  const jump = (frame) => {
    for (const each of document.querySelectorAll(".timeline .now")) ["x1", "x2"].forEach((end) => each.setAttribute(end, -9));
    ["x1", "x2"].forEach((end) => cursor.setAttribute(end, x(frame.second)));
    at = nearest(frame.second);
    picture.setAttribute("aria-valuenow", at);
    picture.setAttribute("aria-valuetext", clock(frame.second));
    showFrame(clip, frame);
  };
  const nearest = (second) => frames.reduce((best, frame, row) => (Math.abs(frame.second - second) < Math.abs(frames[best].second - second) ? row : best), 0);
  picture.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - PAGE, PageUp: at + PAGE, Home: 0, End: frames.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    jump(frames[Math.min(frames.length - 1, Math.max(0, to))]);
  });
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    const second = first + ((((event.clientX - box.left) / box.width) * WIDTH - PAD) / (WIDTH - 2 * PAD)) * (last - first);
    jump(frames[nearest(second)]);
  });
  const buttons = [...events].sort((one, other) => one.start - other.start).map((event) => {
    const words = t("timeline.event", { start: clock(event.start), end: clock(event.end), peak: clock(event.peak) });
    return make("li", {}, make("button", { type: "button", onclick: () => jump({ item: event.item, second: event.peak, score: event.score }) }, words));
  });
  return make("div", { class: "clip" }, make("h3", { class: "group-title" }, apart(clip), ` ${clock(first)}–${clock(last)}`), picture, make("ul", { class: "events" }, ...buttons));
}

function showFrame(clip, { item, second, score }) {
  const image = make("img", { class: "map-picture", src: imageAddress(item, 512, hasMaps), alt: t("timeline.frame", { clip, time: clock(second) }) });
  image.addEventListener("error", () => (image.src = imageAddress(item, 512)), { once: true }); // not to be seen yet
  find("timeline-frame").replaceChildren(
    make("h3", {}, itemLink({ item, title: `${clip} ${clock(second)}`, kind: "table" })),
    make("p", { class: "muted small" }, t("results.score", { score: figures(score) })),
    image,
  );
  find("timeline-frame").scrollIntoView({ block: "nearest" });
}

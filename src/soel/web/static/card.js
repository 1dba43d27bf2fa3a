// One item, big and clear: a row of a table, a picture, or a frame with the seconds around it.

import { apart, draw, imageAddress, make } from "./dom.js";
import { Zoom } from "./zoom.js";

const WIDTH = 200;
const HEIGHT = 30;

export function strip(shape, name) {
  const place = shape.mark === null ? "missing" : `at ${Math.round(100 * shape.mark)} %`;
  const range = `from ${shape.low} to ${shape.high}`;
  const picture = draw("svg", {
    class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${name}: ${place} of the range ${range}`,
  }, draw("title", {}, `How ${name} is spread, ${range}`));
  const width = WIDTH / shape.bars.length;
  shape.bars.forEach((height, at) => {
    const tall = height * (HEIGHT - 8);
    picture.append(draw("rect", { x: at * width + 0.5, y: HEIGHT - tall, width: width - 1, height: tall }));
  });
  picture.append(draw("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }));
  if (shape.mark !== null) {
    const x = Math.min(WIDTH - 2, Math.max(2, shape.mark * WIDTH));
    picture.append(draw("line", { class: "mark", x1: x, x2: x, y1: 3, y2: HEIGHT }));
    picture.append(draw("path", { class: "head", d: `M ${x - 4} 0 L ${x + 4} 0 L ${x} 7 Z` }));
  }
  return picture;
}

export function fieldList(fields) {
  const list = make("ul", { class: "fields" });
  for (const field of fields) {
    list.append(
      make(
        "li",
        { class: field.stands_out ? "field out" : "field" },
        make("span", { class: "name" }, apart(field.name)),
        make("span", { class: "value" }, apart(field.value)),
        make("span", { class: "strip-cell" }, ...(field.strip ? [strip(field.strip, field.name)] : [])),
        make("span", { class: "words" }, field.words),
      ),
    );
  }
  return list;
}

function row(item) {
  const n = item.n_standing_out;
  const parts = [];
  if (n > 0) {
    parts.push(make("h3", { class: "group-title" }, n === 1 ? "This value stands out" : `These ${n} values stand out`));
    parts.push(fieldList(item.fields.slice(0, n)));
  }
  if (n < item.fields.length) {
    parts.push(make("h3", { class: "group-title" }, n > 0 ? "The others are as usual" : "All values are as usual"));
    parts.push(fieldList(item.fields.slice(n)));
  }
  return parts;
}

// Small pictures; one that is chosen takes the place of the large one until it is chosen again.
function thumbs(title, entries) {
  if (!entries.length) return [];
  const list = make("ul", { class: "thumbs" });
  for (const { item, caption, kind, words } of entries) {
    const image = make("img", { src: imageAddress(item, 256), alt: "", loading: "lazy" });
    const button = make("button", { type: "button", class: "thumb-button", title: words, "aria-pressed": "false", "aria-label": `Look at ${words}` }, image, caption);
    button.addEventListener("click", () => look(button, item, words));
    list.append(make("li", { class: kind }, button));
  }
  return [make("h3", { class: "group-title" }, title), list];
}

function look(button, item, words) {
  const isOther = button.getAttribute("aria-pressed") === "false" && item !== zoom.item;
  for (const each of document.querySelectorAll(".thumb-button")) each.setAttribute("aria-pressed", String(isOther && each === button));
  zoom.show(isOther ? item : null, words);
}

function frameEntry({ item, seconds }) {
  const away = `${Math.abs(seconds).toFixed(1)} s`;
  if (seconds === 0) return { item, caption: "now", kind: "now", words: "this frame" };
  const [sign, when] = seconds > 0 ? ["+", "later"] : ["−", "earlier"];
  return { item, caption: `${sign}${away}`, kind: "", words: `the frame ${away} ${when}` };
}

let zoom = null; // of the picture on the page

// A key that zooms the picture on the page; says whether it was one.
export const zoomKey = (key) => zoom !== null && zoom.key(key);

function media(item) {
  zoom = new Zoom(item.item, `Picture ${item.title}`);
  const near = item.neighbours.map(({ item, title, verdict }) => ({ item, caption: verdict, kind: verdict, words: `${title}, labelled ${verdict}` }));
  const alike = make("div", { class: "alike" }, ...thumbs("Most alike among the labelled", near));
  return [make("div", { class: "look" }, zoom.frame, zoom.tools, alike), ...thumbs("The seconds around it", item.frames.map(frameEntry))];
}

export const body = (item) => (item.kind === "table" ? row(item) : media(item));

export function summary(item) {
  if (item.kind !== "table") return `${item.title}.`;
  const out = item.fields.slice(0, item.n_standing_out).map((field) => `${field.name} ${field.value}`);
  return out.length ? `${item.title}. Stands out: ${out.join(", ")}.` : `${item.title}. All values are as usual.`;
}

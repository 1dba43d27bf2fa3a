// One item, big and clear: a row of a table, a picture, or a frame with the seconds around it.

import { apart, draw, imageAddress, make } from "./dom.js";

const WIDTH = 200;
const HEIGHT = 30;

export function strip(shape, name) {
  const label = shape.mark === null ? `${name}: no mark` : `${name}: at ${Math.round(100 * shape.mark)} % of the range`;
  const picture = draw("svg", {
    class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${label} from ${shape.low} to ${shape.high}`,
  });
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

function picture(item) {
  const image = make("img", { class: "picture", src: imageAddress(item.item, 1024), alt: `Picture ${item.title}` });
  const button = make("button", { type: "button", class: "picture-button", "aria-label": "Zoom", "aria-pressed": "false" }, image);
  button.addEventListener("click", () => {
    const zoomed = button.classList.toggle("zoomed");
    button.setAttribute("aria-pressed", String(zoomed));
    if (zoomed) image.src = imageAddress(item.item, 2048);
  });
  return button;
}

function thumbs(title, entries) {
  if (!entries.length) return [];
  const list = make("ul", { class: "thumbs" });
  for (const { item, caption, kind } of entries) {
    list.append(make("li", { class: kind }, make("img", { src: imageAddress(item, 256), alt: caption, loading: "lazy" }), caption));
  }
  return [make("h3", { class: "group-title" }, title), list];
}

export function body(item) {
  if (item.kind === "table") return row(item);
  const seconds = (value) => (value === 0 ? "now" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(1)} s`);
  const around = item.frames.map((frame) => ({ item: frame.item, caption: seconds(frame.seconds), kind: frame.seconds === 0 ? "now" : "" }));
  const near = item.neighbours.map((each) => ({ item: each.item, caption: each.verdict, kind: each.verdict }));
  return [picture(item), ...thumbs("The seconds around it", around), ...thumbs("Most alike among what is labelled", near)];
}

export function summary(item) {
  if (item.kind !== "table") return `${item.title}.`;
  const out = item.fields.slice(0, item.n_standing_out).map((field) => `${field.name} ${field.value}`);
  return out.length ? `${item.title}. Stands out: ${out.join(", ")}.` : `${item.title}. All values are as usual.`;
}

// One item, big and clear: a row of a table, a picture, or a frame with the seconds around it.

import { apart, draw, imageAddress, make, say } from "./dom.js";
import { Marks } from "./marks.js";
import { read } from "./sync.js";
import { figures, t } from "./text.js";
import { Zoom } from "./zoom.js";

const WIDTH = 200;
const HEIGHT = 30;

export function strip(shape, name) {
  const { low, high } = shape;
  const place = shape.mark === null ? "" : `${Math.round(100 * shape.mark)} %`;
  const words = t(shape.mark === null ? "card.strip_missing" : "card.strip", { name, place, low, high });
  const picture = draw("svg", {
    class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": words,
  }, draw("title", {}, t("card.strip_title", { name, low, high })));
  const width = WIDTH / shape.bars.length;
  shape.bars.forEach((height, at) => {
    const tall = height * (HEIGHT - 8);
    picture.append(draw("rect", { x: at * width + 0.5, y: HEIGHT - tall, width: width - 1, height: tall }));
  });
  picture.append(draw("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }));
  if (shape.usual !== null) {
    const x = shape.usual * WIDTH;
    picture.append(draw("line", { class: "usual", x1: x, x2: x, y1: 3, y2: HEIGHT }));
  }
  if (shape.mark !== null) {
    const x = Math.min(WIDTH - 2, Math.max(2, shape.mark * WIDTH));
    picture.append(draw("line", { class: "mark", x1: x, x2: x, y1: 3, y2: HEIGHT }));
    picture.append(draw("path", { class: "head", d: `M ${x - 4} 0 L ${x + 4} 0 L ${x} 7 Z` }));
  }
  return picture;
}

const KEYS = 9; // values that have a key: those of a group, which the Tab key goes through
let because = null; // the names of values that were pressed on the item of the page; null where none can be

// The names that were pressed; null where none can be.
export const named = () => (because === null ? null : [...because.names]);

// A digit presses a value of the group that has the focus, else of the first; says whether it was one.
export function valueKey(key) {
  const lists = [...document.querySelectorAll(".pressable")];
  const held = lists.find((list) => list.contains(document.activeElement)) ?? lists[0];
  const button = /^[1-9]$/.test(key) ? held?.querySelectorAll(".press")[Number(key) - 1] : undefined;
  button?.click();
  return button !== undefined;
}

// Goes from the first group, which has the digits while nothing has the focus, to the second; says whether there is one.
export function groupKey() {
  const next = document.activeElement === document.body ? document.querySelectorAll(".pressable")[1] : undefined;
  next?.focus();
  return next !== undefined;
}

function press(name) {
  if (!because.names.delete(name)) because.names.add(name);
  const isIn = because.names.has(name);
  for (const each of document.querySelectorAll(".press")) if (each.dataset.name === name) each.setAttribute("aria-pressed", String(isIn));
  say(t(isIn ? "because.pressed" : "because.released", { name }));
  because.onPress(named());
}

// A value's name; on the label page a button, which says that the value is why, or is fine.
function nameOf(field, key, isPressable) {
  if (!isPressable) return make("span", { class: "name" }, apart(field.name));
  const attributes = { type: "button", class: "name press", tabindex: -1, "data-name": field.name, title: t("because.press"), "aria-pressed": String(because.names.has(field.name)), "aria-keyshortcuts": String(key) };
  return make("button", { ...attributes, onclick: () => press(field.name) }, make("kbd", { "aria-hidden": "true" }, String(key)), apart(field.name));
}

// Values in groups of as many as there are digits.
const pressable = (fields) => fields.flatMap((_, at) => (at % KEYS ? [] : [
  make("div", { class: "pressable", role: "group", tabindex: 0, "aria-label": t("because.group") }, fieldList(fields.slice(at, at + KEYS), true)),
]));

export function fieldList(fields, isPressable = false) {
  const list = make("ul", { class: "fields" });
  for (const [at, field] of fields.entries()) {
    list.append(
      make(
        "li",
        { class: field.stands_out ? "field out" : "field" },
        nameOf(field, at + 1, isPressable),
        make("span", { class: "value" }, apart(field.value)),
        make("span", { class: "strip-cell" }, ...(field.strip ? [strip(field.strip, field.name)] : [])),
        make("span", { class: "words" }, field.words),
      ),
    );
  }
  return list;
}

function groups({ fields, n_standing_out: n }) {
  const parts = [];
  const list = (some) => (because === null ? [fieldList(some)] : pressable(some));
  if (n > 0) parts.push(make("h3", { class: "group-title" }, t("card.out", { n })), ...list(fields.slice(0, n)));
  if (n < fields.length) parts.push(make("h3", { class: "group-title" }, t(n > 0 ? "card.others" : "card.usual")), ...list(fields.slice(n)));
  return parts;
}

// A row; a wide one is folded, and its values are found by name.
function row(item) {
  const place = make("div", {}, ...groups(item));
  if (item.n_fields <= item.fields.length) return [place];
  const count = make("p", { class: "muted small", role: "status" }, t("card.found", { n: item.fields.length, total: item.n_fields }));
  const find = async (search, most) => {
    const found = await read("fields", "/api/item", { id: item.item, search, most });
    if (found === null) return; // more was typed meanwhile
    place.replaceChildren(...groups(found));
    count.textContent = t("card.found", { n: found.fields.length, total: item.n_fields });
  };
  const input = make("input", { type: "search", class: "field-search", placeholder: t("card.search"), "aria-label": t("card.search"), maxlength: 200 });
  input.addEventListener("input", () => find(input.value, 30));
  const all = make("button", { type: "button", onclick: () => find(input.value, 5000) }, t("card.more", { n: item.n_fields }));
  return [make("p", { class: "buttons" }, input, all), count, place];
}

// Small pictures; one that is chosen takes the place of the large one until it is chosen again.
function thumbs(title, entries) {
  if (!entries.length) return [];
  const list = make("ul", { class: "thumbs" });
  for (const { item, caption, kind, words } of entries) {
    const image = make("img", { src: imageAddress(item, 256), alt: "", loading: "lazy" });
    const button = make("button", { type: "button", class: "thumb-button", title: words, "aria-pressed": "false", "aria-label": t("card.look", { what: words }) }, image, caption);
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
  if (seconds === 0) return { item, caption: t("card.now"), kind: "now", words: t("card.this_frame") };
  const away = figures(Math.abs(seconds), 2);
  const [sign, key] = seconds > 0 ? ["+", "card.later"] : ["−", "card.earlier"];
  return { item, caption: `${sign}${away} s`, kind: "", words: t(key, { seconds: away }) };
}

let zoom = null; // of the picture on the page
let marks = null; // drawn on it

// A key that zooms the picture on the page or chooses how to draw on it; says whether it was one.
export const pictureKey = (key) => zoom !== null && (zoom.key(key) || marks.key(key));

function media(item, mapped) {
  zoom = new Zoom(item.item, t("card.picture", { title: item.title }), item.has_map, mapped);
  marks = new Marks(zoom, item.marks);
  const near = item.neighbours.map(({ item, title, verdict }) => ({ item, caption: t(`said.${verdict}`), kind: verdict, words: t("card.labelled", { title, verdict: t(`said.${verdict}`) }) }));
  const alike = make("div", { class: "alike" }, ...thumbs(t("card.alike"), near));
  return [make("div", { class: "look" }, zoom.frame, make("div", { class: "picture-tools" }, zoom.tools, marks.tools), alike), ...thumbs(t("card.seconds"), item.frames.map(frameEntry))];
}

// mapped: whether unusual places are drawn from the beginning. onPress(names): a value was pressed, where it can be
export function body(item, mapped = false, onPress = null) {
  because = onPress === null || item.kind !== "table" ? null : { names: new Set(item.because), onPress };
  if (item.kind !== "table") return media(item, mapped);
  [zoom, marks] = [null, null];
  return row(item);
}

// A row beside the ordinary one nearest to it and the labelled one that it is most like; what would have to change first.
// onMore(): all values of a wide row are wanted
export function compared({ fields, n_fields: total, ordinary, alarm: { resembles } }, onMore) {
  [zoom, marks] = [null, null];
  const others = [...(ordinary ? [[t("alarms.ordinary"), ordinary]] : []), ...(resembles ? [[t(`verdict.${resembles.verdict}`), resembles]] : [])];
  const head = (words, more = []) => make("th", { scope: "col" }, words, ...more);
  const named = others.map(([words, { item, title }]) => head(words, [make("br"), make("a", { href: `/?${new URLSearchParams({ item })}` }, apart(title))]));
  const line = (field) => make(
    "tr",
    { class: field.changed ? "changed" : field.stands_out ? "out" : "" },
    make("th", { scope: "row" }, apart(field.name)),
    make("td", { class: "own", title: field.words }, apart(field.value)),
    ...field.others.map((value) => make("td", {}, apart(value))),
    make("td", { class: "strip-cell" }, ...(field.strip ? [strip(field.strip, field.name)] : [])),
  );
  const group = (title, rows) => (rows.length ? [make("tbody", {}, make("tr", {}, make("th", { class: "group-title", colspan: 3 + others.length, scope: "rowgroup" }, title)), ...rows.map(line))] : []);
  const [changed, rest] = [fields.filter((field) => field.changed), fields.filter((field) => !field.changed)];
  const top = make("thead", {}, make("tr", {}, head(t("alarms.column")), head(t("alarms.this")), ...named, make("th", { class: "strip-cell", scope: "col" }, t("alarms.spread"))));
  const table = make("table", { class: "compared" }, top, ...group(t("reason.title"), changed), ...group(t("alarms.others"), rest));
  const all = total > fields.length ? [make("p", { class: "buttons" }, make("button", { type: "button", onclick: onMore }, t("card.more", { n: total })))] : [];
  return [make("div", { class: "scroll" }, table), ...all];
}

export function summary(item) {
  if (item.kind !== "table") return `${item.title}.`;
  const out = item.fields.slice(0, item.n_standing_out).map((field) => `${field.name} ${field.value}`);
  return out.length ? t("card.summary_out", { title: item.title, values: out.join(", ") }) : t("card.summary_usual", { title: item.title });
}

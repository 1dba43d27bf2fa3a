// Small helpers. Text from data is only ever set as text.

import { t } from "./text.js";

export const find = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null) node.setAttribute(key, value);
  }
  node.append(...(name === "bdi" ? children : children.map(together)));
  return node;
}

// A number never parts from its percent sign, in our own words.
const together = (child) => (typeof child === "string" ? child.replaceAll(" %", "\u00a0%") : child);

export function draw(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// A page whose lists are filled in is shown when they are, so that nothing moves.
export const filled = () => delete find("main").dataset.filling;

export function say(text) {
  find("live").textContent = text;
}

let quiet = 0;
let said = ["", "quiet"]; // the newest that was said; shown once the server is there again
const unanswered = new Set(); // requests that wait to be sent again
// state: saved, saving, trouble or quiet
export function status(text, state) {
  said = [text, state];
  if (unanswered.size === 0) show(text, state);
}

function show(text, state) {
  const place = find("saved");
  if (!place) return;
  place.textContent = text;
  place.dataset.state = state;
  clearTimeout(quiet);
  if (state === "saved") quiet = setTimeout(() => status(text, "quiet"), 2500);
}

// What went wrong, seen and heard; somebody who is no longer signed in is led to the way in.
export function tell(error) {
  if (error.status === 401) return location.assign("/welcome");
  status(error.message, "trouble");
  say(error.message);
}

// Stays until each of the requests is answered: a page may be older than the server as long as one of them waits.
export function retrying(request, error) {
  unanswered.add(request);
  show(t("server.again", { error: error.message }), "trouble");
}

export function answered(request) {
  if (unanswered.delete(request) && unanswered.size === 0) show(...said);
}

export const SIGNS = { anomaly: "▲", normal: "■", unsure: "?", skip: "–", disagreement: "≠" };

// A person's words as an element of its own, so that its writing direction cannot leak.
export const apart = (text, attributes = {}) => make("bdi", attributes, text);

export const imageAddress = (item, size, map = false) => `/api/image?${new URLSearchParams({ id: item, size, ...(map ? { map } : {}) })}`;

// A link to an item by what people call it, with its picture where it has one.
export function itemLink({ item, title, kind }, mapped = false) {
  const picture = kind === "table" ? [] : [make("img", { class: mapped ? "thumb mapped" : "thumb", src: imageAddress(item, 256, mapped), alt: "", loading: "lazy" })];
  if (mapped) picture[0]?.addEventListener("error", () => (picture[0].src = imageAddress(item, 256)), { once: true }); // not to be seen yet
  return make("a", { class: "item-link", href: `/?${new URLSearchParams({ item })}` }, ...picture, apart(title));
}

// Buttons for anomaly and normal; `given` is the answer that holds.
export function choices(title, given, onChoose, verdicts = ["anomaly", "normal"]) {
  const group = make("span", { class: verdicts.length > 2 ? "choices four" : "choices", role: "group", "aria-label": t("review.answer_for", { title }) });
  for (const verdict of verdicts) {
    const kind = verdict in { anomaly: 1, normal: 1 } ? verdict : "aside";
    const button = make(
      "button",
      { type: "button", class: `answer ${kind}`, "data-verdict": verdict, "aria-pressed": String(verdict === given) },
      make("span", { "aria-hidden": "true" }, SIGNS[verdict]),
      t(`verdict.${verdict}`),
    );
    button.addEventListener("click", () => onChoose(verdict, group));
    group.append(button);
  }
  return group;
}

// Tells of an answer that is stored, seen and heard.
export function stored(title, verdict) {
  const said = { title, verdict: t(`said.${verdict}`) };
  status(t("saved.item", said), "saved");
  say(t("saved.spoken", said));
}

export function press(group, verdict) {
  for (const button of group.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
  }
}

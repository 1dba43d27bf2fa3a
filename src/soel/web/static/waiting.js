// The panel that shows what the machine is doing while nobody can label.

import { find, make } from "./dom.js";
import { t } from "./text.js";

const KNOWN = ["ask", "check", "unsure", "fit", "look", "add"];

export function showWork(work, buttons = []) {
  const running = work !== null && work.running;
  const known = KNOWN.includes(work?.what);
  find("waiting-title").textContent = t(work?.error ? "work.stopped" : known ? `work.${work.what}` : "work.other");
  find("waiting-words").textContent = work?.error || (known ? t(`work.${work.what}_words`) : "");
  showBar(running ? work : null);
  setButtons(buttons);
}

export function showWords(title, words, buttons = []) {
  find("waiting-title").textContent = title;
  find("waiting-words").textContent = words;
  find("waiting-bar").hidden = true;
  setButtons(buttons);
}

export function showBar(work) {
  const bar = find("waiting-bar");
  bar.hidden = work === null;
  if (work !== null && work.total > 0) {
    bar.max = work.total;
    bar.value = work.done;
  } else {
    bar.removeAttribute("value");
  }
}

export function setButtons(buttons) {
  const row = find("waiting-buttons");
  const key = JSON.stringify(buttons.map(([text, target]) => [text, String(target)]));
  if (row.dataset.key === key) return; // the same buttons keep the focus
  row.dataset.key = key;
  row.replaceChildren(...buttons.map(makeButton));
}

function makeButton([text, target], at) {
  const look = at === 0 ? "primary" : "";
  if (typeof target === "string") return make("a", { class: `button ${look}`, href: target }, text);
  return make("button", { type: "button", class: look, onclick: target }, text);
}

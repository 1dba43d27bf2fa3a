// The panel that shows what the machine is doing while nobody can label.

import { find, make } from "./dom.js";

const TITLES = { ask: "Preparing the items", fit: "Learning from your answers", look: "Looking at the data with the last model" };
const WORDS = {
  ask: "The detector looks at the data and chooses what to ask you about. You can close this page meanwhile.",
  fit: "The results open by themselves. You can review your decisions meanwhile, or close this page: nothing is lost.",
  look: "The results open by themselves.",
};

export function showWork(work, buttons = []) {
  const running = work !== null && work.running;
  find("waiting-title").textContent = work?.error ? "The work stopped early" : (TITLES[work?.what] ?? "One moment");
  find("waiting-words").textContent = work?.error || (WORDS[work?.what] ?? "");
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

// The labelling page: one key, one decision, on to the next.

import { ApiError, get, persist, post, tab, wait } from "./api.js";
import { body, summary } from "./card.js";
import { find, make, say, status } from "./dom.js";
import { showWords, showWork } from "./waiting.js";

const KEYS = { a: "anomaly", n: "normal", u: "unsure", s: "skip" };
const DONE = { anomaly: "anomaly", normal: "normal", unsure: "unsure", skip: "skipped" };
let desk = null; // where the session stands
let current = null; // the item on the page
let chosen = null; // an item the expert went back to; null follows the open ones
let busy = true;
let trained = false; // whether this page saw a training

const trouble = (error) => status(`${error.message} Trying again …`, "trouble");
const fetchItem = (id) => persist(() => get("/api/item", { id }), trouble);
const order = () => [...desk.mine.filter((id) => !desk.open.includes(id)), ...desk.open];

function showProgress() {
  const n_given = desk.budget - desk.n_left;
  const meter = find("meter");
  meter.setAttribute("aria-valuemax", desk.budget);
  meter.setAttribute("aria-valuenow", n_given);
  find("meter-fill").style.setProperty("width", `${(100 * n_given) / desk.budget}%`);
  const left = desk.n_left === 0 ? "none left" : `${desk.n_left} left`;
  find("progress-words").textContent = `${n_given} of ${desk.budget} labels · ${left} · ${desk.n_anomalies} anomal${desk.n_anomalies === 1 ? "y" : "ies"} so far`;
  meter.setAttribute("aria-valuetext", `${n_given} of ${desk.budget} labels given`);
}

async function refresh(next) {
  desk = next;
  showProgress();
  const target = chosen ?? (desk.stage === "label" ? desk.open[0] : null);
  find("waiting").hidden = target !== null;
  find("desk").hidden = target === null;
  if (target === null) {
    current = null;
    await waitForWork();
  } else if (target !== current?.item || chosen !== null) {
    await show(target);
  }
}

async function show(id) {
  const item = await fetchItem(id);
  current = item;
  find("item-title").firstElementChild.textContent = item.title;
  find("item-body").replaceChildren(...body(item));
  const ids = order();
  const place = ids.indexOf(id);
  find("item-place").textContent = item.verdict ? `you said ${DONE[item.verdict]}` : `${desk.open.length} open`;
  find("back").disabled = place <= 0;
  find("forth").disabled = place < 0 || place >= ids.length - 1;
  find("undo").disabled = !desk.can_undo;
  for (const button of document.querySelectorAll(".actions .answer")) {
    button.setAttribute("aria-pressed", String(button.dataset.verdict === item.verdict));
  }
  find("note").value = item.note;
  find("why").replaceChildren(...item.why.map((words) => make("li", {}, words)));
  say(summary(item));
}

async function waitForWork() {
  const { stage, work } = desk;
  if (stage === "training") trained = true;
  if (stage === "done" && trained && desk.has_results && desk.fit_is_current) return location.assign("/results");
  if (work?.error) {
    showWork(work, [["Try again", () => act(() => post("/api/go-on"))]]);
  } else if (stage === "done") {
    const look = desk.has_results ? [["Look at the results", "/results"]] : [];
    const train = desk.fit_is_current ? [] : [["Train now", () => act(() => post("/api/train"))]];
    const more = ["Ask for ten more", () => act(() => post("/api/more", { n: 10 }))];
    showWords("All open items are answered", "Thank you. You can review your decisions, or go on.", [...train, ...look, more, ["Review", "/review"]]);
  } else if (stage === "waiting") {
    showWords("Others are busy with the last open items", "This page goes on by itself as soon as one is free.", [["Review", "/review"]]);
  } else {
    showWork(work, stage === "training" ? [["Review my decisions", "/review"]] : []);
  }
  busy = false;
  if (stage === "done" || work?.error) return;
  await wait(700);
  if (current === null && !busy) await act(() => post("/api/turn", { tab }), { quietly: true });
}

// Runs one request; keys are ignored until it is through, so that nothing is answered unseen. Says if it went well.
async function act(task, { quietly = false, done = "" } = {}) {
  if (busy) return false;
  busy = true;
  if (!quietly) status("Saving …", "saving");
  try {
    const next = await persist(task, trouble);
    if (!quietly) status(done || "Saved", "saved");
    await refresh(next);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) location.assign("/welcome");
    status(error.message, "trouble");
    say(error.message);
    return false;
  } finally {
    busy = false;
  }
}

async function answer(verdict) {
  if (current === null || busy) return;
  const shown = current;
  const { item } = shown;
  const note = find("note").value;
  const later = chosen === null ? [] : order().slice(order().indexOf(item) + 1);
  chosen = later.find((id) => !desk.open.includes(id)) ?? null;
  current = { ...shown, item: null }; // the same item may come back, and is then shown anew
  const stored = await act(() => post("/api/answers", { item, verdict, note, tab }), { done: `✓ Saved: ${DONE[verdict]}` });
  if (!stored && current?.item === null) current = shown;
}

function undo() {
  if (busy || !desk?.can_undo) return;
  const last = desk.mine.at(-1);
  chosen = last;
  act(() => post("/api/undo", { tab }), { done: "✓ Taken back" });
}

function move(step) {
  if (busy || current === null) return;
  const ids = order();
  const next = ids[ids.indexOf(current.item) + step];
  if (next === undefined) return;
  chosen = next === desk.open[0] ? null : next;
  busy = true;
  show(next).finally(() => (busy = false));
}

async function saveNote() {
  if (current === null || current.verdict === null || find("note").value.trim() === current.note) return;
  const { item } = current;
  const note = find("note").value;
  await persist(() => post("/api/notes", { item, note }), trouble);
  current.note = note.trim();
  status("✓ Note saved", "saved");
}

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return;
  const key = event.key.toLowerCase();
  const moves = { arrowleft: -1, arrowright: 1 };
  if (key in KEYS) answer(KEYS[key]);
  else if (key === "z") undo();
  else if (key in moves) move(moves[key]);
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll(".actions .answer")) {
  button.addEventListener("click", () => answer(button.dataset.verdict));
}
find("undo").addEventListener("click", undo);
find("back").addEventListener("click", () => move(-1));
find("forth").addEventListener("click", () => move(1));
find("note").addEventListener("change", saveNote);
find("note").addEventListener("keydown", (event) => {
  if (event.key === "Escape") find("note").blur();
});
find("guideline-save")?.addEventListener("click", async () => {
  const saved = await post("/api/guideline", { text: find("guideline-text").value }, "PUT");
  find("guideline").innerHTML = saved.html; // escaped by the server; no script of it could run here
  status("✓ Guideline saved", "saved");
});

busy = false;
const wanted = new URLSearchParams(location.search).get("item");
chosen = wanted;
if (!(await act(() => post("/api/turn", { tab }), { quietly: true })) && wanted !== null) {
  chosen = null; // there is no such item: go on with the open ones
  act(() => post("/api/turn", { tab }), { quietly: true });
}

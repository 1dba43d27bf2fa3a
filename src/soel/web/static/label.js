// The labelling page: one key, one decision, on to the next.

import { get, persist, post, tab, wait } from "./api.js";
import { body, summary, zoomKey } from "./card.js";
import { apart, find, make, many, retrying, say, status, tell } from "./dom.js";
import { showWords, showWork } from "./waiting.js";

const KEYS = { a: "anomaly", n: "normal", u: "unsure", s: "skip" };
const DONE = { anomaly: "anomaly", normal: "normal", unsure: "unsure", skip: "skipped" };
let session = null; // where the session stands
let current = null; // the item on the page
let chosen = null; // an item the expert went back to; null follows the open ones
let busy = true;
let trained = false; // whether this page saw a training

const fetchItem = (id) => persist(() => get("/api/item", { id }), retrying);
const order = () => [...session.mine.filter((id) => !session.open.includes(id)), ...session.open];

function showProgress() {
  const n_given = session.budget - session.n_left;
  const meter = find("meter");
  meter.setAttribute("aria-valuemax", session.budget);
  meter.setAttribute("aria-valuenow", n_given);
  find("meter-fill").style.setProperty("width", `${(100 * n_given) / session.budget}%`);
  const left = session.n_left === 0 ? "none left" : `${session.n_left} left`;
  find("progress-words").textContent = `${n_given} of ${many(session.budget, "label")} · ${left} · ${many(session.n_anomalies, "anomaly", "anomalies")} so far`;
  find("storage").hidden = !session.storage_problem;
  find("storage").textContent = `You can look, but nothing can be stored now. ${session.storage_problem}`;
  meter.setAttribute("aria-valuetext", `${n_given} of ${session.budget} labels given`);
}

async function refresh(next) {
  session = next;
  showProgress();
  const target = chosen ?? (session.stage === "label" ? session.open[0] : null);
  if (target === null) {
    current = null;
    turnTo("waiting");
    await waitForWork();
  } else {
    if (target !== current?.item || chosen !== null) await show(target);
    turnTo("labelling"); // only now: a session without its item would be an empty frame, and nameless to a screen reader
  }
}

function turnTo(place) {
  find("waiting").hidden = place !== "waiting";
  find("labelling").hidden = place !== "labelling";
  find("waiting").classList.remove("early");
}

async function show(id) {
  const item = await fetchItem(id);
  current = item;
  find("item-title").firstElementChild.textContent = item.title;
  find("item-body").replaceChildren(...body(item));
  const ids = order();
  const place = ids.indexOf(id);
  find("item-place").textContent = item.verdict ? `You said: ${DONE[item.verdict]}` : "";
  find("back").disabled = place <= 0;
  find("forth").disabled = place < 0 || place >= ids.length - 1;
  find("undo").disabled = !session.can_undo;
  for (const button of document.querySelectorAll(".actions .answer")) {
    button.setAttribute("aria-pressed", String(button.dataset.verdict === item.verdict));
    button.disabled = session.storage_problem !== "";
  }
  find("note").value = item.note;
  const others = item.verdict ? item.notes : []; // what others wrote must not sway an answer
  find("notes").replaceChildren(...others.map(({ who, text }) => make("li", {}, apart(who), ": ", apart(text))));
  say(summary(item));
  showWhy(id);
}

// Comes after the item: on a large pool it takes a moment, and nobody has to wait for it.
async function showWhy(id) {
  find("why").replaceChildren();
  try {
    const why = await get("/api/why", { id });
    if (current?.item === id) find("why").replaceChildren(...why.map((words) => make("li", {}, words)));
  } catch {
    // an item can be labelled without it
  }
}

async function waitForWork() {
  const { stage, work } = session;
  if (stage === "training") trained = true;
  if (stage === "done" && trained && session.has_results && session.fit_is_current) return location.assign("/results");
  if (work?.error) {
    showWork(work, session.is_owner ? [["Try again", () => act(() => post("/api/go-on"))]] : []);
  } else if (stage === "done") {
    const look = session.has_results ? [["Look at the results", "/results"]] : [];
    const train = session.is_owner && !session.fit_is_current ? [["Train now", () => act(() => post("/api/train"))]] : [];
    const more = session.is_owner ? [["Ask for ten more", () => act(() => post("/api/more", { n: 10 }))]] : [];
    showWords("All open items are answered", "Thank you. You can review your decisions, or go on.", [...train, ...look, ...more, ["Review", "/review"]]);
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
    const next = await persist(task, retrying);
    if (!quietly) status(done || "Saved", "saved");
    await refresh(next);
    return true;
  } catch (error) {
    tell(error);
    if (session === null) showWords("The session cannot be opened", error.message, [["Try again", () => location.reload()]]);
    return false;
  } finally {
    busy = false;
  }
}

async function answer(verdict) {
  if (current === null || busy || session.storage_problem) return;
  const shown = current;
  const { item } = shown;
  const note = find("note").value;
  const later = chosen === null ? [] : order().slice(order().indexOf(item) + 1);
  chosen = later.find((id) => !session.open.includes(id)) ?? null;
  current = { ...shown, item: null }; // the same item may come back, and is then shown anew
  const stored = await act(() => post("/api/answers", { item, verdict, note, tab }), { done: `✓ Saved: ${DONE[verdict]}` });
  if (!stored && current?.item === null) current = shown;
}

function undo() {
  if (busy || !session?.can_undo) return;
  const last = session.mine.at(-1);
  chosen = last;
  act(() => post("/api/undo", { tab }), { done: "✓ Taken back" });
}

function move(step) {
  if (busy || current === null) return;
  const ids = order();
  const next = ids[ids.indexOf(current.item) + step];
  if (next === undefined) return;
  chosen = next === session.open[0] ? null : next;
  busy = true;
  show(next).finally(() => (busy = false));
}

async function saveNote() {
  if (current === null || current.verdict === null || find("note").value.trim() === current.note) return;
  const { item } = current;
  const note = find("note").value;
  try {
    await persist(() => post("/api/notes", { item, note }), retrying);
    if (current?.item === item) current.note = note.trim();
    status("✓ Note saved", "saved");
  } catch (error) {
    tell(error);
  }
}

async function saveGuideline() {
  try {
    const saved = await persist(() => post("/api/guideline", { text: find("guideline-text").value }, "PUT"), retrying);
    find("guideline").innerHTML = saved.html; // escaped by the server; no script of it could run here
    find("guideline-edit").open = false;
    status("✓ Guideline saved", "saved");
  } catch (error) {
    tell(error);
  }
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
  else if (!zoomKey(key)) return;
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
find("guideline-save")?.addEventListener("click", saveGuideline);

busy = false;
const wanted = new URLSearchParams(location.search).get("item");
chosen = wanted;
if (!(await act(() => post("/api/turn", { tab }), { quietly: true })) && wanted !== null) {
  chosen = null; // there is no such item: go on with the open ones
  act(() => post("/api/turn", { tab }), { quietly: true });
}

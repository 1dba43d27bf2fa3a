// The labelling page: one key, one decision, on to the next.

import { get, persist, post, tab, wait } from "./api.js";
import { body, pictureKey, summary } from "./card.js";
import { apart, draw, find, make, retrying, say, status, tell } from "./dom.js";
import { showReading } from "./reading.js";
import { showReasons } from "./reasons.js";
import { t } from "./text.js";
import { showWords, showWork } from "./waiting.js";

const KEYS = { a: "anomaly", n: "normal", u: "unsure", s: "skip" };
let session = null; // where the session stands
let current = null; // the item on the page
let chosen = null; // an item the expert went back to; null follows the open ones
let busy = true;
let trained = false; // whether this page saw a training
let nextLook = 0; // whether the disk takes anything in again
const written = new Map(); // notes of this page by item: an answer that is undone takes its note along, its words stay

const fetchItem = (id) => persist(() => get("/api/item", { id }), retrying);
const order = () => [...session.mine.filter((id) => !session.open.includes(id)), ...session.open];

function showProgress() {
  const n_given = session.budget - session.n_left;
  const meter = find("meter");
  meter.setAttribute("aria-valuemax", session.budget);
  meter.setAttribute("aria-valuenow", n_given);
  find("meter-fill").style.setProperty("width", `${(100 * n_given) / session.budget}%`);
  const left = session.n_left === 0 ? t("label.none_left") : t("label.left", { n: session.n_left });
  const kept = session.n_assigned > 0 ? ` ${t("label.assigned", { n: session.n_assigned })}` : "";
  find("progress-words").textContent = t("label.progress", { n: n_given, budget: session.budget, left }) + kept;
  find("check-notice").hidden = !session.is_check || session.stage !== "label";
  find("storage").hidden = !session.storage_problem;
  find("storage").textContent = t("storage.problem", { why: session.storage_problem });
  meter.setAttribute("aria-valuetext", t("label.given", { n: n_given, budget: session.budget }));
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
  watchStorage();
}

// While nothing can be stored nothing can be answered; the disk may have room again in a moment.
function watchStorage() {
  const { storage_problem: problem } = session;
  for (const button of document.querySelectorAll(".actions .answer")) button.disabled = problem !== "";
  clearTimeout(nextLook);
  if (problem) nextLook = setTimeout(() => act(() => post("/api/turn", { tab }), { quietly: true }), 4000);
}

function turnTo(place) {
  find("waiting").hidden = place !== "waiting";
  find("labelling").hidden = place !== "labelling";
  find("hint").hidden = place !== "labelling" || localStorage.getItem("hint") === "seen";
  find("waiting").classList.remove("early");
}

async function show(id) {
  const item = await fetchItem(id);
  current = item;
  find("item-title").firstElementChild.textContent = item.title;
  find("item-body").replaceChildren(...body(item));
  const ids = order();
  const place = ids.indexOf(id);
  find("item-place").textContent = item.verdict ? t("label.you_said", { verdict: t(`said.${item.verdict}`) }) : "";
  find("back").disabled = place <= 0;
  find("forth").disabled = place < 0 || place >= ids.length - 1;
  find("undo").disabled = !session.can_undo;
  for (const button of document.querySelectorAll(".actions .answer")) {
    button.setAttribute("aria-pressed", String(button.dataset.verdict === item.verdict));
  }
  find("note").value = item.note || (written.get(id) ?? "");
  find("notes").replaceChildren(...item.notes.map(({ who, text }) => make("li", {}, apart(who), ": ", apart(text))));
  say(summary(item));
  showWhy(id);
  if (item.kind === "table" && !session.is_check) showReasons(id, () => current?.item === id);
  showInsight();
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

// Found so far, how the estimate moves, whether to go on; comes after the item too.
async function showInsight() {
  try {
    const insight = await get("/api/insight");
    const line = insight.history.length > 1 ? [estimates(insight.history)] : [];
    find("insight").replaceChildren(...insight.words.map((words) => make("li", {}, words)), ...line);
  } catch {
    // an item can be labelled without it
  }
}

// The estimates so far as a small line; the words beside it say the same.
function estimates(history) {
  const highest = Math.max(...history.map(({ high }) => high), 1e-9);
  const x = (at) => (at / (history.length - 1)) * 200;
  const y = (share) => 40 - (share / highest) * 36;
  const path = (values) => values.map((share, at) => `${at ? "L" : "M"} ${x(at).toFixed(1)} ${y(share).toFixed(1)}`).join(" ");
  const band = `${path(history.map(({ high }) => high))} ${history.map(({ low }, at) => `L ${x(at).toFixed(1)} ${y(low).toFixed(1)}`).reverse().join(" ")} Z`;
  const picture = draw("svg", { class: "estimates", viewBox: "0 0 200 42", preserveAspectRatio: "none", "aria-hidden": "true" });
  picture.append(draw("path", { class: "band", d: band }), draw("path", { class: "line", d: path(history.map(({ value }) => value)) }));
  return make("li", {}, picture);
}

async function waitForWork() {
  const { stage, work } = session;
  if (stage === "training") trained = true;
  if (stage === "done" && trained && session.has_results && session.fit_is_current) return location.assign("/results");
  if (work?.error) {
    showWork(work, session.is_owner ? [[t("button.again"), () => act(() => post("/api/go-on"))]] : []);
  } else if (stage === "done") {
    showDone();
  } else if (stage === "waiting") {
    showOthers();
  } else {
    showWork(work, stage === "training" ? [[t("button.review_mine"), "/review"]] : []);
  }
  busy = false;
  if (stage === "done" || work?.error) return;
  await wait(700);
  if (current === null && !busy) await act(() => post("/api/turn", { tab }), { quietly: true });
}

function showDone() {
  const { is_owner: isOwner, n_disputes: n } = session;
  const look = session.has_results ? [[t("button.results"), "/results"]] : [];
  const review = [[t("button.review"), "/review"]];
  const check = isOwner && session.has_results ? [[t("button.check", { n: 10 }), () => act(() => post("/api/more", { n: 10, purpose: "check" }))]] : [];
  const more = isOwner ? [[t("button.more"), () => act(() => post("/api/more", { n: 10 }))]] : [];
  if (n > 0 && !session.fit_is_current) {
    const own = [[t("button.decide"), "/team"], [t("button.without"), () => act(() => post("/api/train", { despite_disputes: true }))]];
    return showWords(t("done.disputes", { n }), t(isOwner ? "done.disputes_owner" : "done.disputes_others"), [...(isOwner ? own : []), ...look, ...review]);
  }
  const train = isOwner && !session.fit_is_current ? [[t("button.train"), () => act(() => post("/api/train"))]] : [];
  showWords(t("done.title"), t(isOwner ? "done.words" : "done.words_annotator"), [...train, ...look, ...check, ...more, ...review]);
}

function showOthers() {
  const { n_waiting: n, n_in: given, answers_per_item: wanted } = session;
  const title = n > 0 ? t(wanted === 2 ? "waiting.second" : "waiting.more", { n }) : t("waiting.title");
  const words = n > 0 ? `${t("waiting.given", { given, total: n + given })} ` : "";
  showWords(title, words + t("waiting.words"), [[t("button.review"), "/review"]]);
}

// Runs one request; keys are ignored until it is through, so that nothing is answered unseen. Says if it went well.
async function act(task, { quietly = false, done = "" } = {}) {
  if (busy) return false;
  busy = true;
  if (!quietly) status(t("saving"), "saving");
  try {
    const next = await persist(task, retrying);
    if (!quietly) status(done || t("saved"), "saved");
    await refresh(next);
    return true;
  } catch (error) {
    tell(error);
    if (session === null) showWords(t("label.cannot_open"), error.message, [[t("button.again"), () => location.reload()]]);
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
  written.set(item, note);
  const stored = await act(() => post("/api/answers", { item, verdict, note, tab }), { done: t("saved.verdict", { verdict: t(`said.${verdict}`) }) });
  if (!stored && current?.item === null) current = shown;
}

function undo() {
  if (busy || !session?.can_undo) return;
  const last = session.mine.at(-1);
  chosen = last;
  act(() => post("/api/undo", { tab }), { done: t("saved.back") });
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
    status(t("saved.note"), "saved");
  } catch (error) {
    tell(error);
  }
}

async function saveGuideline() {
  try {
    const saved = await persist(() => post("/api/guideline", { text: find("guideline-text").value }, "PUT"), retrying);
    find("guideline").innerHTML = saved.html; // escaped by the server; no script of it could run here
    find("guideline-edit").open = false;
    status(t("saved.guideline"), "saved");
  } catch (error) {
    tell(error);
  }
}

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target) || find("help").open) return;
  const key = event.key.toLowerCase();
  const moves = { arrowleft: -1, arrowright: 1 };
  if (key in KEYS) answer(KEYS[key]);
  else if (key === "z") undo();
  else if (key in moves) move(moves[key]);
  else if (key === "?") find("help").showModal();
  else if (!pictureKey(key)) return;
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
find("help-open").addEventListener("click", () => find("help").showModal());
find("hint-close").addEventListener("click", () => {
  localStorage.setItem("hint", "seen");
  find("hint").hidden = true;
});
find("guideline-save")?.addEventListener("click", saveGuideline);

busy = false;
const wanted = new URLSearchParams(location.search).get("item");
chosen = wanted;
if (!(await act(() => post("/api/turn", { tab }), { quietly: true })) && wanted !== null) {
  chosen = null; // there is no such item: go on with the open ones
  await act(() => post("/api/turn", { tab }), { quietly: true });
}
showReading();

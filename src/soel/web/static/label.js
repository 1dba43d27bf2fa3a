// The labelling page: one key, one decision, on to the next.

import { get, post, tab } from "./api.js";
import { body, groupKey, named, pictureKey, summary, valueKey } from "./card.js";
import { apart, draw, find, make, say, status, tell } from "./dom.js";
import { showReading } from "./reading.js";
import { showReasons } from "./reasons.js";
import { again, change, drafts, isGivenHere, read } from "./sync.js";
import { t } from "./text.js";
import { showWords, showWork } from "./waiting.js";

const KEYS = { a: "anomaly", n: "normal", u: "unsure", s: "skip" };
let session = null; // where the session stands
let current = null; // the item on the page
let chosen = null; // an item the expert went back to; null follows the open ones
let busy = true;
let isUnderway = false; // whether a key was pressed here: the first Tab of a page goes to its top
let trained = false; // whether this page saw a training
let nextLook = 0; // a look at the session that is to come
let noted = null; // the item that the note in the field is about, and its note as far as it is stored
const SLOW = 4000; // milliseconds between two looks where a person is waited for
const QUICK = 700;

const takeTurn = () => again(() => post("/api/turn", { tab }));
const noteName = (item) => `note ${item}`;
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
  if (next !== null && next.version >= (session?.version ?? 0)) session = next; // an older reply tells nothing new
  showProgress();
  const target = chosen ?? (session.stage === "label" ? session.open[0] : null);
  if (target === null) {
    current = null;
    turnTo("waiting");
    waitForWork();
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
  if (problem) lookAgain(SLOW);
}

function lookAgain(pause) {
  clearTimeout(nextLook);
  nextLook = setTimeout(look, pause);
}

// Where the session stands by now, unless something is done at the page meanwhile.
async function look() {
  if (busy) return lookAgain(QUICK);
  const before = session;
  try {
    const next = await takeTurn();
    if (busy || session !== before) return;
    busy = true;
    await refresh(next).finally(() => (busy = false)); // not before: what began meanwhile is busy itself
  } catch (error) {
    tell(error);
    lookAgain(SLOW);
  }
}

function turnTo(place) {
  find("waiting").hidden = place !== "waiting";
  find("labelling").hidden = place !== "labelling";
  find("hint").hidden = place !== "labelling" || localStorage.getItem("hint") === "seen";
  find("waiting").classList.remove("early");
}

async function show(id) {
  const item = await read("item", "/api/item", { id });
  if (item === null) return; // another one is wanted by now
  current = item;
  find("item-title").firstElementChild.textContent = item.title;
  find("item-body").replaceChildren(...body(item, false, (names) => showNames(names, item.item)));
  showNames(named(), null);
  const ids = order();
  const place = ids.indexOf(id);
  find("item-place").textContent = item.verdict ? t("label.you_said", { verdict: t(`said.${item.verdict}`) }) : "";
  find("back").disabled = place <= 0;
  find("forth").disabled = place < 0 || place >= ids.length - 1;
  find("undo").disabled = !canUndo();
  for (const button of document.querySelectorAll(".actions .answer")) {
    button.setAttribute("aria-pressed", String(button.dataset.verdict === item.verdict));
  }
  noted = { item: id, note: item.note };
  find("note").value = drafts.get(noteName(id)) ?? item.note;
  const others = [...item.notes, ...item.named.map(({ who, text }) => ({ who, text: `${t("because.list")} ${text}` }))];
  find("notes").replaceChildren(...others.map(({ who, text }) => make("li", {}, apart(who), ": ", apart(text))));
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

function waitForWork() {
  const { stage, work } = session;
  if (stage === "training") trained = true;
  if (stage === "done" && trained && session.has_results && session.fit_is_current) return location.assign("/results");
  if (work?.error) {
    showWork(work, session.is_owner ? [[t("button.again"), () => begin("/api/go-on")]] : []);
  } else if (stage === "done") {
    showDone();
  } else if (stage === "waiting") {
    showOthers();
  } else {
    showWork(work, stage === "training" ? [[t("button.review_mine"), "/review"]] : []);
  }
  lookAgain(stage === "done" || work?.error ? SLOW : QUICK); // others may go on meanwhile
}

// Begins something that is not to be begun twice: where the reply is lost, the page looks what came of it.
const begin = (path, body = {}) => act(async () => {
  try {
    return await post(path, body);
  } catch (error) {
    if (error.status !== 0) throw error;
    return takeTurn();
  }
}, { waits: true });

function showDone() {
  const { is_owner: isOwner, n_disputes: n } = session;
  const look = session.has_results ? [[t("button.results"), "/results"]] : [];
  const review = [[t("button.review"), "/review"]];
  const check = isOwner && session.has_results ? [[t("button.check", { n: 10 }), () => begin("/api/more", { n: 10, purpose: "check" })]] : [];
  const more = isOwner ? [[t("button.more"), () => begin("/api/more", { n: 10 })]] : [];
  if (n > 0 && !session.fit_is_current) {
    const own = [[t("button.decide"), "/team"], [t("button.without"), () => begin("/api/train", { despite_disputes: true })]];
    return showWords(t("done.disputes", { n }), t(isOwner ? "done.disputes_owner" : "done.disputes_others"), [...(isOwner ? own : []), ...look, ...review]);
  }
  const train = isOwner && !session.fit_is_current ? [[t("button.train"), () => begin("/api/train")]] : [];
  showWords(t("done.title"), t(isOwner ? "done.words" : "done.words_annotator"), [...train, ...look, ...check, ...more, ...review]);
}

function showOthers() {
  const { n_waiting: n, n_in: given, answers_per_item: wanted } = session;
  const title = n > 0 ? t(wanted === 2 ? "waiting.second" : "waiting.more", { n }) : t("waiting.title");
  const words = n > 0 ? `${t("waiting.given", { given, total: n + given })} ` : "";
  showWords(title, words + t("waiting.words"), [[t("button.review"), "/review"]]);
}

// Runs one request; keys are ignored until it is through, so that nothing is answered unseen. Gives its reply.
// done(): what is said when all went well. waits: a click is not lost while the page looks at the session.
async function act(task, { quietly = false, done = () => t("saved"), waits = false } = {}) {
  while (waits && busy) await new Promise((free) => setTimeout(free, 50));
  if (busy) return false;
  busy = true;
  if (!quietly) status(t("saving"), "saving");
  try {
    const next = await task();
    await refresh(next);
    if (!quietly) status(done(), "saved");
    return next ?? true;
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
  const note = drafts.get(noteName(item)); // without one, the note that is stored stays
  const names = named();
  const because = names?.length || shown.because.length ? names : null;
  const later = chosen === null ? [] : order().slice(order().indexOf(item) + 1);
  chosen = later.find((id) => !session.open.includes(id)) ?? null;
  current = { ...shown, item: null }; // the same item may come back, and is then shown anew
  const send = async () => {
    const reply = await change(item, "/api/answers", { item, verdict, note, because, tab });
    if (note !== null) drafts.drop(noteName(item), note);
    return reply;
  };
  const reply = await act(send, { done: () => t("saved.verdict", { verdict: t(`said.${verdict}`) }) });
  if (reply) return storeNote(item, note ?? shown.note); // what was typed meanwhile
  chosen = shown.item === session?.open[0] ? null : shown.item;
  if (current?.item === null) current = shown;
}

// Says which values were pressed, and stores them at once with an answer that was given before. pressed: the item
function showNames(names, pressed) {
  find("because").textContent = names?.length ? t("because.shown", { names: names.join("; ") }) : "";
  const { item, verdict } = current;
  if (pressed !== item || !(verdict === "anomaly" || verdict === "normal")) return;
  act(() => change(item, "/api/answers", { item, verdict, because: names, tab }), { done: () => t(names.length ? "saved.because" : "saved.no_because", { names: names.join("; ") }) });
}

// Only what was answered in this window can be taken back in it.
const canUndo = () => session.undo !== null && isGivenHere(session.undo.event);

async function undo() {
  if (busy || !session || !canUndo()) return;
  const { item, title, event } = session.undo;
  const before = chosen;
  chosen = item;
  if (await act(() => change(item, "/api/undo", { event, tab }), { done: () => t("saved.back", { title }) })) return;
  chosen = before;
  const next = await takeTurn().catch(() => null); // something else was answered meanwhile
  if (next !== null) act(async () => next, { quietly: true });
}

function move(step) {
  if (busy || current === null) return;
  const ids = order();
  const next = ids[ids.indexOf(current.item) + step];
  if (next === undefined) return;
  chosen = next === session.open[0] ? null : next;
  busy = true;
  if (session.mine.includes(noted.item)) storeNote(noted.item, noted.note);
  show(next).catch(tell).finally(() => (busy = false));
}

// Stores the note that was typed about an item, if it says something else than the stored one. It is a draft until then.
async function storeNote(item, held) {
  const note = drafts.get(noteName(item));
  if (note === null) return;
  if (note.trim() === held?.trim()) return drafts.drop(noteName(item), note);
  try {
    if ((await change(item, "/api/notes", { item, note })) === null) return; // it was changed once more
    drafts.drop(noteName(item), note);
    if (noted?.item === item) noted.note = note.trim();
    if (!busy) status(t("saved.note"), "saved"); // else an answer is on its way, and says when it is stored
  } catch (error) {
    tell(error);
  }
}

async function saveGuideline() {
  const field = find("guideline-text");
  const text = field.value;
  const theirs = find("guideline-theirs");
  try {
    const saved = await change("guideline", "/api/guideline", { text, version: field.dataset.version }, "PUT");
    if (saved === null) return; // it was changed once more
    field.dataset.version = saved.version;
    drafts.drop("guideline", text);
    theirs.hidden = true;
    find("guideline").innerHTML = saved.html; // escaped by the server; no script of it could run here
    if (field.value === text) find("guideline-edit").open = false;
    status(t("saved.guideline"), "saved");
  } catch (error) {
    if (error.text === text) {
      drafts.drop("guideline", text); // the first reply was lost
      return location.reload();
    }
    tell(error);
    if (error.version === undefined) return;
    field.dataset.version = error.version;
    theirs.lastElementChild.textContent = error.text;
    theirs.hidden = false;
  }
}

// What was typed before this page was there: a guideline goes back into its field, notes on answered items are stored.
function takeUpDrafts() {
  const field = find("guideline-text");
  const text = drafts.get("guideline");
  if (field !== null && text !== null && text !== field.value) {
    field.value = text;
    find("guideline-edit").open = true;
  }
  const items = drafts.names().filter((name) => name.startsWith("note ")).map((name) => name.slice("note ".length));
  for (const item of items.filter((each) => session.mine.includes(each))) storeNote(item, null);
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
  else if (key === "tab") {
    if (!isUnderway || event.shiftKey || !groupKey()) return;
  } else if (!pictureKey(key) && !valueKey(key)) return;
  isUnderway = true;
  event.preventDefault();
});
for (const button of document.querySelectorAll(".actions .answer")) {
  button.addEventListener("click", () => answer(button.dataset.verdict));
}
find("undo").addEventListener("click", undo);
find("back").addEventListener("click", () => move(-1));
find("forth").addEventListener("click", () => move(1));
find("note").addEventListener("input", () => drafts.set(noteName(noted.item), find("note").value));
find("note").addEventListener("change", () => {
  if (session.mine.includes(noted.item)) storeNote(noted.item, noted.note);
});
find("guideline-text")?.addEventListener("input", ({ target }) => drafts.set("guideline", target.value));
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
if (!(await act(takeTurn, { quietly: true })) && wanted !== null) {
  chosen = null; // there is no such item: go on with the open ones
  await act(takeTurn, { quietly: true });
}
if (session !== null) takeUpDrafts();
showReading();

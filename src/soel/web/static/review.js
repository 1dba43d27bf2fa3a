// All decisions, to look through and to change.

import { SIGNS, apart, choices, filled, find, itemLink, make, press, stored, tell } from "./dom.js";
import { change as send, read } from "./sync.js";
import { t } from "./text.js";

const VERDICTS = ["anomaly", "normal", "unsure", "skip"];
const KINDS = { aside: ["unsure", "skip"] };
const isOwner = "owner" in find("rows").dataset;
let decisions = [];
const redraw = new Set(); // items that were changed since the last read

function entry(decision) {
  const group = choices(decision.title, decision.mine, (verdict) => change(decision, verdict), VERDICTS);
  const by = make("p", { class: "muted small" }, `${t("review.by")} `, apart(decision.who.join(", ")));
  const because = decision.because.length ? [make("p", { class: "small" }, `${t("because.list")} `, apart(decision.because.join("; ")))] : [];
  const notes = decision.notes.map((note) => make("p", { class: "small" }, apart(note.text), make("span", { class: "muted" }, " – ", apart(note.who))));
  return make("li", {}, itemLink(decision), make("div", {}, group, ...counted(decision)), make("div", {}, by, ...because, ...notes));
}

// What counts, where it is not simply the user's own answer.
function counted({ item, title, verdict, mine, decided }) {
  if (mine === verdict && !decided) return [];
  const key = verdict === "disagreement" ? "review.disagree" : decided ? "review.decided" : "review.counts";
  const words = t(key, { verdict: t(`said.${verdict}`) });
  const back = decided && isOwner ? [make("button", { type: "button", class: "plain-button", onclick: () => takeBack(item, title) }, t("review.take_back"))] : [];
  return [make("p", { class: `small ${verdict}` }, `${SIGNS[verdict]} ${words} `, ...back)];
}

async function change({ item, title }, verdict) {
  try {
    const reply = await send(item, "/api/answers", { item, verdict });
    if (reply === null) return; // a newer answer is on its way
    stored(title, reply.about.verdict);
    await load(item);
  } catch (error) {
    tell(error);
  }
}

async function takeBack(item, title) {
  try {
    if ((await send(item, "/api/decisions", { item, verdict: null })) === null) return;
    stored(title, "disagreement");
    await load(item);
  } catch (error) {
    tell(error);
  }
}

// Reads the decisions; an entry that was changed stays where it is.
async function load(changed = null) {
  redraw.add(changed);
  const found = await read("decisions", "/api/decisions");
  if (found === null) return; // a newer read draws it
  decisions = found.decisions;
  summarise();
  for (const item of redraw) redrawEntry(item);
  redraw.clear();
}

// The buttons stay: one may have the keyboard or be pressed at this moment.
function redrawEntry(item) {
  const own = decisions.find((each) => each.item === item);
  const entry = [...find("rows").children].find(({ dataset }) => dataset.item === item);
  if (!own || !entry) return;
  const [group, fresh] = [entry.querySelector(".choices"), drawn(own)];
  const [, said, by] = fresh.children;
  press(group, own.mine);
  while (group.nextSibling) group.nextSibling.remove();
  group.after(...[...said.childNodes].slice(1));
  entry.lastElementChild.replaceWith(by);
}

function drawn(decision) {
  const node = entry(decision);
  node.dataset.item = decision.item;
  return node;
}

const isShown = (decision, filter) => filter === "" || (KINDS[filter] ?? [filter]).includes(decision.verdict);

function summarise() {
  const count = (filter) => decisions.filter((decision) => isShown(decision, filter)).length;
  const parts = [t("count.anomalies", { n: count("anomaly") }), t("count.normals", { n: count("normal") }), t("count.aside", { n: count("aside") })];
  if (count("disagreement")) parts.push(t("count.disagreements", { n: count("disagreement") }));
  find("summary").textContent = parts.join(" · ");
}

function show() {
  const shown = decisions.filter((decision) => isShown(decision, find("filter").value));
  find("rows").replaceChildren(...shown.map(drawn));
  find("empty").hidden = shown.length > 0;
}

find("filter").addEventListener("change", show);
try {
  await load();
  show();
} catch (error) {
  tell(error);
}
filled();
